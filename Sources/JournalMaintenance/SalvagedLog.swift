import Files
import Journaling

/// The proven entries of a damaged journal, as a read-only log for journals that are opened up to their damage.
final class SalvagedLog: EntryLog {
  private let source: SalvageSource
  /// The content of FORMAT, rebuilt if the file is damaged.
  let format: JournalFormat
  private let newest: Revision
  /// The digest of the proven entry, for each revision that has other candidates.
  private let chosen: [Revision: ContentDigest]
  /// The erasures that proven entries record. A file from before an erasure can still have the content.
  private let erasures: [RecordedErasure]
  private let calls = OpenCalls()
  /// The error about the first missing or altered entry; nil if nothing is missing.
  let damage: JournalError?

  let limits = LogLimits(appendByteCount: 0, spareByteCount: 0)
  let hasTornTail = false

  /// - Complexity: O(n) in the bytes of the entries.
  init<State: EventSourced>(_ source: SalvageSource, _ model: State.Type) throws(JournalError) {
    var history = try ProvableHistory([source], model)
    var again = history
    var erasures = Array(try history.erasures(in: model).values)
    // Lets each erasure find the first entry from which it erases something: later checkpoints are erased too.
    while !erasures.isEmpty, var entry = try again.next() {
      for index in erasures.indices { try erasures[index].erase(&entry.sealed) }
    }
    self.source = source
    format = history.format
    newest = history.head.revision
    chosen = history.chosen
    self.erasures = erasures
    damage = history.isWhole ? nil : history.end
  }

  func acknowledged() throws(JournalError) -> LogMark? { nil }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    guard calls.enter() else { throw closed }
    defer { calls.leave() }
    let found = range.clamped(to: min(range.lowerBound, newest)...newest)
    guard found.lowerBound >= range.lowerBound, !found.isEmpty else { return }
    try unsafe Range(found).readEach(
      newestFirst: newestFirst, { revision throws(JournalError) in try entry(revision) }, body)
  }

  /// The bytes of a proven entry, without content that was erased later or in another candidate; nil if there are none.
  private func entry(_ revision: Revision) throws(JournalError) -> [UInt8]? {
    let candidates = try source.log.candidates(revision)
    if candidates.count < 2, erasures.isEmpty { return candidates.first }
    var found: SealedEntry?
    for bytes in candidates {
      let digest = try? EntryDecoder.decode(bytes, revision: revision) { entry throws(JournalError) in
        try entry.digest(journal: format.id)
      }
      guard let digest, digest == chosen[revision] ?? digest else { continue }
      let copy = SealedEntry(revision: revision, bytes: bytes, digest: digest)
      found = try found?.erasing(copy) ?? copy
    }
    guard var entry = found else { return nil }
    for var erasure in erasures { try erasure.erase(&entry) }
    return entry.bytes
  }

  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
  {
    newest
  }

  func beginWriting() throws(JournalError) { throw readOnly }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    throw .refused(readOnly)
  }

  func byteCount() throws(JournalError) -> Int { try source.folder.byteCountOfEntries() }

  func close() throws(JournalError) {
    guard calls.close() else { return }
    calls.wait()
  }

  private var closed: JournalError {
    .closed(path: source.folder.path)
  }

  private var readOnly: JournalError {
    JournalError(.readOnly, "the journal was opened for reading only", path: source.folder.path)
  }
}
