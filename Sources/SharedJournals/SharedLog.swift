package import Journaling
package import SHA256

/// The place of the images of a shared journal, if that is not the storage of its log. Failures are
/// `unreachable`.
package protocol ImagePlace: Sendable {
  /// Whether all bytes of an image are stored, durably.
  func has(_ blob: Blob) throws(JournalError) -> Bool

  /// Stores the bytes that `piece` returns, until it returns none.
  func store(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError)

  /// Calls `body` with the bytes of an image, in pieces.
  /// - Returns: false if it is not stored.
  func load(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool
}

/// A storage, such as a database, of logs to which several nodes append.
package protocol SharedLogStorage: Sendable {
  /// Its address without secrets, which is stored in the journal's folder.
  var address: String { get }

  /// The maximum bytes of the entries of one append.
  var appendByteCount: Int { get }

  /// The time for which an append is retried after its connection was lost.
  var retryTime: Duration { get }

  /// The journals whose logs are stored.
  /// - Throws: ``JournalError`` with code `unreachable` if the storage can't be reached.
  func journals() throws(JournalError) -> [JournalID]

  /// Creates an empty log, which no node can join yet. An existing one is not changed.
  func begin(_ journal: JournalID) throws(JournalError)

  /// Marks a log as complete, so that nodes can join it.
  /// - Parameter format: the bytes of the journal's FORMAT.
  func finish(_ journal: JournalID, format: [UInt8]) throws(JournalError)

  /// The bytes of the journal's FORMAT; none before ``finish(_:format:)``.
  /// - Throws: ``JournalError``: `notFound`, `unreachable`.
  func format(of journal: JournalID) throws(JournalError) -> [UInt8]

  /// Opens a log, to read and to append.
  /// - Throws: ``JournalError``: `unreachable`, `unsafeSettings`, or `notFound` if there is no log of that journal.
  func connect(to journal: JournalID) throws(JournalError) -> any SharedLog
}

/// An open log to which other nodes also append. After a call has thrown `unreachable`, or an append `unknown`, it
/// can't be used any more; it must be closed and opened again.
///
/// All calls may be made from many threads at once. After ``close()``, every call throws `closed`.
package protocol SharedLog: EntrySource, AnyObject {
  /// Stores entries, if the newest revision is `revision`, and returns when they are durable.
  /// - Parameter meanwhile: called while the storage works on the entries; perhaps repeatedly or never. Must
  ///   not use the log.
  func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void
  ) throws(AppendFailure)

  /// The digest that was stored with an entry; nil if there is no such entry.
  func digest(of revision: Revision) throws(JournalError) -> ContentDigest?

  /// Waits for the turn to append. Others must wait until the next append returns, ``release()`` is called, or some
  /// seconds have passed.
  /// - Parameter revision: the caller's newest entry. The caller reads those after it next.
  /// - Returns: the newest revision.
  func reserve(after revision: Revision) throws(JournalError) -> Revision

  /// Releases the turn, if it was reserved.
  func release()

  /// Waits until everything that can be read is as durable as a confirmed append.
  func confirm() throws(JournalError)

  /// Whether the bytes of an image are stored.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool

  /// Stores the bytes of an image, unless they are stored already.
  /// - Parameter piece: returns the next bytes; none at the end.
  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError)

  /// Calls `body` with the bytes of an image, in pieces and in order, without checking them.
  /// - Returns: false if they are missing.
  func readImage(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool

  /// How the storage made entries durable when the log was opened.
  var durability: Durability { get }

  /// Ends all waits, and waits for calls in progress.
  func close()
}

/// How a storage makes entries durable, for people.
package struct Durability: Sendable {
  /// The settings, in a line.
  package let summary: String
  /// Why commits wait, in a sentence; nil if they do not, or if that can't be found out.
  package let warning: String?

  package init(summary: String, warning: String?) {
    self.summary = summary
    self.warning = warning
  }
}

