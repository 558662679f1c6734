import PropertyLists

/// The pairs of keys and values of an archived dictionary, in the order of the file. Each is read on access.
public struct ArchivedDictionary: Sendable {
  let keys: ArchivedArray
  /// The values alone, in order.
  package let allValues: ArchivedArray

  /// The UID of the object table entry that holds the pairs; nil in the same cases as ``ArchivedArray/uid``.
  public var uid: Int? { allValues.uid }

  /// How many pairs there are.
  public var count: Int { keys.count }

  /// Whether there are no pairs.
  public var isEmpty: Bool { keys.isEmpty }

  /// The key at a position from 0. Any value can be a key.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position, and what reading the key throws.
  public func key(at position: Int) throws(ArchiveError) -> ArchivedValue { try keys[position] }

  /// The value at a position from 0, which may be ``ArchivedValue/null``.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position, and what reading the value throws.
  public func value(at position: Int) throws(ArchiveError) -> ArchivedValue { try allValues[position] }

  /// The value of the first pair whose key is the given string; nil if there is no such pair.
  ///
  /// - Complexity: O(*n*).
  public subscript(_ key: String) -> ArchivedValue? {
    get throws(ArchiveError) {
      var contents = SharedContents(keys.graph)
      for position in 0..<count {
        guard let text = try keys.value(at: position, &contents).string else { continue }
        if text.utf8.elementsEqual(key.utf8) { return try value(at: position) }
      }
      return nil
    }
  }

  /// All pairs. A string or data that occurs more than once is stored only once in memory.
  ///
  /// - Throws: `ArchiveError` for the reasons that ``ArchivedArray/elements()`` names.
  public func pairs() throws(ArchiveError) -> [(key: ArchivedValue, value: ArchivedValue)] {
    var contents = SharedContents(keys.graph)
    let values = try allValues.elements(&contents)
    return Array(zip(try keys.elements(&contents), values)).map { (key: $0, value: $1) }
  }

  package func key(at position: Int, _ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue {
    try keys.value(at: position, &contents)
  }

  package func value(at position: Int, _ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue
  {
    try allValues.value(at: position, &contents)
  }
}
