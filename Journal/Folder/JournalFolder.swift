package import Files
package import Foundation

/// The open folder of a journal: what it contains, and what it must not contain. Documentation/Format.md, "The folder",
/// lists its files.
///
/// Everything is opened relative to the folder's descriptor, so this stays the same journal even if the folder is moved
/// and replaced by another one. Paths are used only in messages.
package struct JournalFolder: Sendable {
  package let root: Files.Folder<JournalError>
  /// The folder of the log at the opening; nil if there was none. Held open, so that no other folder gets its identity.
  private let entriesAtOpening: Folder?

  package var path: String { root.path }
  package var format: String { path + "/FORMAT" }
  package var entries: String { path + "/entries" }
  package var base: String { path + "/entries/" + HistoryBase.fileName }
  package var images: String { path + "/images" }
  package var snapshots: String { path + "/snapshots" }

  package func path(of layer: LayerName) -> String { "\(snapshots)/\(layer.fileName)" }

  /// Opens the folder without reading it.
  /// - Throws: ``JournalError``: `notFound` if nothing is at the URL; `notAJournal` if it can't be a journal's folder.
  package init(_ url: URL, hook: FileHook?, readHook: ReadHook? = nil) throws(JournalError) {
    let path = try Self.path(of: url)
    guard let status = try Folder.status(ofPath: path) else {
      throw JournalError(.notFound, "there is no journal at \(path)", path: path)
    }
    guard status.kind == .folder else {
      throw JournalError(
        .notAJournal,
        status.kind == .link
          ? "the journal is behind a symbolic link; name the folder itself"
          : "this is a file, and a journal is a folder; if it is a backup in one file, make a journal from it with "
            + "init --from-backup", path: path)
    }
    try self.init(root: Folder(path, followsLinks: false, hook: hook, readHook: readHook))
  }

  /// - Throws: ``JournalError`` with code `outOfResources`. The log reports any other problem of its folder.
  init(root: Folder) throws(JournalError) {
    self.root = root
    do throws(JournalError) {
      entriesAtOpening = try root.folder("entries")
    } catch {
      // Without this folder, an erasure would not be noticed.
      if error.code == .outOfResources { throw error }
      entriesAtOpening = nil
    }
  }

  /// The path by which errors refer to the journal at a URL.
  /// - Throws: ``JournalError`` with code `wrongUse` unless it is a file URL.
  package static func path(of url: URL) throws(JournalError) -> String {
    guard url.isFileURL else {
      throw JournalError(
        .wrongUse,
        "\"\(url.absoluteString)\" does not name a folder on this machine; use URL(filePath:)")
    }
    return url.physicalPath
  }

  // MARK: Contents

  /// The folder of the log. Only the log reads it.
  package func openEntries() throws(JournalError) -> Files.Folder<JournalError> { try root.folder("entries") }

  package func byteCountOfEntries() throws(JournalError) -> Int {
    let entries = try openEntries()
    var byteCounts: [Int] = []
    // The log may remove a file in between.
    for name in try entries.names() {
      if let status = try entries.status(of: name), status.kind == .file {
        byteCounts.append(status.byteCount)
      }
    }
    return byteCounts.sum(of: \.self)
  }

  /// The folder of blobs; nil if a copy of the journal omitted it because it was empty.
  package func openImages() throws(JournalError) -> Files.Folder<JournalError>? { try openFolder("images") }

  /// The folder of layers and snapshots; nil if it is missing.
  package func openSnapshots() throws(JournalError) -> Files.Folder<JournalError>? {
    try openFolder("snapshots")
  }

  /// The folder of layers and snapshots, created if it is missing.
  func makeSnapshots() throws(JournalError) -> Folder { try makeFolder("snapshots") }

  /// Prepares the folder for writing: recreates folders that a copy omitted because they were empty. Called with the
  /// lock held.
  package func prepareForWriting() throws(JournalError) {
    for name in ["images", "snapshots"] { _ = try makeFolder(name) }
    // An earlier opening may have been killed after it had made a folder and before it could flush the name.
    try root.flush()
  }

  /// A folder in the journal's folder; nil if it is missing.
  func openFolder(_ name: String) throws(JournalError) -> Folder? {
    try root.ifPresent(name) { name throws(JournalError) in try root.folder(name) }
  }

  private func makeFolder(_ name: String) throws(JournalError) -> Folder {
    if try root.status(of: name) == nil {
      try root.makeFolder(name)
      try root.flush()
    }
    return try root.folder(name)
  }

  /// When the journal was created or last committed to, by the clock; nil if that is unknown, for example because the
  /// folder was moved. Only a warning depends on this date.
  var lastWrite: Timestamp? {
    [format, path + "/HEAD"].compactMap { path in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      return (attributes?[.modificationDate] as? Date).flatMap { Timestamp($0) }
    }.max()
  }

  // MARK: Replaced logs

  /// Whether another process has erased content or pruned history since the opening: both replace the log.
  var isLogReplaced: Bool {
    guard let opened = try? entriesAtOpening?.status().identity,
      let current = try? root.status(of: "entries")?.identity
    else { return false }
    return opened != current
  }

  /// Fails if the log was replaced. Earlier reads may then lack content, and the entry that says who removed it, while
  /// an open base still has the content.
  /// - Throws: ``JournalError`` with code `pruned`.
  package func checkLogIsCurrent() throws(JournalError) {
    if isLogReplaced { throw logIsReplaced }
  }

  /// The error to report for a reader's error: `pruned` in place of `damaged` if the log was replaced, because the
  /// missing content was then erased or pruned.
  package func explaining(_ error: JournalError) -> JournalError {
    error.code == .damaged && isLogReplaced ? logIsReplaced : error
  }

  var logIsReplaced: JournalError {
    JournalError(
      .pruned,
      "content was erased, or history was pruned, since the journal was opened; open it again, or run the command again",
      path: path)
  }

  // MARK: Checking

  /// Fails if this is not a journal's folder, or an unsafe one: of another user, or with something else in place of a
  /// file. Files of other programs are ignored, and reported to `options`.
  package func check(_ options: JournalOptions) throws(JournalError) {
    let owner = try root.status().owner
    guard owner == geteuid() else {
      throw JournalError(
        .permission, "the folder belongs to another user (id \(owner)); open it as that user", path: path)
    }
    guard try root.status(of: "FORMAT") != nil else {
      throw JournalError(.notAJournal, "there is no FORMAT file, so this is not a journal", path: path)
    }
    try checkNames(options)
  }

  /// The error `olderFormat` or `newerFormat` if the folder has such a format; otherwise nil.
  func otherFormat() -> JournalError? {
    do throws(JournalError) {
      _ = try readFormatFile()
      return nil
    } catch {
      return error.code == .olderFormat || error.code == .newerFormat ? error : nil
    }
  }

  package func readFormat() throws(JournalError) -> JournalFormat {
    let format = try readFormatFile()
    return format.with(try readBase(format))
  }

  /// Reads the base of the history; nil if history was not pruned.
  func readBase(_ format: JournalFormat) throws(JournalError) -> HistoryBase? {
    while let entries = try openFolder("entries") {
      let base = try HistoryBase.open(in: entries, format)
      if base != nil { return base }
      // Another process may be pruning the history: it exchanges the folder and removes the old one with its base.
      if try root.status(of: "entries")?.identity == entries.status().identity { return nil }
    }
    return nil
  }

  package func readFormatFile() throws(JournalError) -> JournalFormat {
    try JournalFormat(
      try root.file("FORMAT", .reading).contents(limit: JournalFormat.byteLimit), path: format)
  }
}
