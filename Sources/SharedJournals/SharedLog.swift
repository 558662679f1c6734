package import Journaling
package import SHA256

/// The place of the images of a shared journal, if that is not the storage of its log. All failures have the code
/// `unreachable`.
package protocol ImagePlace: Sendable {
  /// Whether all bytes of an image are stored, durably.
  func has(_ blob: Blob) throws(JournalError) -> Bool

  /// Stores the bytes of an image. `piece` returns the next bytes; no bytes mean the end.
  func store(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError)

  /// Calls `body` with the bytes of an image, in pieces.
  /// - Returns: false if the image is not stored.
  func load(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool
}

/// A storage, such as a database, of logs to which several nodes append.
package protocol SharedLogStorage: Sendable {
  /// The address of the storage, without secrets. It is stored in the journal's folder.
  var address: String { get }

  /// The maximum bytes of the entries of one append.
  var appendByteCount: Int { get }

  /// The time for which an append is retried after its connection was lost.
  var retryTime: Duration { get }

  /// The journals whose logs are stored.
  /// - Throws: ``JournalError`` with code `unreachable` if the storage can't be reached.
  func journals() throws(JournalError) -> [JournalID]

  /// Creates an empty log, which no node can join yet. An existing log is not changed.
  func begin(_ journal: JournalID) throws(JournalError)

  /// Marks a log as complete, so that nodes can join it.
  /// - Parameter format: the bytes of the journal's FORMAT.
  func finish(_ journal: JournalID, format: [UInt8]) throws(JournalError)

  /// The bytes of the journal's FORMAT; empty before ``finish(_:format:)``.
  /// - Throws: ``JournalError``: `notFound`, `unreachable`.
  func format(of journal: JournalID) throws(JournalError) -> [UInt8]

  /// Opens a log, to read and to append.
  /// - Throws: ``JournalError``: `unreachable`, `unsafeSettings`, or `notFound` if there is no log of that journal.
  func connect(to journal: JournalID) throws(JournalError) -> any SharedLog
}

/// An open log to which other nodes also append. After a call has thrown `unreachable`, or an append `unknown`, the log
/// can't be used any more; close it and open it again.
///
/// All calls may be made from many threads at once. After ``close()``, every call throws `closed`.
package protocol SharedLog: EntrySource, AnyObject {
  /// Stores entries, if the newest revision is `revision`, and returns when they are durable.
  /// - Parameter meanwhile: called while the storage works on the entries, perhaps several times, perhaps never. Must
  ///   not use the log.
  func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void
  ) throws(AppendFailure)

  /// The digest that is stored with an entry; nil if there is no such entry.
  func digest(of revision: Revision) throws(JournalError) -> ContentDigest?

  /// Waits for the turn to append. Other nodes can't append until the next append returns, ``release()`` is called, or
  /// some seconds have passed.
  /// - Parameter revision: the newest entry of the caller, who will next read the entries after it.
  /// - Returns: the newest revision.
  func reserve(after revision: Revision) throws(JournalError) -> Revision

  /// Releases the turn, if it was reserved.
  func release()

  /// Waits until everything that can be read is as durable as a confirmed append.
  func confirm() throws(JournalError)

  /// Whether the bytes of an image are stored.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool

  /// Stores the bytes of an image, unless they are stored already.
  /// - Parameter piece: returns the next bytes; no bytes mean the end.
  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError)

  /// Calls `body` with the bytes of an image, in pieces and in order, without checking them.
  /// - Returns: false if the image is missing.
  func readImage(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool

  /// How the storage made entries durable when the log was opened.
  var durability: Durability { get }

  /// Ends all waits, and waits for calls in progress.
  func close()
}

/// How a storage makes entries durable, for people.
package struct Durability: Sendable {
  /// The settings, in one line.
  package let summary: String
  /// Why commits wait, in one sentence; nil if they do not wait, or if that is unknown.
  package let warning: String?

  package init(summary: String, warning: String?) {
    self.summary = summary
    self.warning = warning
  }
}

extension SharedLog {
  /// Calls ``confirm()``, and adds to an error why commits wait.
  func awaitConfirmation() throws(JournalError) {
    do throws(JournalError) { try confirm() } catch { throw error.adding(durability.warning) }
  }

  /// Calls ``confirm()``. If the role may only read, that error is ignored.
  func confirmIfPermitted() throws(JournalError) {
    do throws(JournalError) { try awaitConfirmation() } catch {
      guard error.code == .permission else { throw error }
    }
  }
}

extension JournalError {
  /// Adds `warning`, which says why commits wait, if the code of the error is `unreachable`.
  func adding(_ warning: String?) -> JournalError {
    guard let warning, code == .unreachable else { return self }
    return JournalError(
      code, "\(message); \(warning)", revision: revision, path: path, offset: offset, cause: cause)
  }
}

extension AppendFailure {
  /// Adds `warning`, which says why commits wait, if the code of the error is `unreachable`.
  func adding(_ warning: String?) -> AppendFailure {
    switch self {
    case .conflict: self
    case .refused(let error): .refused(error.adding(warning))
    case .unknown(let error): .unknown(error.adding(warning))
    }
  }
}

extension SharedLog {
  /// Throws unless the digest that is stored with an entry is that of the bytes that were read. Only this check proves
  /// the newest entry, because no later entry does.
  func checkDigest(of head: Head) throws(JournalError) {
    guard try digest(of: head.revision) != head.digest else { return }
    throw JournalError.altered(head.revision)
  }

  /// Returns an error that names the altered entry. If an entry does not follow from the previous one, either may be
  /// altered: the one whose bytes do not have the digest that is stored with it. Any other error is returned unchanged.
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
  /// Throws if this log has another history than a node, with the first entry that differs.
  /// - Parameters:
  ///   - own: the log of the node.
  ///   - head: the newest entry of the node.
  ///   - format: the FORMAT of the journal.
  func compare(
    with own: any EntryLog, through head: Head, of format: JournalFormat
  ) throws(JournalError) {
    let newest = try newestRevision()
    if head.revision == format.head.revision { return }
    if newest >= head.revision, try digest(of: head.revision) == head.digest { return }
    // The partition point: the first revision at which the two logs differ.
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
