/// An object to be archived, with an identity: a graph of nodes becomes a keyed archive in which the same node is
/// the same object, and equal nodes are two.
///
/// ```swift
/// let category = ArchiveNode(ArchivedClass("Category"), ["name": .string("Cafés")])
/// let place = ArchiveNode(ArchivedClass("Place"), ["name": .string("Einstein"), "category": .node(category)])
/// category.set("places", .array([.node(place)]))  // A cycle.
/// let bytes = try place.archived()
/// ```
///
/// A node is not safe to be used from two threads at a time. Nodes that hold each other are freed only when one
/// lets go of the other.
public final class ArchiveNode {
  /// What can stand in a field.
  public enum Value {
    /// No object: nil.
    case null
    /// A truth value in the field itself, as `encodeBool` puts it.
    case bool(Bool)
    /// An integer in the field itself.
    case integer(Int64)
    /// An integer, perhaps above `Int64.max`, in the field itself.
    case unsigned(UInt64)
    /// A real number of 4 bytes in the field itself, as `encodeFloat` puts it.
    case float(Float)
    /// A real number of 8 bytes in the field itself, as `encodeDouble` puts it.
    case real(Double)
    /// Bytes in the field itself, as `encodeBytes` puts them.
    case bytes([UInt8])
    /// A text in the field itself. Few classes want it so; most expect ``string(_:)``.
    case text(String)
    /// A list in the field itself. Few classes want it so; most expect ``array(_:)``.
    case list([Value])
    /// An object.
    case node(ArchiveNode)
  }

  enum Content {
    /// It is known that the object will be there, and not yet what it is.
    case undefined
    /// A value that stands in `$objects` without a class, such as an `NSNumber`; or another name of a node.
    case bare(Value)
    case object(ArchivedClass, [(key: String, value: Value)])
  }

  var content: Content

  init(content: Content) { self.content = content }

  /// An object of a class with the given fields, in the order in which they will be written.
  public convenience init(_ archivedClass: ArchivedClass, _ fields: KeyValuePairs<String, Value> = [:]) {
    self.init(content: .object(archivedClass, Array(fields)))
  }

  /// Gives a field a value, replacing the one it has. Has no effect on strings, numbers and data.
  ///
  /// - Complexity: O(fields of the object).
  public func set(_ key: String, _ value: Value) {
    guard case .object(let archivedClass, var fields) = content else { return }
    // Set aside, so that the fields are changed in place.
    content = .undefined
    if let place = fields.firstIndex(where: { $0.key.utf8.elementsEqual(key.utf8) }) {
      fields[place].value = value
    } else {
      fields.append((key: key, value: value))
    }
    content = .object(archivedClass, fields)
  }

  /// The archive of this object and all that it leads to, under the name `root`.
  ///
  /// - Throws: ``ArchiveError/Code/unencodable`` if an object has a key twice; ``ArchiveError/Code/limitExceeded``
  ///   if there are more objects than the format can number.
  public func archived() throws(ArchiveError) -> [UInt8] {
    try ArchiveNode.archive(["root": .node(self)])
  }

  /// An archive with several values under names of your own, as an app writes it with `encode(_:forKey:)`.
  ///
  /// - Throws: as ``archived()`` does.
  public static func archive(_ top: KeyValuePairs<String, Value>) throws(ArchiveError) -> [UInt8] {
    try archive(Array(top))
  }

  /// The same for names that are known only when the program runs.
  package static func archive(_ top: [(key: String, value: Value)]) throws(ArchiveError) -> [UInt8] {
    // The fewer objects, the fewer bytes a reference takes; how many there are is known only at the end.
    for limit in [0xFF, 0xFFFF] {
      do {
        return try archive(top, maximumObjectCount: limit)
      } catch  where error.code == .limitExceeded {
        continue
      }
    }
    return try archive(top, maximumObjectCount: Int(UInt32.max))
  }

  private static func archive(
    _ top: [(key: String, value: Value)], maximumObjectCount: Int
  ) throws(ArchiveError) -> [UInt8] {
    try KeyedArchiveWriter.bytes(maximumObjectCount: maximumObjectCount) { (writer) throws(ArchiveError) in
      var graph = GraphWriter()
      var members: [(key: String, value: KeyedArchiveWriter.Value)] = []
      for (key, value) in top { members.append((key, try graph.value(value, to: &writer))) }
      try graph.writeNodes(to: &writer)
      return KeyedArchiveWriter.Top(members)
    }
  }
}

extension KeyedArchiveWriter {
  /// Writes a node and all that it leads to.
  ///
  /// A node that an earlier call wrote is written anew, as another object.
  public mutating func write(_ node: ArchiveNode) throws(ArchiveError) -> Value {
    var graph = GraphWriter()
    let value = try graph.value(.node(node), to: &self)
    try graph.writeNodes(to: &self)
    return value
  }
}
