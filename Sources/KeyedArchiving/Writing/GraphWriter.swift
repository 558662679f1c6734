/// Writes nodes: numbered when they are first met, the ones nearest to the top first, and without recursion, so
/// that a chain of any length can be written.
struct GraphWriter {
  private var references: [ObjectIdentifier: KeyedArchiveWriter.Reference] = [:]
  /// All nodes met so far, which keeps them alive and so their identifiers unique.
  private var nodes: [ArchiveNode] = []
  private var writtenCount = 0

  /// What stands for the value in a field; its nodes are written later.
  mutating func value(
    _ value: ArchiveNode.Value, to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> KeyedArchiveWriter.Value {
    switch value {
    case .null: return writer.null
    case .node(let node): return try self.value(of: node, to: &writer)
    default: return try KeyedArchiveWriter.Value(number: UInt32(inline(value, to: &writer)))
    }
  }

  private mutating func value(
    of node: ArchiveNode, to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> KeyedArchiveWriter.Value {
    var node = node
    while case .bare(.node(let other)) = node.content { node = other }
    if case .bare(.null) = node.content { return writer.null }
    if let reference = references[ObjectIdentifier(node)] { return reference.value }
    let reference = try writer.reserve()
    references[ObjectIdentifier(node)] = reference
    nodes.append(node)
    return reference.value
  }

  /// The number of a container object that is the value itself.
  private mutating func inline(
    _ value: ArchiveNode.Value, to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> Int {
    switch value {
    case .null, .node: return try Int(self.value(value, to: &writer).number)
    case .bool(let flag): return try Int(writer.value(flag).number)
    case .integer(let integer): return try Int(writer.value(integer).number)
    case .unsigned(let integer): return try Int(writer.value(integer).number)
    case .float(let float): return try writer.list.float(float)
    case .real(let real): return try writer.list.real(real)
    case .bytes(let bytes): return try writer.list.data(bytes)
    case .text(let text): return try writer.list.string(text)
    case .list(let elements):
      var numbers: [Int] = []
      for element in elements { try numbers.append(inline(element, to: &writer)) }
      return try writer.list.array(numbers)
    }
  }

  /// Writes the nodes that were met, those that they lead to, and so on.
  mutating func writeNodes(to writer: inout KeyedArchiveWriter) throws(ArchiveError) {
    while writtenCount < nodes.count {
      let node = nodes[writtenCount]
      writtenCount += 1
      guard let reference = references[ObjectIdentifier(node)] else { continue }
      try writer.define(reference, as: number(of: node, to: &writer))
    }
  }

  private mutating func number(
    of node: ArchiveNode, to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> Int {
    switch node.content {
    case .undefined:
      throw ArchiveError(
        .unencodable, "An object holds itself while it encodes itself as something else than an object.")
    case .bare(.text(let text)) where text.utf8.elementsEqual(nilMarker.utf8):
      return try object(.mutableString, [("NS.string", .text(text))], to: &writer)
    case .bare(let value):
      return try inline(value, to: &writer)
    case .object(let archivedClass, let fields):
      return try object(archivedClass, fields, to: &writer)
    }
  }

  private mutating func object(
    _ archivedClass: ArchivedClass, _ fields: [(key: String, value: ArchiveNode.Value)],
    to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> Int {
    var values = try [Int(writer.reference(to: archivedClass).number)]
    for field in fields { try values.append(inline(field.value, to: &writer)) }
    let keys = try writer.keyNumbers(["$class"] + fields.map { escaped($0.key) })
    return try writer.list.dictionary(keys: keys, values: values)
  }
}
