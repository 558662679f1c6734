public import PropertyLists

/// An object of a keyed archive: its identity, its class and its fields, which are read on access.
public struct ArchivedObject: Sendable {
  /// The number of the object in its archive. Two references to one object give the same number.
  public let uid: Int
  /// The object's class, as the archive describes it.
  public let objectClass: ArchivedClass
  let fields: ArchivedFields

  /// The name of the object's class.
  public var className: String { objectClass.name }

  /// The names of the object's class and of its superclasses, up to the root class. May be empty.
  public var classChain: [String] { objectClass.chain }

  /// The classes that a reader may use instead of the object's class.
  public var classHints: [String] { objectClass.hints }

  /// Whether the object's class has the given name, descends from a class of that name, or may be replaced by one.
  public func isKind(of name: String) -> Bool { objectClass.isKind(of: name) }

  /// The names of the object's fields in the order of the file, as the object's `encode(with:)` named them. Values that
  /// were encoded without a key are named `$0`, `$1`, ….
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public var keys: [String] {
    get throws(ArchiveError) { try fields.all().map(\.name) }
  }

  /// The value of a field, or nil if the object has no such field.
  ///
  /// - Throws: `ArchiveError` if the field refers to an object that does not exist, or whose class is not described.
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(_ key: String) -> ArchivedValue? {
    get throws(ArchiveError) { try fields.value(named: key) }
  }

  /// The values that were encoded without a key, in order.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if there is a gap in the numbers of the values.
  public var unkeyedValues: ArchivedArray {
    get throws(ArchiveError) {
      ArchivedArray(
        graph: fields.graph, storage: .numbers(try fields.numberedSequence("$")), holder: uid, uid: nil)
    }
  }

  /// The UID that a field refers to; nil if there is no such field or it stores its value directly. UID 0 is nil.
  ///
  /// Values that look equal in the views can have different UIDs: the UIDs show whether two fields share one string.
  public func reference(forKey key: String) throws(ArchiveError) -> Int? {
    try fields.reference(named: key)
  }

  /// All fields, for a reader that iterates over them instead of looking each one up.
  ///
  /// - Throws: `ArchiveError` if there are too many fields, or a name can't be read.
  package func allFields() throws(ArchiveError) -> [ArchivedField] { try fields.all() }
}
