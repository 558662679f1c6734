public import PropertyLists

/// An object to be archived. A node has an identity: a node that is referred to twice becomes one object of the
/// archive, and two nodes with equal contents become two objects.
///
/// ```swift
/// let category = ArchiveNode(ArchivedClass("Catalog.Category"), ["name": .string("Cafés")])
/// let place = ArchiveNode(ArchivedClass("Place"), ["name": .string("Einstein"), "category": .node(category)])
/// category.set("places", .array([.node(place)]))  // A cycle.
/// let bytes = try place.archived()
/// ```
///
/// Not safe to use from several threads at once. Nodes that refer to each other are freed only after one of these
/// references is removed.
public final class ArchiveNode {
  /// The value of a field.
  public enum Value {
    /// No object. Readers return nil.
    case null
    /// A boolean in the field itself, as `encodeBool` stores it.
    case bool(Bool)
    /// An integer in the field itself.
    case integer(Int64)
    /// An integer, perhaps above `Int64.max`, in the field itself.
    case unsigned(UInt64)
    /// A real number of 4 bytes in the field itself, as `encodeFloat` stores it.
    case float(Float)
    /// A real number of 8 bytes in the field itself, as `encodeDouble` stores it.
    case real(Double)
    /// Bytes in the field itself, as `encodeBytes` stores them.
    case bytes([UInt8])
    /// A text in the field itself. Few classes expect it; most expect ``string(_:)``.
    case text(String)
    /// A list in the field itself. Few classes expect it; most expect ``array(_:)``.
    case list([Value])
    /// An object.
    case node(ArchiveNode)
  }

  enum Content {
    /// A value in `$objects` without a class, such as an `NSNumber`; another node, which replaces this one; or nil.
    case bare(Value)
    case object(ArchivedClass, [(key: String, value: Value)], unkeyed: [Value] = [])
  }

  var content: Content

  init(content: Content = .bare(.null)) { self.content = content }

  /// An object of a class with the given fields, in the order in which they will be written.
  ///
  /// - Parameters:
  ///   - archivedClass: the class that a reader looks for.
  ///   - fields: the keys and values.
  ///   - unkeyed: the values that the class encodes without a key, in the order of its `encode(_:)` calls. They are
  ///     written as `$0`, `$1`, and so on.
  public convenience init(
    _ archivedClass: ArchivedClass, _ fields: KeyValuePairs<String, Value> = [:], unkeyed: [Value] = []
  ) {
    self.init(content: .object(archivedClass, Array(fields), unkeyed: unkeyed))
  }

  deinit {
    // Nodes that nothing else refers to are freed one by one: recursion would need a deep stack for a long chain.
    var nodes: [ArchiveNode] = []
    Self.takeApart(&content, into: &nodes)
    while !nodes.isEmpty {
      let last = nodes.count - 1
      var content = Content.bare(.null)
      if isKnownUniquelyReferenced(&nodes[last]) { swap(&content, &nodes[last].content) }
      nodes.removeLast()
      Self.takeApart(&content, into: &nodes)
    }
  }

  private static func takeApart(_ content: inout Content, into nodes: inout [ArchiveNode]) {
    var values: [Value]
    switch content {
    case .bare(let value): values = [value]
    case .object(_, let fields, let unkeyed): values = fields.map(\.value) + unkeyed
    }
    content = .bare(.null)
    while let value = values.popLast() {
      switch value {
      case .node(let node): nodes.append(node)
      case .list(let elements): values += elements
      default: break
      }
    }
  }

  /// Sets the value of a field, and replaces its earlier value if it has one. Has no effect on strings, numbers and
  /// data.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public func set(_ key: String, _ value: Value) {
    guard case .object(let archivedClass, var fields, let unkeyed) = content else { return }
    // The content is moved out, so that the fields are changed in place.
    content = .bare(.null)
    if let place = fields.firstIndex(where: { $0.key.utf8.elementsEqual(key.utf8) }) {
      fields[place].value = value
    } else {
      fields.append((key: key, value: value))
    }
    content = .object(archivedClass, fields, unkeyed: unkeyed)
  }

  /// Sets the values that the object's class encodes without a key. Has no effect on strings, numbers and data.
  public func set(unkeyed values: [Value]) {
    guard case .object(let archivedClass, let fields, _) = content else { return }
    content = .object(archivedClass, fields, unkeyed: values)
  }

  /// Replaces all fields of the object. Has no effect on strings, numbers and data.
  ///
  /// Nodes that refer to each other can be freed after the fields of one of them were removed.
  package func replaceFields(_ fields: [(key: String, value: Value)]) {
    guard case .object(let archivedClass, _, _) = content else { return }
    content = .object(archivedClass, fields)
  }

  /// The archive of this object and everything reachable from it, under the name `root`.
  ///
  /// - Throws: `unencodable` if an object has a key twice, or lists in a field are nested more than 512 deep;
  ///   `limitExceeded` if there are more objects than the format can number.
  public func archived() throws(ArchiveError) -> [UInt8] {
    try ArchiveNode.archive(["root": .node(self)])
  }

  /// An archive with several values under the given names, as an app writes it with `encode(_:forKey:)`.
  ///
  /// - Throws: `ArchiveError` for the reasons that ``archived()`` names.
  public static func archive(_ top: KeyValuePairs<String, Value>) throws(ArchiveError) -> [UInt8] {
    try archive(Array(top))
  }

  /// An archive with several values under names that are known only at run time.
  ///
  /// - Parameters:
  ///   - top: the names and values.
  ///   - archiver: the class that the archive names as its writer: an app's subclass, for a reader that requires it.
  /// - Throws: `unencodable` also if a name occurs twice; otherwise for the reasons that ``archived()`` names.
  public static func archive(
    _ top: [(key: String, value: Value)], archiver: String = KeyedArchiveWriter.standardArchiver
  ) throws(ArchiveError) -> [UInt8] {
    try archive(top, unkeyed: [], archiver: archiver)
  }

  /// An archive with named values, and with values without names, as an app writes these with `encode(_:)`.
  package static func archive(
    _ top: [(key: String, value: Value)], unkeyed: [Value], archiver: String
  ) throws(ArchiveError) -> [UInt8] {
    // References are shorter with few objects. The count is known only at the end, so low limits are tried first.
    for limit in [0xFF, 0xFFFF] {
      do {
        return try archive(top, unkeyed, archiver, maximumObjectCount: limit)
      } catch  where error.code == .limitExceeded {
        continue
      }
    }
    return try archive(top, unkeyed, archiver, maximumObjectCount: Int(UInt32.max))
  }

  private static func archive(
    _ top: [(key: String, value: Value)], _ unkeyed: [Value], _ archiver: String, maximumObjectCount: Int
  ) throws(ArchiveError) -> [UInt8] {
    try KeyedArchiveWriter.bytes(maximumObjectCount: maximumObjectCount) { (writer) throws(ArchiveError) in
      writer.archiver = archiver
      var graph = GraphWriter()
      var members: [(key: String, value: KeyedArchiveWriter.Value)] = []
      for (key, value) in top { members.append((key, try graph.value(value, to: &writer))) }
      var all = KeyedArchiveWriter.Top(members)
      for value in unkeyed { all.unkeyed.append(try graph.value(value, to: &writer)) }
      try graph.writeNodes(to: &writer)
      return all
    }
  }
}
