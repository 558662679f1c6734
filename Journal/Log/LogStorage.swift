package import Files

/// A storage of logs: creates the log of a new journal, and opens it again.
///
/// **Local and shared data.** The engine has a folder for each journal, and holds its lock while the journal is open
/// for writing. FORMAT, the images, the layers and the snapshots are in it; they belong to this machine. The log is the
/// journal itself. It is stored in that folder, in memory, or anywhere else. A log that several nodes share is also on
/// a server (``MultiWriterLog``).
///
/// ``JournalOptions/logStorage`` says which storage a journal has. The journal's folder does not record it, so a
/// journal must always be opened with the same storage. Backups and other copies are always in LevelDB.
///
/// A log has its own lock, in addition to the engine's: ``open(_:in:)`` refuses a second opening for writing, even by
/// the same process, with `locked`.
package protocol LogStorage: Sendable {
  /// Whether the logs end with this process. The folder of such a journal is then useless, so closing removes it.
  var isTransient: Bool { get }

  /// Durably creates the empty log of a new journal, or of one that replaces another. For a replacement,
  /// ``LogPlace/head`` may have a revision above 0, and the folder `entries` the file BASE. If the log has a mark, it
  /// is that of ``LogPlace/head``. The engine calls this before any other process can see the journal's folder, whose
  /// name may change afterwards.
  /// - Throws: ``JournalError``; leftovers may stay, because the engine removes the folder.
  func create(in place: LogPlace) throws(JournalError)

  /// Whether a log can have a file of that name in the folder `entries`. Files of other names are ignored.
  func isFile(_ name: String) -> Bool

  /// Opens the log of a journal without changing anything.
  ///
  /// A torn tail that was never acknowledged is ignored and reported (``EntryLog/hasTornTail``). All other damage that
  /// is found is an error. Opening need not read the bytes of older entries; reading them later detects alterations.
  /// - Throws: ``JournalError``: `damaged` if something is missing or altered, with the first such revision if known;
  ///   `damaged` also if there is no log, or if it belongs to another journal; `locked`; `wrongUse`.
  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog

  /// The mark of the newest acknowledged entry of a log that is not open, as in ``EntryLog/acknowledged()``.
  /// - Throws: ``JournalError`` if the mark can't be read, or is another journal's.
  func mark(in folder: JournalFolder, of journal: JournalID) throws(JournalError) -> LogMark?
}

extension LogStorage {
  package func isFile(_ name: String) -> Bool { true }

  package func mark(in folder: JournalFolder, of journal: JournalID) throws(JournalError) -> LogMark? { nil }
}

/// What a log is opened for.
package enum LogAccess: Sendable {
  /// Read and, after ``EntryLog/beginWriting()``, append.
  case write
  /// Read the entries that are there at the opening, and no later ones, whether or not another process appends.
  case read
  /// Read while another process may append, and learn of new entries.
  case follow
}

/// The place of a journal's log, and the options of the journal.
package struct LogPlace: Sendable {
  package let folder: JournalFolder
  package let format: JournalFormat
  package let options: JournalOptions

  package init(_ folder: JournalFolder, _ format: JournalFormat, options: JournalOptions) {
    self.folder = folder
    self.format = format
    self.options = options
  }

  /// The journal of the log. A log records this id when it is created, and refuses other journals.
  package var journal: JournalID { format.id }

  /// The head that the first entry follows: revision 0 or, if history was pruned, the newest pruned entry.
  package var head: Head { format.head }

  /// The revision of the first entry: 1 unless history was pruned.
  package var firstRevision: Revision { head.revision + 1 }

  /// The path of the folder `entries` at the time of the opening; for messages. A log that opens files by this path
  /// fails once the journal's folder is moved; ``entries()`` does not.
  package var path: String { folder.entries }

  /// The folder `entries` in the journal's folder, which belongs to the log and is empty in a new journal. The engine
  /// reads only the file BASE in it, if history was pruned. An erasure or a pruning exchanges the whole folder; an open
  /// log keeps the old one. Open files through the returned `Folder`: that works even after the journal's folder is
  /// moved. `Folder` and `File` (`Sources/Files/`) open, write, flush, lock and list by single names; nothing is
  /// durable without an explicit `flush`. Their errors are `notFound` for a missing file and `notAJournal` for a link
  /// or a folder in its place; a log throws `damaged` instead. A copy of the closed journal may have hard links to the
  /// files. So an opening for writing replaces a file that has more than one link (`FileStatus.linkCount`), and does
  /// not change or extend it. Tests see each change and can make it fail (``JournalOptions/fileHook``).
  package func entries() throws(JournalError) -> Files.Folder<JournalError> {
    try folder.openEntries()
  }
}
