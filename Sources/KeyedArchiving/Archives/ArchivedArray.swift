/// Values in order, of an archived array, set or similar collection. Each is read when it is asked for.
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

  /// How many there are, nils included.
  public var count: Int {
    switch storage {
    case .references(let references): references.count
    case .numbers(let numbers): numbers.count
    }
  }

  /// Whether there are none.
  public var isEmpty: Bool { count == 0 }

  /// The element at a position from 0.
  ///
  /// - Throws: ``ArchiveError`` with code `missing` if there is no such position, and what reading the element throws.
  public subscript(_ position: Int) -> ArchivedValue {
    get throws(ArchiveError) { try graph.value(number(at: position), holder: holder) }
  }

  /// All elements.
  ///
  /// - Throws: ``ArchiveError`` with code `limitExceeded` if they are more than ``ArchiveLimits/valueCount``, or their
  ///   strings and data larger than ``ArchiveLimits/byteCount`` together; what reading an element throws.
  /// - Complexity: O(*n*).
  public func elements() throws(ArchiveError) -> [ArchivedValue] {
    try graph.checkCount(count, holder: holder)
    var budget = ByteBudget(graph)
    var values: [ArchivedValue] = []
    values.reserveCapacity(count)
    for position in 0..<count {
      let value = try self[position]
      try budget.charge(value, holder: holder)
      values.append(value)
    }
    return values
  }

  func number(at position: Int) throws(ArchiveError) -> Int {
    guard position >= 0, position < count else {
      throw ArchiveError(
        .missing, "there is no element \(position) in a collection of \(count)", object: holder)
    }
    switch storage {
    case .references(let references): return try references.number(at: position)
    case .numbers(let numbers): return numbers[position]
    }
  }
}

/// Pairs of keys and values of an archived dictionary, in the order of the file. Each is read when it is asked for.
public struct ArchivedDictionary: Sendable {
  let graph: ArchiveGraph
  let keys: ArchivedArray.Storage
  let values: ArchivedArray.Storage
  let holder: Int?

  /// How many pairs there are.
  public var count: Int { keyArray.count }

  /// Whether there are none.
  public var isEmpty: Bool { count == 0 }

  /// The key at a position from 0. Any value can be a key.
  public func key(at position: Int) throws(ArchiveError) -> ArchivedValue { try keyArray[position] }

  /// The value at a position from 0. Nil is a value too.
  public func value(at position: Int) throws(ArchiveError) -> ArchivedValue { try valueArray[position] }

  /// The value of the first pair whose key is the given string, or nil.
  ///
  /// - Complexity: O(*n*).
  public subscript(_ key: String) -> ArchivedValue? {
    get throws(ArchiveError) {
      for position in 0..<count where try isKey(at: position, key) { return try value(at: position) }
      return nil
    }
  }

  /// All pairs.
  ///
  /// - Throws: As ``ArchivedArray/elements()``.
  public func pairs() throws(ArchiveError) -> [(key: ArchivedValue, value: ArchivedValue)] {
    try graph.checkCount(count, holder: holder)
    var budget = ByteBudget(graph)
    var pairs: [(key: ArchivedValue, value: ArchivedValue)] = []
    pairs.reserveCapacity(count)
    for position in 0..<count {
      let pair = (key: try key(at: position), value: try value(at: position))
      try budget.charge(pair.key, holder: holder)
      try budget.charge(pair.value, holder: holder)
      pairs.append(pair)
    }
    return pairs
  }

  private var keyArray: ArchivedArray { ArchivedArray(graph: graph, storage: keys, holder: holder) }
  private var valueArray: ArchivedArray { ArchivedArray(graph: graph, storage: values, holder: holder) }

  private func isKey(at position: Int, _ key: String) throws(ArchiveError) -> Bool {
    try self.key(at: position).string.map { $0.utf8.elementsEqual(key.utf8) } ?? false
  }
}

/// Bounds the bytes of strings and data that decoding a collection as a whole may make: many references to one
/// long string take little room in a file.
struct ByteBudget {
  private var rest: Int
  private let limit: Int

  init(_ graph: ArchiveGraph) {
    limit = graph.list.limits.byteCount
    rest = limit
  }

  mutating func charge(_ value: ArchivedValue, holder: Int?) throws(ArchiveError) {
    switch value {
    case .string(let text): rest -= text.utf8.count
    case .data(let data): rest -= data.count
    default: return
    }
    guard rest >= 0 else {
      throw ArchiveError(
        .limitExceeded, "a collection holds more than \(limit) bytes of strings and data", object: holder)
    }
  }
}
