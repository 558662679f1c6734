import PropertyLists

/// A layer that one thread reads from the start to the end, as a merge does. Memory holds only some of its pages.
///
/// It opens the file once more: the pages of the layer itself are kept for readers.
struct SequentialLayer: LayerSource {
  private let file: LayerFile
  /// Whether no other object has the file.
  private let ownsFile: Bool
  private let memoryByteCount: Int

  /// - Parameters:
  ///   - file: the file of the layer. It is used itself if it can't be opened once more.
  ///   - memoryByteCount: the most bytes of pages in memory. An archive refers back to up to 1,024 shared texts
  ///     (``ShortTexts``), each of which can be in another page.
  /// - Throws: ``ArchiveError`` if the start or the end of the file can't be read.
  init(_ file: LayerFile, memoryByteCount: Int = 8 << 20) throws(ArchiveError) {
    self.file = try file.reopened()
    ownsFile = self.file !== file
    self.memoryByteCount = memoryByteCount
  }

  /// How many bytes of its pages are in memory.
  var pageByteCount: Int { file.pageByteCount }

  /// Called between reads.
  private func freePages() {
    // Safe because nothing that was read refers to pages.
    if ownsFile, file.pageByteCount > memoryByteCount { unsafe file.unload() }
  }

  func versions(_ kind: Int) throws(ArchiveError) -> VersionCursor {
    let next = try file.versions(kind)
    return { () throws(ArchiveError) in
      freePages()
      return try next()
    }
  }

  func rows(_ kind: Int) -> RowReader {
    let read = file.rows(kind)
    return { (version) throws(ArchiveError) in
      freePages()
      return try read(version)
    }
  }

  func lines(_ index: Int) throws(ArchiveError) -> LineCursor {
    let next = try file.lines(index)
    return { () throws(ArchiveError) in
      freePages()
      return try next()
    }
  }

  func texts(_ list: Int) -> [String] { file.texts(list) }

  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? {
    file.valueLines(definition).map { SequentialLines(lines: $0, layer: self) }
  }

  /// The lines of a declared index.
  private struct SequentialLines: LayerValueLines {
    let lines: any LayerValueLines
    let layer: SequentialLayer

    var count: Int { lines.count }

    func line(at position: Int) throws(ArchiveError) -> LayerValueLine {
      layer.freePages()
      return try lines.line(at: position)
    }
  }
}
