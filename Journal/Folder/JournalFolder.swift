package import Files
import Foundation

/// The folder of a journal, open: what is in it, and what must not be.
///
/// ```
/// Name.journal/
///   FORMAT      the format's version, the journal's id, and its model
///   HEAD        which entry was acknowledged
///   RECEIPT     in a backup: what its journal had acknowledged
///   ERASING     while an erasure is not finished
///   SHARED      in a journal of several nodes: where the log is that they share
///   entries/    the log, and in a pruned journal BASE, what history begins with
///   images/     blobs by SHA-256
///   snapshots/  keyed archives, and what is known of each
/// ```
///
/// All of it is reached through the folder's descriptor, so that it stays the same journal when the folder is moved
/// and another one takes its place. Paths are for messages.
package struct JournalFolder: Sendable {
  let root: Folder

  var path: String { root.path }
  var hook: FileHook? { root.hook }
  var format: String { path + "/FORMAT" }
  var entries: String { path + "/entries" }
  /// Where a pruned journal has what its history begins with.
  var base: String { path + "/entries/" + HistoryBase.fileName }
  var images: String { path + "/images" }
  var snapshots: String { path + "/snapshots" }

  /// The path of the file of a snapshot or layer.
  func path(of layer: LayerName) -> String { "\(snapshots)/\(layer.fileName)" }

  /// Opens the folder and looks at nothing in it yet.
  /// - Throws: ``JournalError``: `notFound`, or `notAJournal` when it can't be the folder of one.
  init(_ url: URL, hook: FileHook?, readHook: ReadHook? = nil) throws(JournalError) {
    let path = try Self.path(of: url)
    guard let status = try Folder.status(ofPath: path) else {
      throw JournalError(.notFound, "there is no journal; make one first", path: path)
    }
    guard status.kind == .folder else {
      throw JournalError(
        .notAJournal,
        status.kind == .link
          ? "the journal is behind a symbolic link; name the folder itself"
          : "this is a file, and a journal is a folder", path: path)
    }
    self.init(root: try Folder(path, followsLinks: false, hook: hook, readHook: readHook))
  }

  init(root: Folder) { self.root = root }

  /// The path that errors about a journal at a URL name.
  /// - Throws: ``JournalError`` with code `wrongUse` for the URL of something on the network.
  static func path(of url: URL) throws(JournalError) -> String {
    guard url.isFileURL else {
      throw JournalError(
        .wrongUse,
        "a journal is in a folder, which \"\(url.absoluteString)\" does not name; use URL(filePath:)")
    }
    var path = url.standardizedFileURL.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  // MARK: What is in it

  /// The folder of the log, which alone looks into it.
  package func openEntries() throws(JournalError) -> Files.Folder<JournalError> { try root.folder("entries") }

  /// The folder of blobs; nil when a copy of the journal left it out because it was empty.
  func openImages() throws(JournalError) -> Folder? { try openFolder("images") }

  /// The folder of snapshots; nil when it is missing.
  func openSnapshots() throws(JournalError) -> Folder? { try openFolder("snapshots") }

  /// The folder of snapshots, made when it is missing.
  func makeSnapshots() throws(JournalError) -> Folder { try makeFolder("snapshots") }

  /// Makes the folder ready to be written to: folders that a copy left out because they were empty are made again.
  /// Called with the lock held.
  func prepareForWriting() throws(JournalError) {
    for name in ["images", "snapshots"] { _ = try makeFolder(name) }
  }

  /// Removes all that is in it, and the folder.
  func remove() throws(JournalError) {
    let url = URL(fileURLWithPath: root.currentPath() ?? path)
    let parent = try Folder(url.deletingLastPathComponent().path, followsLinks: true, hook: hook)
    try parent.removeFolder(url.lastPathComponent)
  }

  private func openFolder(_ name: String) throws(JournalError) -> Folder? {
    try root.status(of: name) == nil ? nil : root.folder(name)
  }

  private func makeFolder(_ name: String) throws(JournalError) -> Folder {
    if try root.status(of: name) == nil {
      try root.makeFolder(name)
      try root.flush()
    }
    return try root.folder(name)
  }

  // MARK: Checking

  /// Fails when this is no journal's folder, or not one that can be trusted: not this user's, with links or
  /// with files that no journal has. What file managers leave in folders is passed over. The log looks after its own.
  func check() throws(JournalError) {
    let owner = try root.status().owner
    guard owner == geteuid() else {
      throw JournalError(
        .permission, "the folder belongs to another user (id \(owner)); open it as that user", path: path)
    }
    guard try root.status(of: "FORMAT") != nil else {
      throw JournalError(.notAJournal, "there is no FORMAT file, so this is no journal", path: path)
    }
    try Self.checkNames(in: root) { name, kind in Self.isKnown(name, kind) }
    if let snapshots = try openSnapshots() {
      try Self.checkNames(in: snapshots) { name, kind in
        let finished = Self.finishedName(name)
        return kind == .file && (LayerName(fileName: finished) ?? LayerName(recordName: finished)) != nil
      }
    }
    if let images = try openImages() { try BlobNames.check(images) }
  }

  /// Whether a journal can have something of that name.
  static func isKnown(_ name: String, _ kind: FileStatus.Kind) -> Bool {
    switch finishedName(name) {
    case "FORMAT", "HEAD", JournalReceipt.fileName, LogReplacement.fileName, sharedName: kind == .file
    case "entries", "images", "snapshots": kind == .folder
    default: false
    }
  }

  private static func finishedName(_ name: String) -> String {
    let suffix = Folder.temporarySuffix
    return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
  }

  static func checkNames(
    in folder: Folder, _ isKnown: (String, FileStatus.Kind) -> Bool
  ) throws(JournalError) {
    for name in try folder.names() where !System.isLitter(name) {
      guard let kind = try folder.status(of: name)?.kind else { continue }
      guard isKnown(name, kind) else { throw foreign(folder.path(of: name), kind) }
    }
  }

  /// Says that something does not belong into a journal.
  static func foreign(_ path: String, _ kind: FileStatus.Kind) -> JournalError {
    JournalError(
      .notAJournal,
      kind == .link
        ? "a journal has no symbolic links; writing through one would destroy its target"
        : "a journal has nothing of that name and kind; move it elsewhere", path: path)
  }

  /// Why the format of the folder can't be read, when it is an older or a newer one.
  func otherFormat() -> JournalError? {
    do throws(JournalError) {
      _ = try readFormatFile()
      return nil
    } catch {
      return error.code == .olderFormat || error.code == .newerFormat ? error : nil
    }
  }

  /// What FORMAT says, and what history begins with.
  func readFormat() throws(JournalError) -> JournalFormat {
    let format = try readFormatFile()
    return format.with(try readBase(format))
  }

  /// What history begins with; nil when it was not pruned.
  func readBase(_ format: JournalFormat) throws(JournalError) -> HistoryBase? {
    guard let entries = try openFolder("entries") else { return nil }
    return try HistoryBase.open(in: entries, format)
  }

  /// What FORMAT says.
  func readFormatFile() throws(JournalError) -> JournalFormat {
    try JournalFormat(
      try root.file("FORMAT", .reading).contents(limit: JournalFormat.byteLimit), path: format)
  }
}
