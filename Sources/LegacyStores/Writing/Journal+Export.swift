public import CatalogModel
import Files
public import Foundation

/// The result of an export.
public struct LegacyExportReport: Sendable {
  /// The revision that was exported.
  public internal(set) var revision: Revision = 0
  /// How many items the files have.
  public internal(set) var items = 0
  /// How many files were written.
  public internal(set) var written = 0
  /// How many files already existed with the same bytes.
  public internal(set) var unchanged = 0
  /// What could not be written, and other remarks.
  public internal(set) var problems: [LegacyProblem] = []

  /// Whether everything was written.
  public var isComplete: Bool { !problems.contains(where: \.isLoss) }
}

extension Journal where State == Catalog {
  /// Writes files that an NSCoding-era app can read: with the app's file names, the classes of its objects, and the
  /// keys that its `initWithCoder:` reads.
  ///
  /// File names, classes, keys and other contents are those of the imported files. If nothing was imported, they are
  /// those of the small apps in the documentation. Items that were added in the journal come after the others. Items and
  /// categories of other stores are left out.
  /// - Parameters:
  ///   - source: how the app stored its data.
  ///   - name: which store, if several were imported from that source.
  ///   - selector: the point in time.
  ///   - folder: where to write. It is created if it does not exist. A file gets its name only when it is complete.
  ///   - replacing: whether files with other contents may be replaced. One that the latest import could not read
  ///     completely is not.
  /// - Throws: ``LegacyError`` with code `alreadyExists`, before anything is written, if the folder has a file with
  ///   other contents under a name that is to be written, unless it may be replaced, or another bug; `notFound` if
  ///   there is no such store, or nothing to export; `wrongUse` if there are several stores and `name` is nil, or if
  ///   the folder is in a journal. ``JournalError`` if the journal can't be read.
  @discardableResult
  public func exportStore(
    _ source: LegacyStore.Source, name: String? = nil, asOf selector: RevisionSelector = .head(),
    to folder: URL,
    replacing: Bool = false
  ) throws -> LegacyExportReport {
    let version = try version(asOf: selector)
    let names = ImportMemory.names(version.state, source)
    if let name, !names.contains(name) {
      throw LegacyError(
        .notFound, "as of that point, nothing was imported from a \(source.rawValue) store named \"\(name)\"")
    }
    if name == nil, names.count > 1, !names.contains("") {
      throw LegacyError(
        .wrongUse, "there are several stores of that source; choose one of " + names.joined(separator: ", "))
    }
    let memory = ImportMemory(version.state, source, name: name ?? (names.count == 1 ? names[0] : ""))
    try memory.checkForm()
    let export = try LegacyExport(version.state, memory, blobs)
    let target = ExportTarget(folder: try Folder(making: folder), blobs: blobs)
    var report = LegacyExportReport()
    report.revision = version.revision
    report.items = export.itemCount
    report.problems = export.problems
    // The files may be those of the latest import, also if an earlier state is exported.
    let latest = ImportMemory(state, source, name: memory.name)
    try target.write(
      export.files, replacing: replacing, incomplete: memory.incomplete.union(latest.incomplete),
      ownsBugs: source == .scarybugs, &report)
    return report
  }
}

/// Writes files into a folder that may contain others.
struct ExportTarget {
  let folder: Folder
  let blobs: BlobStore

