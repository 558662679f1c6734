import Locks
import PropertyLists

/// The classes of one archive, each decoded once, and the places of the field `$class` in its long dictionaries.
///
/// 1. The names of all classes together have at most `byteLimit` bytes, and at most 32 times the bytes of the file plus
///    64 KiB: in a hostile archive, a million classes can share one long list of names.
/// 2. All searches in long dictionaries together look at no more keys than the file has bytes. In a sound file each key
///    takes at least one byte; only dictionaries that overlap in the file can have more keys.
final class ClassTable: Sendable {
  private struct Known {
    /// The classes by the object number of their description.
    var classes: [Int: ArchivedClass] = [:]
    var byteCount = 0
    /// The result of each search for `$class`, by the offset of the dictionary.
    var places: [Int: Int?] = [:]
    var keysLeft: Int
  }

  private let list: PropertyList
  private let known: Lock<Known>

  private static let byteLimit = 16 << 20
  private static let chainLimit = 256
  /// A dictionary of up to this many keys is searched each time. A longer dictionary is searched once, so that many
  /// references to one long dictionary cost only one search.
  private static let shortCount = 32

  init(_ list: PropertyList) {
    self.list = list
    known = Lock(Known(keysLeft: list.bytes.count))
  }

  /// The object number of the value of the first field `$class` of a dictionary; nil if there is no such field.
  ///
  /// - Throws: `ArchiveError` with code `limitExceeded` if the dictionaries overlap in the file.
  func place(in header: ObjectHeader) throws(ArchiveError) -> Int? {
    if header.count <= Self.shortCount { return try list.member("$class", of: header) }
    if let place = known.withLock({ $0.places[header.offset] }) { return place }
    let mayLook = known.withLock {
      $0.keysLeft -= header.count
      return $0.keysLeft >= 0
    }
    guard mayLook else {
      throw ArchiveError(
        .limitExceeded, "the archive's dictionaries have more keys than the file has bytes: they overlap",
        path: list.bytes.path)
    }
    let found = try list.member("$class", of: header)
    known.withLock { $0.places[header.offset] = .some(found) }
    return found
  }

  /// The class that an object of the property list describes.
  ///
  /// - Parameter uid: The UID of the object that has the class, for errors.
  func description(at number: Int, of uid: Int) throws(ArchiveError) -> ArchivedClass {
    if let made = known.withLock({ $0.classes[number] }) { return made }
    let made = try decode(number, of: uid)
    // The array and the string headers count too: even an empty name takes memory.
    let size = (made.chain + made.hints).reduce(made.name.utf8.count + 64) { $0 + $1.utf8.count + 16 }
    let limit = min(Self.byteLimit, 32 * list.bytes.count + 1 << 16)
    let fits = known.withLock {
      guard $0.byteCount + size <= limit else { return false }
      if $0.classes.updateValue(made, forKey: number) == nil { $0.byteCount += size }
      return true
    }
    guard fits else {
      throw error(.limitExceeded, "the names of the archive's classes take too much memory", uid)
    }
    return made
  }

  private func decode(_ number: Int, of uid: Int) throws(ArchiveError) -> ArchivedClass {
    let header = try list.header(number)
    guard let place = try list.member("$classname", of: header),
      case .string(let name) = try list.object(place)
    else {
      throw error(
        .malformed, "what $class of the object refers to is not a class: it has no $classname", uid)
    }
    return ArchivedClass(
      name: name, chain: try names("$classes", of: header, uid),
      hints: try names("$classhints", of: header, uid))
  }

  private func names(_ key: String, of header: ObjectHeader, _ uid: Int) throws(ArchiveError) -> [String] {
    guard let place = try list.member(key, of: header) else { return [] }
    guard case .array(let names) = try list.object(place) else {
      throw error(.malformed, "\(key) of the object's class is not an array", uid)
    }
    guard names.count <= Self.chainLimit else {
      throw error(
        .limitExceeded, "\(key) of the object's class has more than \(Self.chainLimit) names", uid)
    }
    var result: [String] = []
    for index in 0..<names.count {
      guard case .string(let name) = try list.object(names.number(at: index)) else {
        throw error(.malformed, "\(key) of the object's class contains something that is not a string", uid)
      }
      result.append(name)
    }
    return result
  }

  private func error(_ code: ArchiveError.Code, _ message: String, _ uid: Int) -> ArchiveError {
    ArchiveError(code, message, object: uid, path: list.bytes.path)
  }
}
