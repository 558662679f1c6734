public import PropertyLists

/// The ordered values of an archived array, set or similar collection. Each is read on access.
public struct ArchivedArray: Sendable {
  /// Where the object numbers of the elements are.
  enum Storage {
    case references(References)
    case numbers([Int])
  }

  let graph: ArchiveGraph
  let storage: Storage
  /// The UID of the object that the elements belong to, for errors.
  let holder: Int?
  /// The UID of the object table entry that holds the elements: a collection object, or an array that is itself an
  /// entry. Nil for an array that is stored directly in a field or in another array. Two arrays of one archive with the
  /// same UID are the same array.
  public let uid: Int?

  /// The number of elements, including nils.
  public var count: Int {
    switch storage {
    case .references(let references): references.count
    case .numbers(let numbers): numbers.count
    }
  }

  /// Whether there are no elements.
  public var isEmpty: Bool { count == 0 }

  /// The element at a position from 0.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position, and what reading the element throws.
  public subscript(_ position: Int) -> ArchivedValue {
    get throws(ArchiveError) { try graph.value(number(at: position), holder: holder) }
  }

  /// The UID that the element at a position refers to; nil if the element is stored directly in the collection. UID 0
  /// represents nil.
  ///
  /// - Throws: `ArchiveError` with code `missing` if there is no such position.
  public func reference(at position: Int) throws(ArchiveError) -> Int? {
    try graph.referenceNumber(number(at: position))
  }

  /// All elements. A string or data that occurs more than once is stored only once in memory.
  ///
  /// - Throws: `ArchiveError` with code `limitExceeded` if there are more elements than `ArchiveLimits.valueCount`,
  ///   or if their strings and data overlap in the file; what reading an element throws.
  /// - Complexity: O(*n*).
  public func elements() throws(ArchiveError) -> [ArchivedValue] {
    var contents = SharedContents(graph)
    return try elements(&contents)
  }

  func elements(_ contents: inout SharedContents) throws(ArchiveError) -> [ArchivedValue] {
    try graph.checkCount(count, holder: holder)
    var values: [ArchivedValue] = []
    values.reserveCapacity(count)
    for position in 0..<count { values.append(try value(at: position, &contents)) }
    return values
  }

  package func value(at position: Int, _ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue
  {
    try contents.value(number(at: position), holder: holder)
  }

  func number(at position: Int) throws(ArchiveError) -> Int {
    guard position >= 0, position < count else {
      throw ArchiveError(
        .missing, "there is no element \(position) in a collection of \(count)", object: holder,
        path: graph.list.bytes.path)
    }
    switch storage {
    case .references(let references): return try references.number(at: position)
    case .numbers(let numbers): return numbers[position]
    }
  }
}
