import Files
package import LevelDB

/// Stores logs in LevelDB, each in the folder of its journal.
package struct LevelDBStorage: LogStorage {
  package var options: Database.Options

  package init(options: Database.Options = Database.Options()) { self.options = options }

  package var isTransient: Bool { false }

  package func create(in place: LogPlace) throws(JournalError) { try LevelDBLog.create(in: place) }

  package func isFile(_ name: String) -> Bool { Database.isFileName(name) }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    let root = place.folder.root
    for name in ["HEAD", "entries"] where try root.status(of: name) == nil {
      throw JournalError(.damaged, "\(name) is missing; restore it from a backup", path: root.path(of: name))
    }
    switch access {
    case .write: return try LevelDBLog.open(in: place, .prepared, options: options)
    case .read, .follow: return try LevelDBReader(access, in: place, options: options)
    }
  }

  package func mark(in folder: JournalFolder, of journal: JournalID) throws(JournalError) -> LogMark? {
    try HeadFile.read(folder, id: journal)
  }
}

extension JournalOptions {
  /// The default storage of logs.
  static var usualStorage: any LogStorage { LevelDBStorage() }

  /// The options of LevelDB; tests make its buffer small, so that it changes files often.
  package var database: Database.Options {
    get { (logStorage as? LevelDBStorage)?.options ?? Database.Options() }
    set { logStorage = LevelDBStorage(options: newValue) }
  }
}
