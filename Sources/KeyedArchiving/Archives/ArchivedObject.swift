public import PropertyLists

/// An object of a keyed archive: its identity, its class and its fields, which are read on access.
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

  /// The names of its class and that class's ancestors, up to the root class. May be empty.
  public var classChain: [String] { objectClass.chain }

  /// The classes that may stand in for its class.
  public var classHints: [String] { objectClass.hints }

  /// Whether its class has the given name, descends from a class of that name, or may be replaced by one.
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
  /// - Throws: `ArchiveError` if the field refers to an object that does not exist, or whose class is not described.
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
  /// - Throws: `ArchiveError` with code `malformed` if there is a gap in their numbers.
  public var unkeyedValues: ArchivedArray {
    get throws(ArchiveError) {
      ArchivedArray(
        graph: fields.graph, storage: .numbers(try fields.numberedSequence("$")), holder: uid, uid: nil)
    }
  }

  /// The UID that a field refers to, or nil if there is no such field or it holds its value directly. UID 0 means nil.
  ///
  /// This distinguishes values that look equal in the views. For example, it shows whether two fields share one string.
  public func reference(forKey key: String) throws(ArchiveError) -> Int? {
    try fields.reference(named: key)
  }

  /// All fields, for a reader that iterates over them instead of looking each one up.
  ///
  /// - Throws: As ``keys``.
  package func allFields() throws(ArchiveError) -> [ArchivedField] { try fields.all() }
}

/// A field: its name, and access to its value.
package struct ArchivedField {
  package let name: String
  fileprivate let number: Int
  fileprivate let graph: ArchiveGraph
  fileprivate let holder: Int?

  /// The value. Its text or data shares memory with its other occurrences.
  package func value(_ contents: inout SharedContents) throws(ArchiveError) -> ArchivedValue {
    try contents.value(number, holder: holder)
  }

  /// Whether the field refers to its value instead of holding it.
  package var isReference: Bool {
    get throws(ArchiveError) { try graph.referenceNumber(number) != nil }
  }
}

extension ArchivedFields {
  func all() throws(ArchiveError) -> [ArchivedField] {
    try named().map { ArchivedField(name: $0.name, number: $0.number, graph: graph, holder: holder) }
  }

  func reference(named name: String) throws(ArchiveError) -> Int? {
    guard let index = try index(ofName: name) else { return nil }
    return try graph.referenceNumber(references.value(at: index))
  }
}

extension KeyedArchive {
  init(graph: ArchiveGraph) { self.graph = graph }

  /// All values at the top, as ``ArchivedObject/allFields()``.
  package func allTopFields() throws(ArchiveError) -> [ArchivedField] { try graph.top.all() }
}
