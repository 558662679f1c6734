package import Files

/// A place and a way to keep logs: makes the log of a new journal, and opens it again.
///
/// **What is local and what is shared.** The engine keeps a folder for each journal, and holds its lock while the
/// journal is open for writing: in it are FORMAT, the images and the snapshots. They are facts of this machine. The log
/// is what the journal is; it is kept in that folder, in memory, or anywhere else, and several machines can share it if
/// it refuses an append that does not follow (``AppendFailure/conflict(newest:)``).
package protocol LogStorage: Sendable {
  /// Whether several may have one log open for writing at a time, so that conflicts are to be expected. When it is
  /// false, a second opening for writing is refused with `locked`.
  var isShared: Bool { get }

  /// Whether its logs end with this process at the latest. What the engine keeps in the folder of such a journal is
  /// useless afterwards, so closing the journal removes the folder.
  var isTransient: Bool { get }

  /// Whether a log can be opened with access `follow`; else that is refused with `wrongUse`.
  var allowsFollowing: Bool { get }

  /// Makes the empty log of a new journal, durable when this returns. The engine calls it before any other process
  /// can see the journal's folder.
  /// - Throws: ``JournalError``; what was made by then may stay, as the engine removes the folder.
  func create(in place: LogPlace) throws(JournalError)

  /// Opens the log of a journal, and changes nothing of what is kept.
  ///
  /// The end of a write that was cut off is left out if it was never acknowledged; the log says so
  /// (``EntryLog/hasTornTail``). All other damage that is found is an error. Bytes in the midst of the log need not be
  /// read: reading finds what is altered in them.
  /// - Throws: ``JournalError``: `damaged` if something is missing or altered, with its first revision where that is
  ///   known, and when there is no log, or that of another journal; `locked`; `wrongUse`.
  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog

  /// Looks at what is left of a log of which anything may be damaged or missing, and changes nothing.
  /// - Throws: ``JournalError`` for what says nothing of the log, such as `outOfResources` and `permission`, and
  ///   `wrongUse` if a log that is damaged leaves nothing to look at. Damage is no error: ``LogRemains/problems``.
  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains
}

extension LogStorage {
  package func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    throw JournalError(.wrongUse, "nothing can be salvaged of this kind of log", path: folder.path)
  }
}

/// What can be read of a damaged log, each entry by itself. Nothing of it is proven: the engine believes what follows by
/// its digest from the entry before it.
package protocol LogRemains: Sendable {
  /// Whose log it says it is; nil if that can't be read.
  var journal: JournalID? { get }

  /// What is wrong with it, as far as that shows before an entry is looked at.
  var problems: [JournalError] { get }

  /// The mark of the newest acknowledged entry, as in ``EntryLog/acknowledged()``.
  /// - Throws: ``JournalError`` if it can't be read, or is another journal's.
  func acknowledged(by journal: JournalID) throws(JournalError) -> LogMark?

  /// All that could be the bytes of an entry, in no order: more than one when a crash has left what was written again
  /// elsewhere, and none when it is missing or known to be altered.
  /// - Throws: ``JournalError`` if that can't be found out at the moment.
  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]]

  /// The highest revision of which there is anything; 0 when there is none.
  /// - Throws: ``JournalError`` if that can't be found out at the moment.
  func lastRevision() throws(JournalError) -> Revision
}

/// What a log is opened for.
package enum LogAccess: Sendable {
  /// To read and, after ``EntryLog/beginWriting()``, to append.
  case write
  /// To read what is there now, whether somebody else appends meanwhile or not.
  case read
  /// To read while somebody else may append, and to learn of new entries.
  case follow
}

/// Where a journal is, and how it is kept open.
package struct LogPlace: Sendable {
  let folder: JournalFolder
  let format: JournalFormat
  /// What the journal was opened with.
  package let options: JournalOptions

  init(_ folder: JournalFolder, _ format: JournalFormat, options: JournalOptions) {
    self.folder = folder
    self.format = format
    self.options = options
  }

  /// The journal whose log it is. A log notes it when it is made, and refuses to be another's.
  package var journal: JournalID { format.id }

  /// What the file FORMAT has, from whose digest the first entry follows.
  package var formatBytes: [UInt8] { format.bytes }

  /// The revision of the first entry: 1 unless history was pruned.
  package var firstRevision: Revision { format.head.revision + 1 }

  /// Where the folder `entries` of the journal was when the journal was opened; for messages.
  package var path: String { folder.entries }

  /// The folder `entries` in the journal's folder, which is the log's alone: empty when the journal is made, and never
  /// looked into by the engine. What is in it is reached through its descriptor, also when the journal's folder is moved.
  /// `Folder` and `File` (`Sources/Files/`) open, write whole, flush, lock and list by single names; nothing of theirs is
  /// durable without a `flush` that is written there. Tests see each change and can make it fail
  /// (``JournalOptions/fileHook``).
  package func entries() throws(JournalError) -> Files.Folder<JournalError> {
    try folder.openEntries()
  }
}
