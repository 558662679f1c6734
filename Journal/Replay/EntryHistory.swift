package import Foundation

/// The entries of a journal, opened without building a state. The time to open does not grow with the number of
/// entries, even without layers.
///
/// Opening reports missing entries as ``Journal`` does. An altered entry is found when it is read.
package final class EntryHistory<State: EventSourced>: Sendable {
  package let head: Head
  private let log: any EntryLog
  private let format: JournalFormat
  private let upcast: EventUpcast
  private let blobs: BlobStore

  /// Opens a journal to read its entries.
  /// - Throws: ``JournalError``, as opening it for reading only does.
  package init(at url: URL, options: JournalOptions) throws {
    let recovery = try Recovery<State>(url, mode: .readOnly, makesState: false, options: options)
    (head, log, format, blobs) = (
      recovery.replayed.version.head, recovery.log, recovery.format, recovery.blobs
    )
    upcast = try EventUpcast(State.self)
  }

  deinit { close() }

  /// Closes the log. Closing a log that was only read can't fail.
  package func close() {
    blobs.close()
    try? log.close()
  }

  /// The entry up to which history was pruned; nil when it begins with entry 1.
  package var base: Head? { format.base?.head }

  package func entries(_ range: ClosedRange<Revision>? = nil, newestFirst: Bool = false) -> EntryCursor {
    EntryCursor(log, format, upcast, range, newest: head.revision, newestFirst: newestFirst)
  }

  /// The entries since a point that needs no state (``RevisionSelector/isOfState``); see ``Journal/window(since:until:)``.
  package func window(since: RevisionSelector) throws -> EntryWindow {
    let points = PointFinder(log: log, format: format, newest: head.revision)
    return try EntryWindow(since: since, until: .head()) { try points.border(at: $0) }
  }
}
