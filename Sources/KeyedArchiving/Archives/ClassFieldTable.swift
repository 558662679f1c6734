import Foundation
import PropertyLists

/// Where the field `$class` is in the dictionaries of one archive.
///
/// Most dictionaries have a few keys, which are compared each time. In a longer dictionary the position is looked up
/// once, so many references to one long dictionary cost no more than the bytes that they take.
///
/// 1. `positions` and `keysLeft` are read and changed only while `lock` is held.
/// 2. All searches in long dictionaries together look at no more keys than the file has bytes. In a sound file each key
///    takes at least one byte; only dictionaries that overlap in the file can have more keys.
final class ClassFieldTable: @unchecked Sendable {
  // Sendable: see 1.
  private let list: PropertyList
  private let lock = NSLock()
  /// The position by the offset of the dictionary; -1 if it has no such field.
  private var positions: [Int: Int] = [:]
  private var keysLeft: Int

  private static let shortCount = 32

  init(_ list: PropertyList) {
    self.list = list
    keysLeft = list.bytes.count
  }

  /// The position of the first field `$class` of a dictionary, or nil.
  ///
  /// - Throws: `ArchiveError` with code `limitExceeded` if the dictionaries overlap in the file.
  func position(in header: ObjectHeader) throws(ArchiveError) -> Int? {
    if header.count <= Self.shortCount { return try search(header) }
    if let known = lock.withLock({ positions[header.offset] }) { return known < 0 ? nil : known }
    let mayLook = lock.withLock {
      keysLeft -= header.count
      return keysLeft >= 0
    }
    guard mayLook else {
      throw ArchiveError(
        .limitExceeded, "the archive's dictionaries have more keys than the file has bytes: they overlap",
        path: list.bytes.path)
    }
    let found = try search(header)
    lock.withLock { positions[header.offset] = found ?? -1 }
    return found
  }

  /// If the key is repeated, the first one counts, as in Apple's reader.
  private func search(_ header: ObjectHeader) throws(ArchiveError) -> Int? {
    for index in 0..<header.count
    where try list.isString(list.header(list.reference(header, index)), "$class") {
      return index
    }
    return nil
  }
}
