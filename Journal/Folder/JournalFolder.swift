import Foundation
import LevelDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The folder of a journal: what is in it, and what must not be.
///
/// ```
/// Name.journal/
///   FORMAT      one line: the format's version and the journal's id
///   LOCK        locked while the journal is open
///   HEAD        the head marker
///   entries/    LevelDB
///   images/     blobs by SHA-256
///   snapshots/  keyed archives, and what is known of each
/// ```
struct JournalFolder: Sendable {
  let path: String
  let hook: FileHook?

  var format: String { path + "/FORMAT" }
  var lock: String { path + "/LOCK" }
  var head: String { path + "/HEAD" }
  var entries: String { path + "/entries" }
  var images: String { path + "/images" }
  var snapshots: String { path + "/snapshots" }

  /// The file of the snapshot of a revision.
  func snapshot(_ revision: Revision) -> String { "\(snapshots)/\(Self.digits(revision)).plist" }

  /// The file of what is known of that snapshot.
  func snapshotRecord(_ revision: Revision) -> String { "\(snapshots)/\(Self.digits(revision)).record" }

  private static func digits(_ revision: Revision) -> String {
    let digits = String(revision)
    return String(repeating: "0", count: max(16 - digits.count, 0)) + digits
  }

  /// The revision that the name of a snapshot's file says, nil for any other name.
  static func revision(ofSnapshot name: String) -> Revision? { revision(name, ".plist") }

  /// The revision that the name of a snapshot's record says, nil for any other name.
  static func revision(ofSnapshotRecord name: String) -> Revision? { revision(name, ".record") }

  private static func revision(_ name: String, _ suffix: String) -> Revision? {
    let digits = name.prefix { $0.isASCII && $0.isNumber }
    guard digits.count >= 16, name.dropFirst(digits.count) == suffix else { return nil }
    return Revision(digits)
  }

  private static let names: Set<String> = ["FORMAT", "LOCK", "HEAD", "entries", "images", "snapshots"]

  init(_ url: URL, hook: FileHook?) {
    var path = url.standardizedFileURL.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    self.hook = hook
  }

  private init(path: String, hook: FileHook?) {
    self.path = path
    self.hook = hook
  }

  /// Makes a new journal's folder with everything but its log.
  ///
  /// It is built under another name and renamed when it is whole: a crash leaves no half of a journal
  /// behind that name.
  func create(_ buildLog: (JournalFolder, JournalID) throws -> Void) throws {
    if let status = try Folder.status(path) {
      guard status.kind == .folder, try Folder.names(path).isEmpty else {
        throw JournalError(.alreadyExists, "something is already there; choose another name", path: path)
      }
    }
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let id = JournalID()
    let building = JournalFolder(path: "\(path).\(id).new", hook: hook)
    try Folder.make(building.path, hook: hook)
    do {
      for folder in [building.entries, building.images, building.snapshots] {
        try Folder.make(folder, hook: hook)
      }
      try Folder.writeFile(building.lock, [], in: building.path, hook: hook)
      try HeadMarker.create(building, id: id)
      try buildLog(building, id)
      try Folder.writeFile(building.format, Array(Self.formatLine(id).utf8), in: building.path, hook: hook)
      try Folder.rename(building.path, to: path, hook: hook)
      try Folder.synchronize(parent, hook: hook)
    } catch {
      // What was built is nobody's yet. Its removal is a courtesy: the first error is the one to tell.
      try? FileManager.default.removeItem(atPath: building.path)
      throw error
    }
  }

  /// Fails when this is no journal's folder, or not one that can be trusted: not this user's, with links or
  /// with files that no journal has.
  func check() throws(JournalError) {
    guard let status = try Folder.status(path) else {
      throw JournalError(.notFound, "there is no journal; make one first", path: path)
    }
    guard status.kind == .folder else {
      throw JournalError(
        .notAJournal,
        status.kind == .link
          ? "the journal is behind a symbolic link; name the folder itself"
          : "this is a file, and a journal is a folder", path: path)
    }
    guard status.owner == geteuid() else {
      throw JournalError(
        .permission, "the folder belongs to another user (id \(status.owner)); open it as that user",
        path: path)
    }
    guard try Folder.status(format) != nil else {
      throw JournalError(.notAJournal, "there is no FORMAT file, so this is no journal", path: path)
    }
    try checkNames(in: path) { name, kind in
      guard Self.names.contains(name) else { return false }
      return ["entries", "images", "snapshots"].contains(name) ? kind == .folder : kind == .file
    }
    try checkNames(in: entries) { name, kind in kind == .file && LogFiles.isKnown(name) }
    // A snapshot is never needed, and so is the folder of them; what is in it must be theirs all the same.
    if try Folder.status(snapshots) != nil {
      try checkNames(in: snapshots) { name, kind in
        let finished = Folder.finishedName(name)
        return kind == .file
          && (Self.revision(ofSnapshot: finished) ?? Self.revision(ofSnapshotRecord: finished)) != nil
      }
    }
    for name in ["LOCK", "HEAD", "entries", "images"]
    where try Folder.status("\(path)/\(name)") == nil {
      throw JournalError(.damaged, "\(name) is missing; put it back from a backup", path: "\(path)/\(name)")
    }
  }

  private func checkNames(
    in folder: String, _ isKnown: (String, Folder.Kind) -> Bool
  ) throws(JournalError) {
    for name in try Folder.names(folder) {
      let path = "\(folder)/\(name)"
      guard let status = try Folder.status(path) else { continue }
      if status.kind == .link {
        throw JournalError(
          .notAJournal, "a journal has no symbolic links; writing through one would destroy its target",
          path: path)
      }
      guard isKnown(name, status.kind) else {
        throw JournalError(.notAJournal, "a journal has nothing of that name; move it elsewhere", path: path)
      }
    }
  }

  private static let formatVersion = 1

  private static func formatLine(_ id: JournalID) -> String { "journal \(formatVersion) \(id)\n" }

  /// The journal's id, from FORMAT.
  func readFormat() throws(JournalError) -> JournalID {
    let bytes = try File(format, .reading).contents(limit: 4096)
    let line = String(decoding: bytes, as: UTF8.self)
    let words = line.split(whereSeparator: \.isWhitespace)
    guard words.count >= 2, words[0] == "journal", let version = Int(words[1]), version > 0 else {
      throw JournalError(.damaged, "FORMAT does not say \"journal\", a version and an id", path: format)
    }
    guard version <= Self.formatVersion else {
      throw JournalError(
        .newerFormat,
        "the journal has format \(version), and this library reads formats up to \(Self.formatVersion); "
          + "use a newer one", path: format)
    }
    guard words.count == 3, let id = JournalID(words[2]), line == Self.formatLine(id) else {
      throw JournalError(.damaged, "FORMAT does not say \"journal\", a version and an id", path: format)
    }
    return id
  }
}

/// Which names LevelDB gives to its files.
private enum LogFiles {
  static func isKnown(_ name: String) -> Bool {
    if ["CURRENT", "LOCK", "LOG", "LOG.old"].contains(name) { return true }
    if name.hasPrefix("MANIFEST-") { return name.dropFirst(9).allSatisfy(\.isNumber) }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && parts[0].allSatisfy(\.isNumber)
      && ["log", "ldb", "sst", "dbtmp"].contains(parts[1])
  }
}
