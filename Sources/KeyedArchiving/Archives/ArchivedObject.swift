/// An object of a keyed archive: its identity, its class and its fields, which are read when they are asked for.
public struct ArchivedObject: Sendable {
  /// The number of the object in its archive. Two references to one object give the same number.
  public let uid: Int
  /// Its class, as the archive describes it.
  public let objectClass: ArchivedClass
  let fields: ArchivedFields

  /// The archive that the object is part of.
  public var archive: KeyedArchive { KeyedArchive(graph: fields.graph) }

  /// The name of its class.
  public var className: String { objectClass.name }

  /// The names of its class and the ancestors of that, up to the root class. May be empty.
  public var classChain: [String] { objectClass.chain }

  /// The classes that may stand in for its class.
  public var classHints: [String] { objectClass.hints }

  /// Whether its class is, descends from, or may be replaced by the class with the given name.
  public func isKind(of name: String) -> Bool { objectClass.isKind(of: name) }

  /// The names of its fields in the order of the file, as the object's `encode(with:)` named them. Values that were
  /// encoded without a key are named `$0`, `$1`, ….
  ///
  /// - Complexity: O(*n*) in their number.
  public var keys: [String] {
    get throws(ArchiveError) { try fields.names() }
  }

  /// The value of a field, or nil if the object has no such field.
  ///
  /// - Throws: ``ArchiveError`` if it refers to an object that is not there, or whose class is not described.
  /// - Complexity: O(*n*) in the number of fields.
  public func value(forKey key: String) throws(ArchiveError) -> ArchivedValue? {
    try fields.value(named: key)
  }

  /// The value of a field, as ``value(forKey:)``.
  public subscript(_ key: String) -> ArchivedValue? {
    get throws(ArchiveError) { try fields.value(named: key) }
  }

  /// The values that were encoded without a key, in order.
  ///
  /// - Throws: ``ArchiveError`` with code `malformed` if there is a gap in their numbers.
  public var unkeyedValues: ArchivedArray {
    get throws(ArchiveError) {
      ArchivedArray(
        graph: fields.graph, storage: .numbers(try fields.numberedSequence("$")), holder: uid)
    }
  }

  /// The UID in a field that is a reference, or nil if there is no such field or its value stands in it directly.
  /// 0 refers to nil.
  ///
  /// It tells apart what the views can't: whether two fields share one string, say.
  public func reference(forKey key: String) throws(ArchiveError) -> Int? {
    guard let index = try fields.index(ofName: key) else { return nil }
    let header = try fields.graph.list.header(fields.references.value(at: index))
    return try fields.graph.reference(header).flatMap { Int(exactly: $0) }
  }
}

extension KeyedArchive {
  init(graph: ArchiveGraph) { self.graph = graph }
}