  /// - Parameter incomplete: the paths of files that an import could not read completely, so they are not replaced.
  func write(
    _ files: [ExportedFile], replacing: Bool, incomplete: Set<String>, ownsBugs: Bool,
    _ report: inout LegacyExportReport
  ) throws {
    var pending: [ExportedFile] = []
    for file in files {
      switch try isWritten(file) {
      case nil: if !file.isOptional { pending.append(file) }
      case true?: report.unchanged += 1
      case false?:
        guard replacing else { throw refusal("\"\(file.path)\" exists with other contents", "replace it") }
        if incomplete.contains(file.path) { throw refusal(toReplaceUnread: file.path) }
        pending.append(file)
      }
    }
    if ownsBugs {
      let stale = try otherBugs(files, replacing, &report)
      for (bug, picture) in stale where incomplete.contains("\(bug)/\(picture)") {
        throw refusal(toReplaceUnread: "\(bug)/\(picture)")
      }
      for (bug, picture) in stale { try folder.folder(bug).removeFile(picture) }
    }
    if pending.isEmpty { return }
    let batch = try ExportBatch(folder, fileCount: pending.count)
    // An error is reported, and the other files are still written.
    for file in pending {
      do {
        try batch.write(file.name, in: file.folder) { try write(file.content, to: $0) }
        report.written += 1
      } catch {
        report.problems.append(LegacyProblem(file.path, "\(error)"))
      }
    }
    try batch.finish()
  }

  /// Whether a file exists with the same bytes. Nil if it does not exist.
  private func isWritten(_ file: ExportedFile) throws -> Bool? {
    var inner = folder
    if let name = file.folder {
      guard try exists(name, .folder, in: folder, name) else { return nil }
      inner = try folder.folder(name)
    }
    guard try exists(file.name, .file, in: inner, file.path) else { return nil }
    let old = try inner.file(file.name, .reading)
    let new = file.content.blob
    return try old.byteCount() == new.byteCount && old.digest().digest == new.digest
  }

  private func exists(_ name: String, _ kind: FileStatus.Kind, in inner: Folder, _ path: String) throws
    -> Bool
  {
    guard let there = try inner.kind(of: name) else { return false }
    if there == kind { return true }
    throw LegacyError(
      .alreadyExists, "\"\(path)\" exists but is not a \(kind == .file ? "file" : "folder"); move it away",
      path: folder.path)
  }

  /// Finds bugs and pictures in the folder that are not part of this export, because the app would show them.
  /// - Returns: the pictures, which are to be removed.
  private func otherBugs(
    _ files: [ExportedFile], _ replacing: Bool, _ report: inout LegacyExportReport
  ) throws -> [(bug: String, picture: String)] {
    let folders = Set(files.map(\.folder))
    let paths = Set(files.map(\.path))
    var stale: [(bug: String, picture: String)] = []
    for name in try folder.numberedNames() where ScaryBugReader.isBug(name) {
      guard folders.contains(name) else {
        let words = "\"\(name)\" exists but is not among the exported bugs"
        if !replacing { throw refusal(words, "leave it there") }
        report.problems.append(LegacyProblem(name, "\(words); it was left there", isLoss: false))
        continue
      }
      guard try folder.kind(of: name) == .folder else { continue }
      let bug = try folder.folder(name)
      for picture in ScaryBugReader.pictures.keys.sorted() where !paths.contains("\(name)/\(picture)") {
        if try bug.kind(of: picture) == nil { continue }
        if !replacing {
          throw refusal(
            "\"\(name)/\(picture)\" exists, but the bug has no such picture", "remove it")
        }
        stale.append((name, picture))
      }
    }
    return stale
  }

  private func refusal(_ reason: String, _ remedy: String) -> LegacyError {
    LegacyError(
      .alreadyExists, "\(reason); name another folder, or \(remedy) with --force (in Swift, replacing: true)",
      path: folder.path)
  }

  private func refusal(toReplaceUnread path: String) -> LegacyError {
    LegacyError(
      .alreadyExists,
      "\"\(path)\" exists, and the import could not read all of it; name another folder, or move the file away",
      path: folder.path)
  }

  private func write(_ content: ExportedFile.Content, to file: borrowing File) throws {
    switch content {
    case .bytes(let bytes): try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    case .blob(let blob):
      let source = try blobs.reader(of: blob, isChecked: false)
      for offset in stride(from: 0, to: blob.byteCount, by: 1 << 20) {
        let piece = try source.piece(at: offset, byteCount: min(1 << 20, blob.byteCount - offset))
        try unsafe piece.withUnsafeBytes { try unsafe file.write($0, at: offset) }
      }
    }
  }
}
