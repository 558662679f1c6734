import Files

/// The files of LevelDB in the folder of a journal.
enum LevelDBFiles {
  /// Fails if a required file is missing.
  static func check(_ place: LogPlace) throws(JournalError) {
    let root = place.folder.root
    for name in ["HEAD", "entries"] where try root.status(of: name) == nil {
      throw JournalError(.damaged, "\(name) is missing; restore it from a backup", path: root.path(of: name))
    }
  }

  /// Separates the files that LevelDB opens for writing from those of a backup of hard links. Only the lock file is
  /// one, and LevelDB creates it again if it is missing. LevelDB replaces all others.
  static func partFromBackups(_ entries: Folder) throws(JournalError) {
    if let lock = try entries.status(of: "LOCK"), lock.linkCount > 1 { try entries.removeFile("LOCK") }
  }

  /// How many bytes all files have.
  static func byteCount(_ place: LogPlace) throws(JournalError) -> Int {
    let folder = try place.entries()
    var byteCounts: [Int] = []
    for name in try folder.names() {
      // LevelDB may remove a file in between.
      if let status = try folder.status(of: name), status.kind == .file {
        byteCounts.append(status.byteCount)
      }
    }
    return byteCounts.sum(of: \.self)
  }
}
