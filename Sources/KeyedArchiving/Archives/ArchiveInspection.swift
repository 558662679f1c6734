public import PropertyLists

/// The classes of an archive, their fields, and the kinds of values, each with a count. This is enough to write a
/// reader for an app's files without the app's source.
public struct ArchiveInspection: Sendable {
  /// A field of a class, with counts over all objects that have the field.
  public struct Field: Sendable {
    /// The name of the field.
    public let name: String
    /// The number of objects of the class that have the field.
    public let count: Int
    /// The kinds of values that the field holds, each with their number, the most frequent first. A kind is `string`,
    /// `integer`, `null`, the name of a class, and so on.
    public let kinds: [(kind: String, count: Int)]
    /// Whether some objects store a value directly in the field instead of a reference to it.
    package let isInline: Bool
  }

  /// A class and its objects.
  public struct Class: Sendable {
    /// The class as the archive describes it.
    public let description: ArchivedClass
    /// The number of objects of the class.
    public let count: Int
    /// The fields of these objects, sorted by name.
    public let fields: [Field]
  }

  /// How many objects with a class can be reached from the top.
  public let objectCount: Int
  /// Whether an object can be reached from itself.
  public let isCyclic: Bool
  /// The classes, those with the most objects first.
  public let classes: [Class]
  /// The kinds of all values in fields, in collections and at the top, each with their number, the most frequent first.
  public let kinds: [(kind: String, count: Int)]
  /// The parts that could not be read. Only the first hundred are listed.
  public let problems: [ArchiveError]
  /// How many parts could not be read.
  public let problemCount: Int
}

extension KeyedArchive {
  /// Counts all objects and values that can be reached from the top. Each object is visited once.
  ///
  /// Broken parts are reported as problems and skipped.
  ///
  /// - Throws: `ArchiveError` with code `io` or `damaged` if the file can't be read; `limitExceeded` if the archive
  ///   has more references than bytes, which is possible only if its collections overlap in the file.
  /// - Complexity: O(*n*) in the number of references. Depth and cycles cost no stack.
  public func inspect() throws(ArchiveError) -> ArchiveInspection {
    var inspector = ArchiveInspector(graph)
    try inspector.run()
    return try inspector.result()
  }
}
