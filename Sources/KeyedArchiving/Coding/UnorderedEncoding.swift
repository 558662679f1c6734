import PropertyLists

/// A collection whose order in Swift differs from process to process.
protocol UnorderedEncodable {
  /// The node of the collection, which the session will sort. Nil if the collection encodes itself with keys.
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode?
}

extension Set: UnorderedEncodable where Element: Encodable {
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode? {
    let elements = try map { try session.encode($0, at: path + [ElementKey(0)]).inCollection }
    let named = session.configuration.naming(of: Self.self)?.archivedClass
    return session.sortLater(UnorderedMembers(keys: elements, values: nil, archivedClass: named ?? .set))
  }
}

extension Dictionary: UnorderedEncodable where Key: Encodable, Value: Encodable {
  func node(in session: EncodingSession, at path: [any CodingKey]) throws -> ArchiveNode? {
    // Strings and integers become coding keys, which are sorted as in any dictionary.
    if Key.self is any CodingKeyRepresentable.Type { return nil }
    var keys: [ArchiveNode.Value] = []
    var values: [ArchiveNode.Value] = []
    for (key, value) in self {
      try keys.append(session.encode(key, at: path + [ElementKey(0)]).inCollection)
      try values.append(session.encode(value, at: path + [ElementKey(1)]).inCollection)
    }
    let named = session.configuration.naming(of: Self.self)?.archivedClass
    return session.sortLater(
      UnorderedMembers(keys: keys, values: values, archivedClass: named ?? .dictionary))
  }
}

/// The members of a set or a dictionary, until they are sorted.
///
/// The order is that of the bytes that each element or key has in an archive of its own. In these bytes, collections
/// that are not sorted yet are empty, so hash values have no influence. If elements reach many objects, archives are
/// compared up to 64 objects, and then up to 512: a whole archive of each element could cost as much as all of them.
///
/// Elements that all reach each other in the same way can't be told apart at any length, and their order makes no
/// difference. So at most ``mostCompared`` objects are compared.
struct UnorderedMembers {
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

  /// Sorts a range of the order by the beginnings of archives.
  ///
  /// - Returns: the subranges whose beginnings are equal, and whose archives continue.
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

/// The index of an element, in a coding path.
struct ElementKey: CodingKey {
  let intValue: Int?
  var stringValue: String { "\(intValue ?? 0)" }

  init(_ index: Int) { intValue = index }

  init?(intValue: Int) { self.init(intValue) }

  init?(stringValue: String) { nil }
}