extension SharedLog {
  /// ``confirm()``, with errors that say why commits wait.
  func awaitConfirmation() throws(JournalError) {
    do throws(JournalError) { try confirm() } catch { throw error.adding(durability.warning) }
  }

  /// The same, but ignored for a role that may only read.
  func confirmIfPermitted() throws(JournalError) {
    do throws(JournalError) { try awaitConfirmation() } catch {
      guard error.code == .permission else { throw error }
    }
  }
}

extension JournalError {
  /// Adds the reason why commits wait if the server did not answer.
  func adding(_ warning: String?) -> JournalError {
    guard let warning, code == .unreachable else { return self }
    return JournalError(
      code, "\(message); \(warning)", revision: revision, path: path, offset: offset, cause: cause)
  }
}

extension AppendFailure {
  /// Adds the reason why commits wait if the server did not answer.
  func adding(_ warning: String?) -> AppendFailure {
    switch self {
    case .conflict: self
    case .refused(let error): .refused(error.adding(warning))
    case .unknown(let error): .unknown(error.adding(warning))
    }
  }
}

extension SharedLog {
  /// Fails unless the digest that is stored with an entry is that of the bytes that were read. Only this
  /// proves the newest entry.
  func checkDigest(of head: Head) throws(JournalError) {
    guard try digest(of: head.revision) != head.digest else { return }
    throw JournalError.altered(head.revision)
  }

  /// Finds the altered entry of an error about damage. If an entry does not follow from the previous one,
  /// either may be altered: the one whose bytes do not have the digest that is stored with it.
  func naming(_ error: JournalError, in journal: JournalID) -> JournalError {
    guard error.code == .damaged, let revision = error.revision else { return error }
    for candidate in max(revision - 1, 1)...max(revision, 1) {
      let own = try? read(candidate) { entry throws(JournalError) in try entry.digest(journal: journal) }
      guard let own, let stored = try? digest(of: candidate) else { continue }
      if own != stored { return .altered(candidate) }
    }
    return error
  }
}

extension SharedLog {
  /// Fails if this log has another history than a node, with the first entry that differs.
  /// - Parameters:
  ///   - own: the log of the node.
  ///   - head: its newest entry.
  ///   - format: the FORMAT of the journal.
  func compare(
    with own: any EntryLog, through head: Head, of format: JournalFormat
  ) throws(JournalError) {
    let newest = try newestRevision()
    if head.revision == format.head.revision { return }
    if newest >= head.revision, try digest(of: head.revision) == head.digest { return }
    // The partition point: the first revision at which the two differ.
    var (low, high) = (format.head.revision + 1, min(newest, head.revision) + 1)
    while low < high {
      let middle = (low + high) / 2
      let digest = try own.read(middle) { entry throws(JournalError) in
        try entry.digest(journal: format.id)
      }
      if try self.digest(of: middle) == digest { low = middle + 1 } else { high = middle }
    }
    throw low > newest
      ? JournalError.diverged(
        "the shared log ends with entry \(newest), and this node has entries up to \(head.revision): the server was "
          + "restored from an older backup. Nothing was overwritten; restore it from a newer one, or keep this node's "
          + "entries with unshare --force", at: low)
      : JournalError.diverged(
        "the shared log has another history than this node, from entry \(low) on: the server, or this node, was "
          + "restored from a backup and written to. Nothing was overwritten; keep this node's entries with unshare --force, "
          + "or join the shared journal in another folder", at: low)
  }
}

extension JournalError {
  /// The error about different histories of a node and the shared log.
  static func diverged(_ message: String, at revision: Revision) -> JournalError {
    JournalError(.diverged, message, revision: revision)
  }

  /// The error about an entry of the shared log that is not what was committed.
  fileprivate static func altered(_ revision: Revision) -> JournalError {
    JournalError(
      .damaged,
      "the shared log has an altered entry \(revision): its bytes do not have the digest that is stored with it; "
        + "restore the database from a backup, or share the journal again from a node that has the right entry, as "
        + "Documentation/Shared.md describes", revision: revision)
  }
}
