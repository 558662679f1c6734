public import PropertyLists

/// The pairs of keys and values of an archived dictionary, in the order of the file. Each is read on access.
public struct ArchivedDictionary: Sendable {
  let graph: ArchiveGraph
  let keys: ArchivedArray.Storage
  let values: ArchivedArray.Storage
  let holder: Int?
  /// The UID of the object table entry that holds the pairs, as in ``ArchivedArray/uid``.
  public let uid: Int?

  /// How many pairs there are.
  public var count: Int { keyArray.count }

  /// Whether there are no pairs.
  public var isEmpty: Bool { count == 0 }

  /// The key at a position from 0. Any value can be a key.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position, and what reading the key throws.
  public func key(at position: Int) throws(ArchiveError) -> ArchivedValue { try keyArray[position] }

  /// The value at a position from 0. It may be nil.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position, and what reading the value throws.
  public func value(at position: Int) throws(ArchiveError) -> ArchivedValue { try valueArray[position] }

  /// The UID that the key at a position refers to, or nil if the key is in the dictionary directly.
  public func keyReference(at position: Int) throws(ArchiveError) -> Int? {
    try keyArray.reference(at: position)
  }

  /// The UID that the value at a position refers to, or nil if the value is in the dictionary directly. UID 0 means
  /// nil.
  public func valueReference(at position: Int) throws(ArchiveError) -> Int? {
    try valueArray.reference(at: position)
  }

  /// The value of the first pair whose key is the given string, or nil.
  ///
  /// - Complexity: O(*n*).
  public subscript(_ key: String) -> ArchivedValue? {
    get throws(ArchiveError) {
      var contents = SharedContents(graph)
      for position in 0..<count where try isKey(at: position, key, &contents) {
        return try value(at: position)
      }
      return nil
    }
  }

  /// All pairs. A string or data that occurs more than once is stored only once in memory.
  ///
  /// - Throws: As ``ArchivedArray/elements()``.
  public func pairs() throws(ArchiveError) -> [(key: ArchivedValue, value: ArchivedValue)] {
    try graph.checkCount(count, holder: holder)
    var contents = SharedContents(graph)
    var pairs: [(key: ArchivedValue, value: ArchivedValue)] = []
    pairs.reserveCapacity(count)
    for position in 0..<count {
      try pairs.append((key(at: position, &contents), value(at: position, &contents)))
    }
    return pairs
  }

  /// The key at a position. Its text shares memory with its other occurrences.
  package func key(at position: Int, _ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue {
    try keyArray.value(at: position, &contents)
  }

  /// The value at a position. Its text or data shares memory with its other occurrences.
  package func value(at position: Int, _ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue
  {
    try valueArray.value(at: position, &contents)
  }

  /// The values alone, in order.
  package var allValues: ArchivedArray {
    ArchivedArray(graph: graph, storage: values, holder: holder, uid: uid)
  }

  private var keyArray: ArchivedArray {
    ArchivedArray(graph: graph, storage: keys, holder: holder, uid: nil)
  }

  private var valueArray: ArchivedArray {
    ArchivedArray(graph: graph, storage: values, holder: holder, uid: nil)
  }

  private func isKey(
    at position: Int, _ key: String, _ contents: inout SharedContents
  ) throws(ArchiveError) -> Bool {
    guard let text = try self.key(at: position, &contents).string else { return false }
    return text.utf8.count == key.utf8.count && text.utf8.elementsEqual(key.utf8)
  }
}
