/// Finds the place that an address names: what an app gives to use shared journals (``JournalOptions/sharing``).
package protocol LogSharing: Sendable {
  /// - Throws: ``JournalError`` with code `wrongUse` for what is no address.
  func storage(at address: String) throws(JournalError) -> any SharedLogStorage
}

/// A place, such as a database, that keeps logs to which several nodes append.
package protocol SharedLogStorage: Sendable {
  /// Its address, without anything secret: it is kept in the journal's folder.
  var address: String { get }

  /// How many bytes the entries of one append may have together.
  var appendByteCount: Int { get }

  /// The journals whose logs are there.
  /// - Throws: ``JournalError`` with code `unreachable` while that can't be found out.
  func journals() throws(JournalError) -> [JournalID]

  /// Makes an empty log. One that is there already stays as it is.
  /// - Parameter format: what its journal's FORMAT has.
  func begin(_ journal: JournalID, format: [UInt8]) throws(JournalError)

  /// What the journal's FORMAT has.
  /// - Throws: ``JournalError``: `notFound`, `unreachable`.
  func format(of journal: JournalID) throws(JournalError) -> [UInt8]

  /// Opens a log, to read and to append.
  /// - Throws: ``JournalError``: `unreachable`, `unsafeSettings`, or `notFound` when there is no log of that journal.
  func connect(to journal: JournalID) throws(JournalError) -> any SharedLog
}

/// An open log to which other nodes append too. It is of no more use once a call of it has thrown `unreachable`, or an
/// append `unknown`; then it is closed, and opened again.
package protocol SharedLog: EntryLog {
  /// The digest that was stored with an entry; nil when there is no such entry.
  func digest(of revision: Revision) throws(JournalError) -> ContentDigest?

  /// Waits for the turn to append, and keeps it from all others until the next append returns, ``release()`` is called,
  /// or some seconds have passed.
  /// - Returns: the newest revision.
  func reserve() throws(JournalError) -> Revision

  /// Gives the turn away, if it was reserved.
  func release()

  /// Returns when all that can be read is as safe as what an append has confirmed.
  func confirm() throws(JournalError)

  /// Whether the bytes of an image are there.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool

  /// Stores the bytes of an image, unless they are there.
  /// - Parameter piece: gives the next bytes; none at the end.
  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError)

  /// Gives the bytes of an image to `body`, in pieces and in order. They are not checked.
  /// - Returns: false when they are not there.
  func readImage(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool

  /// How the place keeps what it confirms, in a line for people.
  func summary() throws(JournalError) -> String
}

extension SharedLog {
  /// The same for a role that may only read, which can't ask for it.
  func confirmIfPermitted() throws(JournalError) {
    do throws(JournalError) { try confirm() } catch {
      guard error.code == .permission else { throw error }
    }
  }
}

extension JournalError {
  /// What is wrong when a node and the shared log do not have the same history.
  static func diverged(_ message: String, at revision: Revision) -> JournalError {
    JournalError(.diverged, message, revision: revision)
  }
}
