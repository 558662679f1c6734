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
/// names of its ancestors and its fields. Objects keep their identity (``ArchivedObject/uid``). A reference is followed
/// only when its field is read, so cycles need no special care.
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
  /// - Throws: `ArchiveError` with code `notAnArchive` if its top is not a dictionary with a string `$archiver`, an
  ///   array `$objects` and a dictionary `$top`.
  public init(_ list: PropertyList) throws(ArchiveError) {
    graph = try ArchiveGraph(list)
  }

  /// The property list that contains the archive.
  public var propertyList: PropertyList { graph.list }

  /// The class of the archiver that wrote it: `NSKeyedArchiver`, or an app's subclass of it.
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
    get throws(ArchiveError) { try graph.top.names() }
  }

  /// The value that was archived under a key, or nil if there is none.
  public func top(_ key: String) throws(ArchiveError) -> ArchivedValue? {
    guard let index = try graph.top.index(ofName: key) else { return nil }
    return try graph.top.value(at: index)
  }

  /// The UID that a value at the top refers to, or nil if there is no such key or the value is there directly. UID 0
  /// means nil.
  public func reference(forTopKey key: String) throws(ArchiveError) -> Int? {
    try graph.top.reference(named: key)
  }

  /// The value under the key `root`, or the only value at the top. Nil if the top is empty, or has several values and
  /// none is `root`.
  public var root: ArchivedValue? {
    get throws(ArchiveError) {
      if let value = try top("root") { return value }
      return graph.top.count == 1 ? try graph.top.value(at: 0) : nil
    }
  }

  /// The entry of the object table with a UID. Entry 0 is always null.
  ///
  /// - Throws: `ArchiveError` with code `danglingReference` if there is no such entry; `malformed` if it is an object
  ///   whose class is not properly described.
  public func object(_ uid: Int) throws(ArchiveError) -> ArchivedValue {
    try graph.entry(UInt64(exactly: uid) ?? .max, from: nil)
  }

  /// Whether a property list looks like a keyed archive: a dictionary with the keys `$archiver`, `$objects` and `$top`.
  /// Opening it may still fail.
  ///
  /// - Throws: `ArchiveError` if the property list can't be read.
  public static func isKeyedArchive(_ list: PropertyList) throws(ArchiveError) -> Bool {
    guard let fields = try FieldReferences(list, dictionary: list.top) else { return false }
    for key: StaticString in ["$archiver", "$objects", "$top"] where try fields.index(of: key) == nil {
      return false
    }
    return true
  }
}
