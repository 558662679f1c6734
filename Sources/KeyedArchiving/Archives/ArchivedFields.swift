import PropertyLists

/// The named fields of an object, or the values at the top of an archive, read in place. No field is decoded or
/// allocated before it is accessed.
///
/// Archivers put another `$` before a user's key that starts with `$`, so that the key differs from their own keys:
/// `$class`, and `$0`, `$1`, … for values without a key. Names here are the user's keys.
struct ArchivedFields: Sendable {
  let graph: ArchiveGraph
  let header: ObjectHeader
  /// The UID of the object, for errors; nil at the top.
  let holder: Int?

  private var list: PropertyList { graph.list }

  var count: Int { header.count }

  /// Whether there are so many fields that a hostile archive could make searches through them slow.
  var areMany: Bool { count > 32 }

  func number(at index: Int) throws(ArchiveError) -> Int { try list.reference(header, count + index) }

  /// The object number of the first value with a name; nil if there is none.
  ///
  /// - Complexity: O(*n*) in the number of fields; compares bytes and allocates nothing.
  func number(named name: String) throws(ArchiveError) -> Int? {
    guard name.utf8.first == UInt8(ascii: "$") else { return try list.member(name, of: header) }
    if let number = try list.member("$" + name, of: header) { return number }
    return name == "$class" ? nil : try list.member(name, of: header)
  }

  func value(named name: String) throws(ArchiveError) -> ArchivedValue? {
    guard let number = try number(named: name) else { return nil }
    return try graph.value(number, holder: holder)
  }

  /// The UID that a field refers to; nil if there is no such field or it stores its value directly.
  func reference(named name: String) throws(ArchiveError) -> Int? {
    guard let number = try number(named: name) else { return nil }
    return try graph.referenceNumber(number)
  }

  /// The total size in bytes of the strings and data that the fields hold or refer to.
  var contentByteCount: Int {
    (0..<count).reduce(0) { sum, index in
      // A field that can't be read is reported when its value is read.
      guard let header = try? graph.place(of: number(at: index), holder: holder)?.header else { return sum }
      return header.hasContent ? sum + header.byteCount : sum
    }
  }

  /// The fields in the order of the file, without the class and without fields whose keys are not strings.
  ///
  /// - Throws: `ArchiveError` with code `limitExceeded` if there are more fields than `ArchiveLimits.valueCount`, or if
  ///   the names together are larger than the file, as they can be only if they overlap in the file.
  func all() throws(ArchiveError) -> [ArchivedField] {
    try graph.checkCount(count, holder: holder)
    var bytesLeft = list.contentLimit
    var fields: [ArchivedField] = []
    fields.reserveCapacity(count)
    for index in 0..<count {
      guard let key = try key(at: index), key != "$class" else { continue }
      bytesLeft -= key.utf8.count
      guard bytesLeft >= 0 else {
        throw ArchiveError(
          .limitExceeded, "the names of the fields of one object are larger than the file: they overlap",
          object: holder, path: list.bytes.path)
      }
      fields.append(
        ArchivedField(
          name: Self.name(ofKey: key), number: try number(at: index), graph: graph, holder: holder))
    }
    return fields
  }

  /// The text of a key; nil if the key is not a string, which writers other than Foundation's allow.
  private func key(at index: Int) throws(ArchiveError) -> String? {
    let header = try list.header(list.reference(self.header, index))
    return header.kind.isString ? try list.string(header) : nil
  }

  static func name(ofKey key: String) -> String {
    key.utf8.starts(with: "$$".utf8) ? String(key.dropFirst()) : key
  }

  /// The object numbers of the values in the fields `prefix0`, `prefix1`, …, in order. Old archivers store collections
  /// in such fields (`NS.object.0`), and all archivers store values without a key in such fields (`$0`).
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a field is missing from the sequence.
  /// - Complexity: O(*n*) in the number of fields.
  func numberedSequence(_ prefix: String) throws(ArchiveError) -> [Int] {
    try graph.checkCount(count, holder: holder)
    var numbers: [Int: Int] = [:]
    for index in 0..<count {
      guard let key = try key(at: index), key.utf8.starts(with: prefix.utf8) else { continue }
      let digits = key.utf8.dropFirst(prefix.utf8.count)
      guard digits.allSatisfy({ (0x30...0x39).contains($0) }), let position = Int(String(Substring(digits)))
      else {
        continue
      }
      if numbers[position] == nil { numbers[position] = try number(at: index) }
    }
    var sequence: [Int] = []
    sequence.reserveCapacity(numbers.count)
    for position in 0..<numbers.count {
      guard let number = numbers[position] else {
        throw graph.malformed("\(prefix)\(position) is missing, though higher numbers are there", holder)
      }
      sequence.append(number)
    }
    return sequence
  }
}

/// A field: its name, and access to its value.
package struct ArchivedField {
  package let name: String
  let number: Int
  let graph: ArchiveGraph
  let holder: Int?

  /// The value of the field. If a text or data occurs several times, all occurrences share one copy.
  package func value(_ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue {
    try contents.value(number, holder: holder)
  }

  /// Whether the field refers to its value instead of holding it.
  package var isReference: Bool {
    get throws(ArchiveError) { try graph.referenceNumber(number) != nil }
  }
}
