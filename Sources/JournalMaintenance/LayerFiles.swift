import Files
package import Journaling

extension JournalFolder {
  /// The newest entry that a layer or snapshot includes; nil if none has a readable footer.
  var newestRecordedRevision: Revision? {
    let footers = LayerFooters(folder: self)
    return (try? footers.names())?.last { (try? footers.footer($0))?.footer != nil }?.to
  }

  /// One error for each layer or snapshot without a footer.
  func filesWithoutFooter() throws(JournalError) -> [JournalError] {
    // Files are listed before footers, because a writer may complete a layer in between.
    let files = try openSnapshots()?.names() ?? []
    let recorded = Set(try LayerFooters(folder: self).names())
    return files.compactMap { file in
      guard let name = LayerName(fileName: file), !recorded.contains(name) else { return nil }
      return JournalError(
        .damaged, "the \(name.noun) has no footer, so it is not used, and may have what was erased since",
        path: path(of: name))
    }
  }
}

extension Journal {
  /// The names of the files of all snapshots and layers, and of their footers, sorted.
  package func snapshotFileNames() throws -> [String] {
    try chain.footers.names().flatMap { [$0.fileName, $0.footerName] }.sorted()
  }
}
