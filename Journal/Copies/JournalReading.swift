extension Journal {
  /// Reads and checks the entries up to `last` in order, and passes them to `body` in pieces, with the blobs they name.
  /// - Parameter head: the entry before the first one to read. If `head` is the base of a pruned history, the first
  ///     piece has the blobs of its state and no entries.
  /// - Throws: ``JournalError`` with code `damaged` at the first missing or altered entry, or if the entry at the end
  ///   is not `last`; `pruned` if another process has replaced the log.
  package func readPieces(
    after head: Head, through last: Head, _ observer: CopyObserver,
    _ body: (_ piece: [SealedEntry], _ blobs: [Blob], _ head: Head) throws -> Void
  ) throws {
    if let base = format.base, head == base.head {
      try body([], try base.blobs(of: State.self), head)
    }
    var reader = EntryReader(log, journal: id, after: head)
    var named = namedBlobs
    while true {
      try Task.checkCancellation()
      named.trim()
      var blobs: [Blob] = []
      let piece = try reader.next(through: last.revision) { entry throws(JournalError) in
        blobs += try named.blobs(in: entry)
      }
      try folder.checkLogIsCurrent()
      guard let piece else { break }
      try body(piece.entries, blobs, reader.head)
      try observer(CopyProgress(phase: .copying, done: reader.head.revision, all: last.revision))
    }
    guard reader.head == last else {
      throw JournalError(
        .damaged, "the newest entry is not the one that was acknowledged; restore the journal from a backup",
        revision: last.revision, path: folder.path)
    }
  }

  /// About how many bytes the first entries take on disk.
  package func byteCountOfEntries(through last: Revision) throws(JournalError) -> Int {
    let first = format.head.revision
    let (all, some) = (head.revision - first, last - first)
    guard all > 0 else { return 0 }
    return Int(Double(try log.byteCount()) * Double(some) / Double(all))
  }
}
