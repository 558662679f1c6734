import PropertyLists

/// The strings and data of one archive, each decoded once, for callers that keep them.
///
/// Archivers store equal strings once, so a small file can refer to one long text a million times. Here all references
/// to a text share its memory. The size of the file limits how much is decoded, because strings and data of a sound
/// file don't overlap.
package struct SharedContents {
  private let graph: ArchiveGraph
  private var values: [Int: ArchivedValue] = [:]
  private var bytesLeft: Int

  init(_ graph: ArchiveGraph) {
    self.graph = graph
    bytesLeft = graph.list.contentLimit
  }

  package init(_ archive: KeyedArchive) { self.init(archive.graph) }

  /// The value of a field or an element, from its object number in the property list, with references followed.
  ///
  /// - Parameter holder: The UID of the object that the field belongs to, for errors.
  /// - Throws: `ArchiveError` with code `limitExceeded` if strings and data overlap too much in the file.
  package mutating func value(_ number: Int, holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard let place = try graph.place(of: number, holder: holder) else { return .null }
    let header = place.header
    guard header.isLong else { return try graph.value(at: place, holder: holder) }
    if let known = values[header.offset] { return known }
    bytesLeft -= header.byteCount
    guard bytesLeft >= 0 else {
      throw ArchiveError(
        .limitExceeded,
        "the archive's strings and data overlap so much that together they are larger than the file",
        object: holder, path: graph.list.bytes.path)
    }
    let value = try graph.value(at: place, holder: holder)
    values[header.offset] = value
    return value
  }
}

extension PropertyList {
  /// How many bytes of strings and data may be decoded: twice the file, because a few overlaps are legal and occur, and
  /// because UTF-8 can take more bytes than UTF-16.
  var contentLimit: Int { 2 * bytes.count + 1 << 16 }
}
