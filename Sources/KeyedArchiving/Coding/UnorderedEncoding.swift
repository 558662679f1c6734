/// A collection that Swift keeps in another order in each process.
protocol UnorderedEncodable {
  /// The collection, of which the session takes care; nil if it encodes itself with keys.
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode?
}

extension Set: UnorderedEncodable where Element: Encodable {
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode? {
    let elements = try map { try session.encode($0, at: path + [IndexKey(0)]).inCollection }
    let named = session.configuration.naming(of: Self.self, at: path)?.archivedClass
    return session.sortLater(UnorderedMembers(keys: elements, values: nil, archivedClass: named ?? .set))
  }
}

extension Dictionary: UnorderedEncodable where Key: Encodable, Value: Encodable {
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode? {
    // Strings and integers become coding keys, which are sorted as those of any dictionary.
    if Key.self is any CodingKeyRepresentable.Type { return nil }
    var keys: [ArchiveNode.Value] = []
    var values: [ArchiveNode.Value] = []
    for (key, value) in self {
      try keys.append(session.encode(key, at: path + [IndexKey(0)]).inCollection)
      try values.append(session.encode(value, at: path + [IndexKey(1)]).inCollection)
    }
    let named = session.configuration.naming(of: Self.self, at: path)?.archivedClass
    return session.sortLater(
      UnorderedMembers(keys: keys, values: values, archivedClass: named ?? .dictionary))
  }
}

/// What is in a set or a dictionary, until it is put in order.
///
/// The order is that of the bytes that each element or key has in an archive of its own. Of elements that reach many
/// objects only as many are compared as tell them apart: written whole, each would cost what all together do. In
/// these bytes collections that are not in order yet are empty, so that hash values have no part in them.
///
/// Elements that reach each other all alike can't be told apart at any length, and their order makes no difference. So
/// no more is compared than ``mostCompared``.
struct UnorderedMembers {
  /// How many objects and elements of lists are compared at most, of those that an element reaches.
  private static let mostCompared = 512

  let node = ArchiveNode(content: .undefined)
  private let keys: [ArchiveNode.Value]
  private let values: [ArchiveNode.Value]?
  private let archivedClass: ArchivedClass

  init(keys: [ArchiveNode.Value], values: [ArchiveNode.Value]?, archivedClass: ArchivedClass) {
    self.keys = keys
    self.values = values
    self.archivedClass = archivedClass
    fill([])
  }

  func sort() throws(ArchiveError) {
    var order = Array(keys.indices)
    // Ranges of the order whose keys are still equal.
    var open = [order.indices]
    var limit = 64
    while !open.isEmpty && limit <= Self.mostCompared {
      var rest: [Range<Int>] = []
      for range in open { rest += try sort(&order, range, limit: limit) }
      open = rest
      limit *= 8
    }
    fill(order)
  }

  /// Sorts a part of the order by the beginnings of archives.
  ///
  /// - Returns: the parts of it in which these are the same, and more is to come.
  private func sort(
    _ order: inout [Int], _ range: Range<Int>, limit: Int
  ) throws(ArchiveError) -> [Range<Int>] {
    guard range.count > 1 else { return [] }
    var beginnings: [(index: Int, bytes: [UInt8], isWhole: Bool)] = []
    for index in order[range] {
      let (bytes, isWhole) = try ArchiveNode.beginning(of: keys[index].boxed, limit: limit)
      beginnings.append((index, bytes, isWhole))
    }
    beginnings.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    order.replaceSubrange(range, with: beginnings.map(\.index))
    var open: [Range<Int>] = []
    var start = 0
    for end in 1...beginnings.count
    where end == beginnings.count || beginnings[end].bytes != beginnings[start].bytes {
      let isOpen = end - start > 1 && !beginnings[start].isWhole
      if isOpen { open.append(range.lowerBound + start..<range.lowerBound + end) }
      start = end
    }
    return open
  }

  private func fill(_ order: [Int]) {
    let filled =
      if let values {
        ArchiveNode.dictionary(order.map { (key: keys[$0], value: values[$0]) }, as: archivedClass)
      } else {
        ArchiveNode.array(order.map { keys[$0] }, as: archivedClass)
      }
    node.content = filled.content
  }
}

/// The place of an element in the coding path.
struct IndexKey: CodingKey {
  let intValue: Int?
  var stringValue: String { "Index \(intValue ?? 0)" }

  init(_ index: Int) { intValue = index }

  init?(intValue: Int) { self.init(intValue) }

  init?(stringValue: String) { nil }
}
