import Foundation
import PropertyLists

/// The classes of one archive, each decoded once.
///
/// 1. `classes` and `byteCount` are read and changed only while `lock` is held.
/// 2. An entry never changes: it is the class at that object number of the archive.
/// 3. The names together have at most `byteLimit` bytes, and at most 32 times the bytes of the file plus 64 KiB: in a
///    hostile archive, a million classes can share one long list of names.
final class ClassTable: @unchecked Sendable {
  // Sendable: see 1.
  private let lock = NSLock()
  private var classes: [Int: ArchivedClass] = [:]
  private var byteCount = 0

  private static let byteLimit = 16 << 20
  private static let chainLimit = 256

  /// The class that an object of the property list describes.
  ///
  /// - Parameter uid: The object whose class it is, for errors.
  func description(at number: Int, in graph: ArchiveGraph, of uid: Int) throws(ArchiveError) -> ArchivedClass
  {
    if let known = lock.withLock({ classes[number] }) { return known }
    let made = try decode(number, in: graph, of: uid)
    // The array and the string headers count too: even an empty name takes memory.
    let size = (made.chain + made.hints).reduce(made.name.utf8.count + 64) { $0 + $1.utf8.count + 16 }
    let fits = lock.withLock {
      guard byteCount + size <= min(Self.byteLimit, 32 * graph.list.bytes.count + 1 << 16) else {
        return false
      }
      if classes.updateValue(made, forKey: number) == nil { byteCount += size }
      return true
    }
    guard fits else {
      throw limitExceeded(
        "the names of the archive's classes take too much memory", graph, uid)
    }
    return made
  }

  private func decode(_ number: Int, in graph: ArchiveGraph, of uid: Int) throws(ArchiveError)
    -> ArchivedClass
  {
    guard let fields = try FieldReferences(graph.list, dictionary: number),
      case .string(let name)? = try fields.object(of: "$classname")
    else {
      throw graph.malformed("what $class of the object refers to is not a class: it has no $classname", uid)
    }
    return ArchivedClass(
      name: name, chain: try names("$classes", of: fields, in: graph, uid),
      hints: try names("$classhints", of: fields, in: graph, uid))
  }

  private func names(
    _ key: StaticString, of fields: FieldReferences, in graph: ArchiveGraph, _ uid: Int
  ) throws(ArchiveError) -> [String] {
    guard let object = try fields.object(of: key) else { return [] }
    guard case .array(let names) = object else {
      throw graph.malformed("\(key) of the object's class is not an array", uid)
    }
    guard names.count <= Self.chainLimit else {
      throw limitExceeded("\(key) of the object's class has more than \(Self.chainLimit) names", graph, uid)
    }
    var result: [String] = []
    for index in 0..<names.count {
      guard case .string(let name) = try graph.list.object(names.number(at: index)) else {
        throw graph.malformed("\(key) of the object's class contains something that is not a string", uid)
      }
      result.append(name)
    }
    return result
  }

  private func limitExceeded(_ message: String, _ graph: ArchiveGraph, _ uid: Int) -> ArchiveError {
    ArchiveError(.limitExceeded, message, object: uid, path: graph.list.bytes.path)
  }
}
