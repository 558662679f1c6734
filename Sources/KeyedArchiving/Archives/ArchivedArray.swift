/// Values in order, of an archived array, set or similar collection. Each is read when it is asked for.
///
/// As a sequence it gives a `Result` for each element, as one of them may be broken while the others are not:
///
/// ```swift
/// for element in array { print(try element.get().kind) }
/// ```
public struct ArchivedArray: Sendable {
  /// Where the object numbers of the elements are.
  enum Storage {
    case references(References)
    case numbers([Int])
  }

  let graph: ArchiveGraph
  let storage: Storage
  /// The UID of the object that they belong to, for errors.
  let holder: Int?
  /// The number of the entry of the object table that holds the elements: the object whose view this is, or an array
  /// that is itself an entry. Nil for an array that stands in a field or in another one. Two arrays of one archive
  /// with the same number are the same array.
  public let uid: Int?

  /// How many there are, nils included.
  public var count: Int {
    switch storage {
    case .references(let references): references.count
    case .numbers(let numbers): numbers.count
    }
  }

  /// Whether it is empty.
  public var isEmpty: Bool { count == 0 }

  /// The element at a position from 0.
  ///
  /// - Throws: ``ArchiveError`` with code `missing` if there is no such position, and what reading the element throws.
  public subscript(_ position: Int) -> ArchivedValue {
    get throws(ArchiveError) { try graph.value(number(at: position), holder: holder) }
  }

  /// The UID that the element at a position is, or nil if it is in the collection directly. 0 refers to nil.
  ///
  /// - Throws: ``ArchiveError`` with code `missing` if there is no such position.
  public func reference(at position: Int) throws(ArchiveError) -> Int? {
    try graph.referenceNumber(number(at: position))
  }

  /// All elements. Strings and data that occur more than once share their memory.
  ///
  /// - Throws: ``ArchiveError`` with code `limitExceeded` if they are more than ``ArchiveLimits/valueCount``, or their
  ///   strings and data overlap in the file; what reading an element throws.
  /// - Complexity: O(*n*).
  public func elements() throws(ArchiveError) -> [ArchivedValue] {
    try graph.checkCount(count, holder: holder)
    var contents = SharedContents(graph)
    var values: [ArchivedValue] = []
    values.reserveCapacity(count)
    for position in 0..<count { values.append(try value(at: position, &contents)) }
    return values
  }

  /// The element at a position, its text or data shared with other places.
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

extension ArchivedArray: Sequence {
  /// Reads one element after the other.
  public struct Iterator: IteratorProtocol, Sendable {
    private let array: ArchivedArray
    private var position = 0

    fileprivate init(_ array: ArchivedArray) { self.array = array }

    /// The next element, or what is wrong with it. Nil after the last.
    public mutating func next() -> Result<ArchivedValue, ArchiveError>? {
      guard position < array.count else { return nil }
      defer { position += 1 }
      let position = position
      return Result { () throws(ArchiveError) in try array[position] }
    }
  }

  /// Begins with the first element.
  public func makeIterator() -> Iterator { Iterator(self) }

  /// How many there are.
  public var underestimatedCount: Int { count }
}
