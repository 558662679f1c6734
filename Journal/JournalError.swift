public import Foundation

/// An error of a journal: what went wrong, where, and what to do about it.
///
/// After an error of `commit` other than ``Code/outcomeUnknown``, nothing of that commit was written.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add kinds: switch with a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `rejected`.
    public let rawValue: String
    /// Makes a code from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A rule of the model forbids the change. Nothing was written.
    public static let rejected = Code(rawValue: "rejected")
    /// An expectation of the commit no longer holds, because another commit came first. Nothing was written.
    public static let conflict = Code(rawValue: "conflict")
    /// Writing or flushing failed, and the entry is either wholly stored or wholly absent. Close the journal and open
    /// it again: the entry is stored if the journal has the error's ``JournalError/revision``. In a shared journal,
    /// call ``Journal/catchUp()`` once the server can be reached, and look whether another node made that entry.
    public static let outcomeUnknown = Code(rawValue: "outcomeUnknown")
    /// An earlier write failed. The journal takes no more commits until it is closed and opened again.
    public static let poisoned = Code(rawValue: "poisoned")
    /// The journal has been closed.
    public static let closed = Code(rawValue: "closed")
    /// The journal was opened for reading only.
    public static let readOnly = Code(rawValue: "readOnly")
    /// Another process, or another part of this one, has the journal open for writing.
    public static let locked = Code(rawValue: "locked")
    /// The named journal, entry or entity does not exist.
    public static let notFound = Code(rawValue: "notFound")
    /// The requested history was pruned before, or was erased or pruned after this reader opened the journal.
    public static let pruned = Code(rawValue: "pruned")
    /// A file or folder already exists where one is to be created.
    public static let alreadyExists = Code(rawValue: "alreadyExists")
    /// The folder is not a journal, or has foreign files in it.
    public static let notAJournal = Code(rawValue: "notAJournal")
    /// A newer version of this library, or of the app's model, wrote the journal.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// An older version of this library wrote the journal, in a format that is no longer supported.
    public static let olderFormat = Code(rawValue: "olderFormat")
    /// The journal holds the events of another model.
    public static let otherModel = Code(rawValue: "otherModel")
    /// Bytes are missing or altered.
    public static let damaged = Code(rawValue: "damaged")
    /// The operating system denies access.
    public static let permission = Code(rawValue: "permission")
    /// The operating system reports an I/O error.
    public static let io = Code(rawValue: "io")
    /// The system lacks descriptors, threads or memory. Nothing was written, and the same call may succeed later.
    public static let outOfResources = Code(rawValue: "outOfResources")
    /// The server that holds the log of a shared journal can't be reached. Nothing was written. Reading still works.
    /// Repeat the call when the server is back.
    public static let unreachable = Code(rawValue: "unreachable")
    /// The server that holds the log of a shared journal has another history than this journal: they have different
    /// entries of one revision. Nothing was written.
    public static let diverged = Code(rawValue: "diverged")
    /// The settings of a shared journal's server could lose acknowledged commits.
    public static let unsafeSettings = Code(rawValue: "unsafeSettings")
    /// A value exceeds a limit of the journal.
    public static let tooLarge = Code(rawValue: "tooLarge")
    /// The call is not allowed here, such as a commit inside the body of a commit.
    public static let wrongUse = Code(rawValue: "wrongUse")
    /// A text is not a selector of a point in time.
    public static let invalidSelector = Code(rawValue: "invalidSelector")
  }

  /// The kind of the error.
  public let code: Code
  /// A sentence for a person.
  public let message: String
  /// The revision that is missing, altered or concerned; after `outcomeUnknown`, the revision of the commit's entry.
  /// Nil if the error concerns no single revision.
  public let revision: Revision?
  /// The file or folder concerned; nil if there is none.
  public let path: String?
  /// The offset of the byte concerned, in the entry of ``revision`` or in the file at ``path``; nil if unknown.
  public let offset: Int?
  /// The underlying error; nil if there is none.
  public let cause: (any Error)?

  /// Makes an error. A model throws `rejected` for changes that its rules forbid.
  public init(
    _ code: Code, _ message: String, revision: Revision? = nil, path: String? = nil, offset: Int? = nil,
    cause: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.revision = revision
    self.path = path
    self.offset = offset
    self.cause = cause
  }

  /// The message; in parentheses, revision, path and byte; and the underlying error. Nothing is named twice.
  public var description: String {
    if let cause = cause as? JournalError, message.contains(cause.message) {
      return JournalError(
        code, message, revision: revision ?? cause.revision, path: path ?? cause.path,
        offset: offset ?? cause.offset, cause: cause.cause
      ).description
    }
    let reason = cause.map { "\($0)" }.flatMap { message.contains($0) ? nil : ": \($0)" } ?? ""
    var places: [String] = []
    if let revision, (cause as? JournalError)?.revision != revision {
      places.append("in revision \(revision)")
    }
    if let path, !message.contains(path), !reason.contains(path) { places.append(path) }
    if let offset { places.append("byte \(offset)") }
    return message + (places.isEmpty ? "" : " (\(places.joined(separator: ", ")))") + reason
  }
}

extension JournalError {
  package static func closed(path: String? = nil) -> JournalError {
    JournalError(.closed, "the journal has been closed", path: path)
  }

  package static func logIsReadOnly(path: String? = nil) -> JournalError {
    JournalError(.readOnly, "the log was not opened for writing", path: path)
  }

  static func missingEntries(_ revisions: ClosedRange<Revision>) -> JournalError {
    JournalError(
      .damaged,
      "entries \(revisions.lowerBound) to \(revisions.upperBound) were acknowledged and are missing from the log; "
        + "restore the journal from a backup; if this is a copy that was made while the journal was open, make another "
        + "with `journal backup`", revision: revisions.lowerBound)
  }
}

extension JournalError: LocalizedError {
  /// The ``description``, for an alert.
  public var errorDescription: String? { description }
}
