public import Foundation

/// An archive or property list that is embedded as data in another one, as apps keep their objects in user
/// defaults.
public struct EmbeddedArchive: Sendable {
  /// What the data are.
  public enum Content: Sendable {
    /// A keyed archive.
    case keyedArchive(KeyedArchive)
    /// A property list that is no keyed archive.
    case propertyList(PropertyList)
    /// Of another format that holds archived objects: ``DataFormat/typedStream`` or ``DataFormat/nibArchive``.
    case other(DataFormat)
    /// A binary property list that can't be opened, or one too deep inside others.
    case unreadable(ArchiveError)
  }

  /// What the data are.
  public let content: Content
  /// How many bytes they have.
  public let byteCount: Int
  /// The number of embedded archives and property lists around them.
  public let depth: Int
  let paths: KeyPaths
  let path: Int
  let list: PropertyList
  let range: Range<Int>

  /// The path to the data: keys and positions of elements, such as `shortcuts`, `Window Settings.Color` or `people[2]`;
  /// after ` > ` it continues inside the archive that was found there. A path of more than 64 steps is cut to its last
  /// ones, after `…`.
  public var keyPath: String { paths.text(path) }

  /// The archive, if the data are one.
  public var archive: KeyedArchive? {
    guard case .keyedArchive(let archive) = content else { return nil }
    return archive
  }

  /// The data.
  public func data() throws(ArchiveError) -> Data { try list.bytes.data(in: range) }
}

extension PropertyList {
  /// Finds the archives and property lists that are embedded as data in this property list, or in the objects of the
  /// archive that it is, at any depth, and in what was found.
  ///
  /// Every place that refers to data is reported, by one of the shortest ways to it. What can't be reached from the
  /// top is not searched.
  ///
  /// - Throws: ``ArchiveError`` with code `io` or `damaged` if the file can't be read; `malformed` and others if a
  ///   collection can't; `limitExceeded` if its collections overlap in the file.
  /// - Complexity: O(*n*) in the number of references. The data of what is found are copied.
  public func embeddedArchives() throws(ArchiveError) -> [EmbeddedArchive] {
    var search = EmbeddedArchiveSearch(self)
    return try search.run()
  }
}

extension KeyedArchive {
  /// Finds the archives and property lists that are embedded as data in the archive's objects, at any depth, and in
  /// what was found.
  ///
  /// - Throws: As ``PropertyList/embeddedArchives()``.
  public func embeddedArchives() throws(ArchiveError) -> [EmbeddedArchive] {
    try propertyList.embeddedArchives()
  }
}
