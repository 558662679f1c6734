import KeyedArchiving
import Locks
import Synchronization

/// What could be read neither from a snapshot nor, in its place, from the log, of all states of a journal.
///
/// It lasts: as long as the journal is open, nothing is derived from its states any more.
///
/// Safe to use from any thread.
final class ReadFaults: Sendable {
  private let hasFailed = Atomic<Bool>(false)
  private let newest = Lock<JournalError?>(nil)
  /// Told of each layer whose file failed.
  private let report: @Sendable (JournalError, LayerName) -> Void

  init(_ report: @escaping @Sendable (JournalError, LayerName) -> Void = { _, _ in }) { self.report = report }

  /// Why an answer could not be given, nil if all were.
  var failure: JournalError? { hasFailed.load(ordering: .acquiring) ? newest.withLock { $0 } : nil }

  /// A file can't be read; the log may still give the answer.
  func found(_ error: ArchiveError, in layer: Layer) {
    report(SnapshotFile.failure(error, layer.top.revision, error.path ?? ""), layer.name)
  }

  /// An answer could not be given.
  func note(_ error: JournalError) {
    newest.withLock {
      $0 = JournalError(
        .io,
        "a part of the state can't be read, neither from its snapshot nor from the log; open the journal again",
        path: error.path, cause: error)
    }
    hasFailed.store(true, ordering: .releasing)
  }

  /// Fails when an answer could not be given.
  func check() throws(JournalError) {
    if let failure { throw failure }
  }
}
