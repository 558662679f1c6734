public import PropertyLists

/// A keyed archive: a graph of objects, each of a named class with named fields, as `NSKeyedArchiver` and its
/// subclasses write it.
///
/// ```swift
/// let archive = try KeyedArchive(ArchiveBytes(contentsOf: url))
/// for person in try archive.root?.array?.elements() ?? [] {
///   guard case .object(let object) = person, object.isKind(of: "JSPerson") else { continue }
///   print(try object["name"]?.string ?? "nobody", try object["number"]?.string ?? "")
/// }
/// ```
///
/// The classes need not exist in the reading program: an object of any class becomes an ``ArchivedObject`` with the
/// names of its superclasses and its fields. Objects keep their identity (``ArchivedObject/uid``). A reference is
/// followed only when its field is read, so cycles need no special care.
///
/// Opening reads a few small objects, however large the archive is. An archive never changes and may be used from
/// several threads at once.
public struct KeyedArchive: Sendable {
  let graph: ArchiveGraph

  /// Opens the archive in the given bytes, a binary or an XML property list.
  ///
  /// - Throws: `ArchiveError` with code `notAnArchive` if the bytes are a property list but not a keyed archive, and
  ///   what `PropertyList.init(_:limits:)` throws.
  public init(_ bytes: ArchiveBytes, limits: ArchiveLimits = .init()) throws(ArchiveError) {
    try self.init(PropertyList(bytes, limits: limits))
  }

  /// Opens a property list as a keyed archive.
  ///
  /// - Throws: `ArchiveError` with code `notAnArchive` if the top of the list is not a dictionary with a string
  ///   `$archiver`, an array `$objects` and a dictionary `$top`.
  public init(_ list: PropertyList) throws(ArchiveError) {
    graph = try ArchiveGraph(list)
  }

  /// The property list that contains the archive.
  public var propertyList: PropertyList { graph.list }

  /// The class of the archiver that wrote the archive: `NSKeyedArchiver`, or an app's subclass of it.
  public var archiver: String { graph.archiver }

  /// The version of the layout. All known archivers write 100000; other versions are read the same way. Nil if the
  /// archive has no version.
  public var version: Int? { graph.version }

  /// How many entries the archive's object table has: objects, strings, numbers, data and descriptions of classes.
  /// UIDs are below this number.
  public var objectCount: Int { graph.objects.count }

  /// The keys of the values that were archived, in the order of the file. Usually there is only `root`.
  ///
  /// - Complexity: O(*n*) in the number of keys.
  public var topKeys: [String] {
    get throws(ArchiveError) { try graph.top.all().map(\.name) }
  }

  /// The value that was archived under a key; nil if there is none.
  public func top(_ key: String) throws(ArchiveError) -> ArchivedValue? {
    try graph.top.value(named: key)
  }

  /// All values at the top with their keys, for a reader that iterates over them.
  package func allTopFields() throws(ArchiveError) -> [ArchivedField] { try graph.top.all() }

  /// The UID that a value at the top refers to; nil if there is no such key, or the value is stored directly.
  /// UID 0 represents nil.
  public func reference(forTopKey key: String) throws(ArchiveError) -> Int? {
    try graph.top.reference(named: key)
  }

  /// The value under the key `root`, or the only value at the top. Nil if the top is empty, or has several values and
  /// none is `root`.
  public var root: ArchivedValue? {
    get throws(ArchiveError) {
      if let value = try top("root") { return value }
      return graph.top.count == 1 ? try graph.value(graph.top.number(at: 0), holder: nil) : nil
    }
  }

  /// The entry of the object table with a UID. Entry 0 is always null.
  ///
  /// - Throws: `ArchiveError` with code `danglingReference` if there is no such entry; `malformed` if the entry is an
  ///   object whose class is not properly described.
  public func object(_ uid: Int) throws(ArchiveError) -> ArchivedValue {
    try graph.entry(UInt64(exactly: uid) ?? .max, from: nil)
  }

  /// Whether a property list looks like a keyed archive: a dictionary with the keys `$archiver`, `$objects` and `$top`.
  /// Opening such a property list as an archive may still fail.
  ///
  /// - Throws: `ArchiveError` if the property list can't be read.
  public static func isKeyedArchive(_ list: PropertyList) throws(ArchiveError) -> Bool {
    let top = try list.header(list.top)
    for key in ["$archiver", "$objects", "$top"] where try list.member(key, of: top) == nil { return false }
    return true
  }
}
