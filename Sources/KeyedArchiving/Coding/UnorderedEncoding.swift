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

/// The members of a set or a dictionary, until they are sorted by the bytes that each element or key has in an archive
/// of its own. Sets inside the members are sorted first.
struct UnorderedMembers {
  let node = ArchiveNode()
  private let keys: [ArchiveNode.Value]
  private let values: [ArchiveNode.Value]?
  private let archivedClass: ArchivedClass

  init(keys: [ArchiveNode.Value], values: [ArchiveNode.Value]?, archivedClass: ArchivedClass) {
    self.keys = keys
    self.values = values
    self.archivedClass = archivedClass
  }

  func sort() throws(ArchiveError) {
    var archives: [(index: Int, bytes: [UInt8])] = []
    for (index, key) in keys.enumerated() {
      archives.append((index, try ArchiveNode.archive(["root": key.boxed])))
    }
    let order = archives.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.index)
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
