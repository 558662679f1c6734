import PropertyLists

/// The named fields of an object, or the values at the top of an archive.
///
/// Archivers put another `$` before a user's key that starts with one, so that it differs from their own keys:
/// `$class`, and `$0`, `$1`, … for values without a key. Names here are those of the user.
struct ArchivedFields: Sendable {
  let graph: ArchiveGraph
  let references: FieldReferences
  /// The UID of the object, for errors; nil at the top.
  let holder: Int?

  var count: Int { references.count }

  /// Whether there are so many that a hostile archive could make searches through them slow.
  var areMany: Bool { count > 32 }

  /// The bytes of the strings and data that the fields hold or refer to, without short ones.
  var contentByteCount: Int {
    var byteCount = 0
    for index in 0..<count {
      // What can't be read is reported when it is read.
      guard let place = try? graph.place(of: references.value(at: index), holder: holder) else { continue }
      let header = place.header
      guard header.kind.isString || header.kind == .data, header.count > 64 else { continue }
      byteCount += header.kind == .utf16String ? 2 * header.count : header.count
    }
    return byteCount
  }

  /// The names in the order of the file, without the class.
  func names() throws(ArchiveError) -> [String] { try named().map(\.name) }

  /// The fields in the order of the file, without the class: the name of each, and the object number of its value.
  ///
  /// - Throws: `ArchiveError` with code `limitExceeded` if there are more than `ArchiveLimits.valueCount`, or if
  ///   the names together are larger than the file, which those of a sound file never are.
  func named() throws(ArchiveError) -> [(name: String, number: Int)] {
    try graph.checkCount(count, holder: holder)
    var bytesLeft = 2 * graph.list.bytes.count + 1 << 16
    var named: [(name: String, number: Int)] = []
    named.reserveCapacity(count)
    for index in 0..<count {
      guard let name = try name(at: index) else { continue }
      bytesLeft -= name.utf8.count
      guard bytesLeft >= 0 else {
        throw ArchiveError(
          .limitExceeded, "the names of the fields of one object are larger than the file: they overlap",
          object: holder, path: graph.list.bytes.path)
      }
      named.append((name, try references.value(at: index)))
    }
    return named
  }

  /// The name of the field at a position, or nil for the class and for keys that are not strings.
  func name(at index: Int) throws(ArchiveError) -> String? {
    guard let key = try references.name(at: index), key != "$class" else { return nil }
    return Self.name(ofKey: key)
  }

  /// The name of a key.
  static func name(ofKey key: String) -> String {
    key.utf8.starts(with: "$$".utf8) ? String(key.dropFirst()) : key
  }

  /// The position of the first field with a name.
  func index(ofName name: String) throws(ArchiveError) -> Int? {
    guard name.utf8.first == UInt8(ascii: "$") else { return try references.index(of: name) }
    if let index = try references.index(of: "$" + name) { return index }
    return name == "$class" ? nil : try references.index(of: name)
  }

  func value(at index: Int) throws(ArchiveError) -> ArchivedValue {
    try graph.value(references.value(at: index), holder: holder)
  }

  func value(named name: String) throws(ArchiveError) -> ArchivedValue? {
    guard let index = try index(ofName: name) else { return nil }
    return try value(at: index)
  }

  /// The values of all fields whose key is `prefix` and a decimal number, by that number. Old archivers write
  /// collections in this form (`NS.object.0`), and all archivers write values without a key in it (`$0`).
  ///
  /// - Complexity: O(*n*) in the number of fields.
  func numbered(_ prefix: String) throws(ArchiveError) -> [Int: Int] {
    try graph.checkCount(count, holder: holder)
    var numbers: [Int: Int] = [:]
    for index in 0..<count {
      guard let key = try references.name(at: index), key.utf8.starts(with: prefix.utf8) else { continue }
      let digits = key.utf8.dropFirst(prefix.utf8.count)
      guard digits.allSatisfy({ (0x30...0x39).contains($0) }), let position = Int(String(Substring(digits)))
      else {
        continue
      }
      if numbers[position] == nil { numbers[position] = try references.value(at: index) }
    }
    return numbers
  }

  /// The elements in the fields `prefix0`, `prefix1`, …, in order.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a number is missing, so that no loss goes unnoticed.
  func numberedSequence(_ prefix: String, from start: Int = 0) throws(ArchiveError) -> [Int] {
    let numbers = try numbered(prefix)
    var sequence: [Int] = []
    let total = numbers.count(where: { $0.key >= start })
    sequence.reserveCapacity(total)
    for position in start..<(start + total) {
      guard let number = numbers[position] else {
        throw graph.malformed("\(prefix)\(position) is missing, though higher numbers are there", holder)
      }
      sequence.append(number)
    }
    return sequence
  }
}
