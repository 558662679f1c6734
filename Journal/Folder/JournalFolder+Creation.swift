package import Files
package import Foundation
import Locks

extension JournalFolder {
  /// Makes the folder of a new journal, or of a copy.
  ///
  /// The folder is built under another name and renamed when it is complete, so a crash never leaves a partial journal.
  /// - Parameters:
  ///   - format: the FORMAT of the new journal, or of the one that is copied.
  ///   - base: writes the base of the history into the folder of the log; if nil, the base of `format` is copied.
  ///   - fill: writes entries into the empty log, and images, before the journal gets its name.
  /// - Throws: ``JournalError`` with code `alreadyExists` if something is at the URL; or what `fill` throws.
  package static func create(
    at url: URL, format: JournalFormat, options: JournalOptions,
    base: ((_ entries: Files.Folder<JournalError>) throws -> HistoryBase?)? = nil,
    fill: (LogPlace) throws -> Void
  ) throws {
    let path = try path(of: url)
    let name = URL(fileURLWithPath: path).lastPathComponent
    let parent = try parent(ofPath: path, hook: options.fileHook)
    try checkIsFree(name, in: parent, path: path)
    removeLeftovers(in: parent) { TemporaryName.isOne($0, for: name) }

    let building = try building(name, in: parent, path: path)
    // Keeps the lock until the creation has ended.
    defer { withExtendedLifetime(building) {} }
    do {
      let folder = building.folder
      for name in ["entries", "images", "snapshots"] { try folder.root.makeFolder(name) }
      var format = format
      let entries = try folder.root.folder("entries")
      format.base = try base.map { try $0(entries) } ?? format.base?.copy(to: entries, format)
      let place = LogPlace(folder, format, options: options)
      try options.logStorage.create(in: place)
      try fill(place)
      try folder.root.write("FORMAT", place.format.bytes)
      try folder.root.flush()
      do throws(JournalError) {
        try parent.rename(building.name, to: name)
      } catch {
        // Another process has made something there in the meantime.
        throw error.code == .alreadyExists ? alreadyExists(path) : error
      }
      try parent.flush()
    } catch {
      building.remove()
      throw error
    }
  }

  private static func building(
    _ name: String, in parent: Folder, path: String
  ) throws(JournalError) -> BuildingSite {
    do throws(JournalError) {
      return try BuildingSite(name, in: parent)
    } catch {
      guard error.code == .permission else { throw error }
      // The error names a temporary folder, but the caller knows only the final name.
      throw JournalError(.permission, error.message, path: path)
    }
  }

  /// Opens the folder in which something new is to be made.
  /// - Throws: ``JournalError``: `notFound` if there is no such folder; `wrongUse` if it is in a journal, where
  ///   nothing else belongs.
  package static func parent(
    ofPath path: String, hook: FileHook?
  ) throws(JournalError) -> Files.Folder<JournalError> {
    guard path != "/" else { throw alreadyExists(path) }
    let url = URL(fileURLWithPath: path)
    let folder: Folder
    do throws(JournalError) {
      folder = try Folder(url.deletingLastPathComponent().path, followsLinks: true, hook: hook)
    } catch {
      guard error.code == .notFound else { throw error }
      throw JournalError(
        .notFound, "the folder for \"\(url.lastPathComponent)\" does not exist; create it first",
        path: url.deletingLastPathComponent().path)
    }
    if let outer = enclosingJournal(ofPath: folder.currentPath() ?? folder.path) {
      throw JournalError(
        .wrongUse, "\"\(url.lastPathComponent)\" would be inside the journal \(outer); choose another place",
        path: path)
    }
    return folder
  }

  /// The path of the journal that a folder is, or is inside of; nil if there is no such journal.
  /// - Parameter path: the path of the folder, without symbolic links.
  package static func enclosingJournal(ofPath path: String) -> String? {
    var url = URL(fileURLWithPath: path).absoluteURL.standardizedFileURL
    while url.path != "/" {
      // A folder that can't be read is no journal of this user.
      let format = try? Folder(url.path, followsLinks: true, hook: nil).file("FORMAT", .reading)
        .contents(limit: JournalFormat.byteLimit)
      if let format, format.starts(with: "journal ".utf8) { return url.path }
      url.deleteLastPathComponent()
    }
    return nil
  }

  static func checkIsFree(_ name: String, in parent: Folder, path: String) throws(JournalError) {
    guard let status = try parent.status(of: name) else { return }
    guard status.kind == .folder, try parent.folder(name).names().isEmpty else { throw alreadyExists(path) }
  }

  private static func alreadyExists(_ path: String) -> JournalError {
    JournalError(.alreadyExists, "something is already there; choose another name", path: path)
  }

  /// Removes leftovers of processes that have ended: folders with the names of leftovers whose lock is free. Folders
  /// with unknown contents, or that can't be read, stay.
  package static func removeLeftovers(
    in parent: Files.Folder<JournalError>, where isLeftover: (String) -> Bool
  ) {
    for found in (try? parent.names()) ?? [] where isLeftover(found) {
      guard let folder = try? parent.folder(found), (try? folder.status().owner) == geteuid(),
        (try? folder.lock(exclusive: true)) == true,
        let names = try? folder.names(),
        names.allSatisfy({ name in
          Part.root.kind(of: name, JournalOptions.usualStorage).map {
            (try? folder.status(of: name))?.kind == $0
          } ?? false
        })
      else { continue }
      try? parent.removeFolder(found)
    }
  }
}

/// The folder in which a journal is being built, locked as long as this object exists. If the lock is free, the process
/// that built the folder has ended.
private final class BuildingSite {
  let name: String
  let folder: JournalFolder
  private let parent: Folder
  /// Three descriptors, which are closed when the folder is to be removed, because the removal needs them. Without them,
  /// a creation that failed for lack of descriptors would leave its folder.
  private var reserve: [Folder]

  init(_ journal: String, in parent: Folder) throws(JournalError) {
    self.parent = parent
    reserve = try (0..<3).map { _ throws(JournalError) in try parent.reopened() }
    // Before the new folder is locked, another process may take it for a leftover and remove it.
    for _ in 0..<16 {
      let name = TemporaryName.make(for: journal)
      try parent.makeFolder(name)
      do throws(JournalError) {
        let root = try parent.folder(name)
        if try root.lock(exclusive: true), try parent.status(of: name) != nil {
          (self.name, folder) = (name, try JournalFolder(root: root))
          return
        }
      } catch {
        guard error.code == .notFound else {
          reserve = []
          try? parent.removeFolder(name)
          throw error
        }
      }
    }
    throw JournalError(
      .io, "another process keeps removing the folder of the new journal while it is being created",
      path: parent.path(of: journal))
  }

  deinit { folder.root.unlock() }

  /// Removes the unfinished folder, to which nothing refers. An error of the removal is ignored, because the error that
  /// ended the creation is the one to report.
  func remove() {
    reserve = []
    try? parent.removeFolder(name)
  }
}

/// The name of a journal, or of a backup in one file, while it is built: its final name, a random id and a suffix.
package enum TemporaryName {
  package static func make(for name: String) -> String { "\(name).\(JournalID())\(Folder.temporarySuffix)" }

  package static func isOne(_ found: String, for name: String) -> Bool {
    guard found.hasPrefix(name + "."), found.hasSuffix(Folder.temporarySuffix) else { return false }
    return JournalID(found.dropFirst(name.count + 1).dropLast(Folder.temporarySuffix.count)) != nil
  }
}
