import Journaling
import Locks

/// The entries of a log in pieces, in order. A thread reads and checks the next pieces while the caller uses one.
struct EntryPieces: ~Copyable {
  private static let piecesAhead = 2
  /// For fewer entries, it takes longer to start a thread than to read them.
  private static let smallCount = 256

  private var reader: EntryReader
  private let last: Revision
  /// Nil if the caller's thread reads.
  private let queue: BoundedQueue<EntryPiece>?

  init(_ reader: EntryReader, through last: Revision) {
    self.reader = reader
    self.last = last
    let queue = BoundedQueue<EntryPiece>(capacity: Self.piecesAhead)
    let isAhead =
      last - reader.head.revision >= Self.smallCount
      && Threads.start {
        queue.fill { () throws(JournalError) in
          try reader.readAll(through: last) { piece throws(JournalError) in try queue.send(piece) }
        }
      }
    self.queue = isAhead ? queue : nil
  }

  deinit { queue?.cancel() }

  /// The next piece, nil after the last.
  /// - Throws: as ``EntryReader/next(through:_:)``.
  mutating func next() throws(JournalError) -> EntryPiece? {
    if let queue { return try queue.receive() }
    return try reader.next(through: last)
  }
}

extension EntryReader {
  /// Reads all entries up to `last` in one call of the log, so that it can read ahead.
  fileprivate func readAll(
    through last: Revision, _ body: (EntryPiece) throws(JournalError) -> Void
  ) throws(JournalError) {
    var piece = EntryPiece(head: head)
    try log.readAll(head.revision + 1...last) { entry throws(JournalError) in
      try piece.add(entry, of: journal)
      guard piece.isFull || entry.revision == last else { return }
      try body(piece)
      piece = EntryPiece(head: piece.head)
    }
  }
}
