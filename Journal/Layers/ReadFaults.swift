import Locks
import PropertyLists
import Synchronization

/// The problems with the layers of a journal, and the read failures of all its states: parts that could be read neither
/// from a layer nor from the log.
///
/// A problem costs only time. A failure is permanent: until the journal is opened again, nothing more is derived from its
/// states.
///
/// Safe to use from any thread.
package final class ReadFaults: Sendable {
  private struct Found: Sendable {
    var problems: [JournalError] = []
    /// Damaged layers, which are reported once.
    var damaged: Set<LayerName> = []
    var unreadable: Set<LayerName> = []
    var failure: JournalError?
  }

  private let hasFailed = Atomic<Bool>(false)
  private let found = Lock(Found())
  private let options: JournalOptions

  init(_ options: JournalOptions = JournalOptions()) { self.options = options }

  // MARK: Problems

  /// The problems found so far, in order.
  var problems: [JournalError] { found.withLock { $0.problems } }
  var unreadable: Set<LayerName> { found.withLock { $0.unreadable } }

  /// Reports a problem once.
  /// - Parameter message: what the error means for the journal; by default, that the layer is not used.
  func report(_ error: JournalError, of name: LayerName? = nil, _ message: String? = nil) {
    let isNew = found.withLock { found in
      if let name {
        if error.code == .damaged {
          guard found.damaged.insert(name).inserted else { return false }
        } else {
          found.unreadable.insert(name)
        }
      }
      if found.problems.contains(where: { $0.description == error.description }) { return false }
      found.problems.append(error)
      return true
    }
    if isNew { options.note(.warning, message ?? "a \(name?.noun ?? "layer") is not used", cause: error) }
  }

  /// Reports a file that can't be read; the log may still have the answer.
  func report(_ error: ArchiveError, in layer: Layer) {
    report(LayerFile.failure(error, of: layer.name, error.path ?? ""), of: layer.name)
  }

  /// Forgets the damage of layers that were removed or replaced.
  func forgetDamage(of names: [LayerName]) { found.withLock { $0.damaged.subtract(names) } }

  // MARK: Failures

  /// Why an answer was incomplete; nil if all answers so far were complete.
  package var failure: JournalError? {
    hasFailed.load(ordering: .acquiring) ? found.withLock { $0.failure } : nil
  }

  /// Records that an answer was incomplete.
  func fail(_ error: JournalError) {
    found.withLock {
      $0.failure = JournalError(
        .io,
        "a part of the state can't be read, neither from its layers nor from the log; close the journal and open it "
          + "again", path: error.path, cause: error)
    }
    hasFailed.store(true, ordering: .releasing)
  }

  package func check() throws(JournalError) {
    if let failure { throw failure }
  }

  /// Returns what `body` derives from states. If an answer was incomplete, throws that failure, whatever `body` throws:
  /// entries that were applied to an incomplete state can look damaged.
  package func checking<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Result {
    let result: Result
    do throws(JournalError) { result = try body() } catch {
      try check()
      throw error
    }
    try check()
    return result
  }
}
