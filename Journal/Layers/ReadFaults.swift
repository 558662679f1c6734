import Locks
import PropertyLists
import Synchronization

/// The read failures of all states of a journal: parts that could be read neither from a layer nor from the log.
///
/// A failure is permanent: until the journal is opened again, nothing more is derived from its states.
///
/// Safe to use from any thread.
final class ReadFaults: Sendable {
  private let hasFailed = Atomic<Bool>(false)
  private let newest = Lock<JournalError?>(nil)
  /// Called for each layer whose file failed.
  private let report: @Sendable (JournalError, LayerName) -> Void

  init(_ report: @escaping @Sendable (JournalError, LayerName) -> Void = { _, _ in }) { self.report = report }

  /// Why an answer was incomplete, nil if none was.
  var failure: JournalError? { hasFailed.load(ordering: .acquiring) ? newest.withLock { $0 } : nil }

  /// Notes that a file can't be read; the log may still have the answer.
  func found(_ error: ArchiveError, in layer: Layer) {
    report(ChecksummedFile.failure(error, of: layer.name, error.path ?? ""), layer.name)
  }

  /// Notes an incomplete answer.
  func note(_ error: JournalError) {
    newest.withLock {
      $0 = JournalError(
        .io,
        "a part of the state can't be read, neither from its layers nor from the log; close the journal and open it "
          + "again", path: error.path, cause: error)
    }
    hasFailed.store(true, ordering: .releasing)
  }

  /// Fails if an answer was incomplete.
  func check() throws(JournalError) {
    if let failure { throw failure }
  }

  /// Returns what `body` derives from states. If an answer was incomplete, that is the error, whatever `body` throws:
  /// entries that were applied to an incomplete state can look damaged.
  func checking<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Result {
    let result: Result
    do throws(JournalError) { result = try body() } catch {
      try check()
      throw error
    }
    try check()
    return result
  }
}
