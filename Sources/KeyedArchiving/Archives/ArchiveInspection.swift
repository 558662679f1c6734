public import PropertyLists

/// What an archive holds: its classes, their fields and the kinds of values, each with a count. This is enough to write
/// a reader for an app's files without the app's source.
public struct ArchiveInspection: Sendable {
  /// A field of a class, over all objects that have it.
  public struct Field: Sendable {
    /// Its name.
    public let name: String
    /// How many objects of the class have it.
    public let count: Int
    /// How often it holds each kind of value, the most frequent first. A kind is `string`, `integer`, `null`, the name
    /// of a class, and so on.
    public let kinds: [(kind: String, count: Int)]
    /// Whether some objects have a number, a text or data in the field itself, and no reference to it.
    package let isInline: Bool
  }

  /// A class and its objects.
  public struct Class: Sendable {
    /// The class as the archive describes it.
    public let description: ArchivedClass
    /// How many objects it has.
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
  /// How often fields, elements and the top hold values of each kind, the most frequent first.
  public let kinds: [(kind: String, count: Int)]
  /// The parts that could not be read. Only the first hundred are listed.
  public let problems: [ArchiveError]
  /// How many parts could not be read.
  public let problemCount: Int
}

extension KeyedArchive {
  /// Visits everything that can be reached from the top, each object once, and counts it.
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
