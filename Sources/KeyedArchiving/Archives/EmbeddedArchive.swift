public import PropertyLists

/// An archive or property list that is embedded in another one as data. Apps keep objects in user defaults this way.
public struct EmbeddedArchive: Sendable {
  /// The possible contents of embedded data.
  public enum Content: Sendable {
    /// A keyed archive.
    case keyedArchive(KeyedArchive)
    /// A property list that is not a keyed archive.
    case propertyList(PropertyList)
    /// A binary property list that can't be opened, or one that is nested too deeply.
    case unreadable(ArchiveError)
  }

  /// The content of the data.
  public let content: Content
  /// All paths of the search; empty until the search has ended.
  var paths = KeyPaths()
  let path: Int

  /// The path to the data: keys and positions of elements, such as `shortcuts`, `Window Settings.Color` or `people[2]`.
  /// After ` > `, the path continues inside the archive that the data contain. A path of more than 64 steps is
  /// shortened to `…` and its last 64 steps.
  public var keyPath: String { paths.text(path) }

  /// The archive that the data contain; nil for other contents.
  public var archive: KeyedArchive? {
    guard case .keyedArchive(let archive) = content else { return nil }
    return archive
  }
}

extension PropertyList {
  /// Finds the archives and property lists that are embedded as data in this property list or, if it is a keyed
  /// archive, in its objects. Embedded archives and property lists are searched too, at any depth up to
  /// `ArchiveLimits.nestedArchiveDepth`.
  ///
  /// Every place that refers to such data is reported, with one of the shortest paths to the place. Parts that can't be
  /// reached from the top are not searched.
  ///
  /// - Throws: `ArchiveError` with code `io` or `damaged` if the file can't be read; `malformed` and others if a
  ///   collection is broken; `limitExceeded` if collections or data overlap in the file.
  /// - Complexity: O(*n*) in the number of references. The bytes of each found archive and property list are copied.
  public func embeddedArchives() throws(ArchiveError) -> [EmbeddedArchive] {
    var search = EmbeddedArchiveSearch(self)
    return try search.run()
  }
}

extension KeyedArchive {
  /// Finds the archives and property lists that are embedded as data in the archive's objects or, at any depth up to
  /// `ArchiveLimits.nestedArchiveDepth`, in each other.
  ///
  /// - Throws: `ArchiveError` for the reasons that `PropertyList.embeddedArchives()` names.
  public func embeddedArchives() throws(ArchiveError) -> [EmbeddedArchive] {
    try propertyList.embeddedArchives()
  }
}
