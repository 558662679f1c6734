import PropertyLists

/// Writes nodes. Each node is numbered when it is first met, in breadth-first order. Nodes are not written recursively,
/// so a chain of any length can be written.
struct GraphWriter {
  private var references: [ObjectIdentifier: KeyedArchiveWriter.Reference] = [:]
  /// All nodes met so far. They are kept alive, so that their identifiers stay unique.
  private var nodes: [ArchiveNode] = []
  private var writtenCount = 0
  /// The object numbers of arrays of more than 64 bytes in fields, by the address of the array. Fields with the same
  /// array share one object of the property list.
  private var dataNumbers: [UInt: Int] = [:]
  /// The current depth of nested lists.
  private var depth = 0

  /// The value as it is written in a field. If it is a node, the node itself is written later.
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
    case .bytes(let bytes):
      guard bytes.count > 64 else { return try writer.list.data(bytes) }
      // The nodes keep the array alive, so no other array has its address.
      let place = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
      if let number = dataNumbers[place] { return number }
      let number = try writer.list.data(bytes)
      dataNumbers[place] = number
      return number
    case .text(let text): return try writer.list.string(text)
    case .list(let elements):
      // Only lists are written recursively, so their depth is limited.
      guard depth < ArchiveLimits().depth else {
        throw ArchiveError(
          .unencodable,
          "lists in a field are nested more than \(depth) deep; use arrays instead")
      }
      depth += 1
      defer { depth -= 1 }
      var numbers: [Int] = []
      for element in elements { try numbers.append(inline(element, to: &writer)) }
      return try writer.list.array(numbers)
    }
  }

  /// Writes all nodes that were met, and all nodes that can be reached from them.
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
    case .bare(.text(let text)) where text.utf8.elementsEqual(nilMarker.utf8):
      return try object(.mutableString, [("NS.string", .text(text))], to: &writer)
    case .bare(let value):
      return try inline(value, to: &writer)
    case .object(let archivedClass, let fields, let unkeyed):
      return try object(archivedClass, fields, unkeyed: unkeyed, to: &writer)
    }
  }

  private mutating func object(
    _ archivedClass: ArchivedClass, _ fields: [(key: String, value: ArchiveNode.Value)],
    unkeyed: [ArchiveNode.Value] = [], to writer: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> Int {
    var values = try [Int(writer.reference(to: archivedClass).number)]
    for field in fields { try values.append(inline(field.value, to: &writer)) }
    for value in unkeyed { try values.append(inline(value, to: &writer)) }
    let keys = try writer.keyNumbers(
      ["$class"] + fields.map { escaped($0.key) } + unkeyed.indices.map { "$\($0)" })
    return try writer.list.dictionary(keys: keys, values: values)
  }
}
