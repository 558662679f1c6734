public import CatalogModel
public import Foundation
import SHA256

/// The result of an export.
public struct LegacyExportReport: Sendable {
  /// The revision that was exported.
  public internal(set) var revision: Revision = 0
  /// How many items the files have.
  public internal(set) var items = 0
  /// How many files were written.
  public internal(set) var written = 0
  /// How many files existed already with the same bytes.
  public internal(set) var unchanged = 0
  /// What could not be written, and other remarks.
  public internal(set) var problems: [LegacyProblem] = []

  /// Whether everything was written.
  public var isComplete: Bool { !problems.contains(where: \.isLoss) }
}

extension Journal where State == Catalog {
  /// Writes the files that an NSCoding-era app reads: with its file names, the classes of its objects and the keys that
  /// its `initWithCoder:` reads.
  ///
  /// File names, classes, keys and other contents are as in the imported files. Without an import they are those of the
  /// small apps in the documentation. Items that were added in the journal come after the others.
  /// - Parameters:
  ///   - source: how the app stored its data.
  ///   - name: which store, if several were imported from that source.
  ///   - selector: the point in time.
  ///   - folder: where to write; created if it does not exist. A file gets its name only when it is complete.
  ///   - replacing: whether files with other contents may be replaced.
  /// - Throws: ``LegacyError`` with code `alreadyExists`, before anything is written, if the folder holds a file of
  ///   another content under a name that is to be written, or another bug; `notFound` when there is no such store, or
  ///   nothing of the sort in the journal; ``JournalError`` when the journal can't be read.
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
        .notFound, "nothing was imported from a \(source.rawValue) store called \"\(name)\" by then")
    }
    if name == nil, names.count > 1, !names.contains("") {
      throw LegacyError(
        .wrongUse, "there are several stores of that source; name one of " + names.joined(separator: ", "))
    }
    let memory = ImportMemory(version.state, source, name: name ?? (names.count == 1 ? names[0] : ""))
    let export = try LegacyExport(version.state, memory, blobs)
    let target = ExportTarget(try TargetFolder(making: folder), blobs)
    var report = LegacyExportReport()
    report.revision = version.revision
    report.items = export.itemCount
    report.problems = export.problems
    try target.write(export.files, replacing: replacing, ownsBugs: source == .scarybugs, &report)
    return report
  }
}

/// Writes files into a folder that may contain others.
struct ExportTarget {
  private let folder: TargetFolder
  private let blobs: BlobStore

  init(_ folder: TargetFolder, _ blobs: BlobStore) {
    self.folder = folder
    self.blobs = blobs
  }

  func write(
    _ files: [ExportedFile], replacing: Bool, ownsBugs: Bool, _ report: inout LegacyExportReport
  ) throws {
    let there = try folder.source()
    var pending: [ExportedFile] = []
    var stale: [[String]] = []
    for file in files {
      switch try state(of: file, there) {
      case .absent: if !file.isOptional { pending.append(file) }
      case .same: report.unchanged += 1
      case .different where replacing: pending.append(file)
      case .different:
        throw LegacyError(
          .alreadyExists,
          "\"\(file.way.joined(separator: "/"))\" is there with other contents; name another folder, or use --force "
            + "to replace it", path: folder.path)
      }
    }
    if ownsBugs { stale = try otherBugs(there, files, replacing, &report) }
    for way in stale { try folder.folder(way[0], isNew: false).remove(way[1]) }
    var groups: [String: [ExportedFile]] = [:]
    for file in pending { groups[file.way.count == 1 ? "" : file.way[0], default: []].append(file) }
    let batch = TargetBatch(folder)
    for (name, files) in groups.sorted(by: {
      ($0.key.leadingNumber ?? 0, $0.key) < ($1.key.leadingNumber ?? 0, $1.key)
    }) {
      let isThere = try name.isEmpty || there.kind(of: name) != nil
      if isThere {
        for file in files {
          unsafe attempt(file, &report) { append in
            try unsafe batch.write(file.name, in: name.isEmpty ? nil : name, append)
          }
        }
      } else {
        try batch.writeFolder(name) { inner in
          files.filter { file in
            unsafe attempt(file, &report) { append in try unsafe inner.write(file.name, append) }
          }.map(\.name)
        }
      }
    }
    try batch.finish()
  }

  private enum State {
    case absent
    case same
    case different
  }

  private func state(of file: ExportedFile, _ there: SourceFolder) throws -> State {
    if file.way.count > 1 {
      switch try there.kind(of: file.way[0]) {
      case nil: return .absent
      case .folder: break
      default:
        throw LegacyError(
          .alreadyExists, "\"\(file.way[0])\" is there and is no folder; move it away", path: folder.path)
      }
    }
    let inner = file.way.count > 1 ? try there.folder(file.way[0]) : there
    let name = file.way[file.way.count - 1]
    switch try inner.kind(of: name) {
    case nil: return .absent
    case .file: break
    default:
      throw LegacyError(
        .alreadyExists, "\"\(file.way.joined(separator: "/"))\" is there and is no file; move it away",
        path: folder.path)
    }
    let old = try inner.file([name])
    switch file.content {
    case .bytes(let bytes):
      guard old.byteCount == bytes.count else { return .different }
      return try old.contents(limit: bytes.count) == Data(bytes) ? .same : .different
    case .blob(let blob):
      guard old.byteCount == blob.byteCount else { return .different }
      var hash = SHA256Hash()
      try unsafe old.forEachPiece { unsafe hash.update($0) }
      return hash.finish() == blob.digest ? .same : .different
    }
  }

  /// Bugs and pictures in the folder that are not part of this export: the app would show them.
  private func otherBugs(
    _ there: SourceFolder, _ files: [ExportedFile], _ replacing: Bool, _ report: inout LegacyExportReport
  ) throws -> [[String]] {
    let ours = Set(files.map { $0.way[0] })
    let ways = Set(files.map(\.way))
    var stale: [[String]] = []
    for name in try there.names() where ScaryBugReader.isBug(name) {
      guard ours.contains(name) else {
        let words = "\"\(name)\" is there and not among the bugs that are exported"
        guard replacing else {
          throw LegacyError(
            .alreadyExists, "\(words); name another folder, or use --force to leave it there",
            path: folder.path)
        }
        report.problems.append(LegacyProblem(name, "\(words); it was left there", isLoss: false))
        continue
      }
      guard try there.kind(of: name) == .folder else { continue }
      let inner = try there.folder(name)
      for picture in ScaryBugReader.pictures.keys.sorted() where !ways.contains([name, picture]) {
        if try inner.kind(of: picture) == nil { continue }
        guard replacing else {
          throw LegacyError(
            .alreadyExists,
            "\"\(name)/\(picture)\" is there, and the bug has no such picture; name another folder, or use --force "
              + "to remove it", path: folder.path)
        }
        stale.append([name, picture])
      }
    }
    return stale
  }

  /// Writes one file; an error is reported, and the other files are still written.
  ///
  /// - Parameter write: called with a function that appends bytes to the file.
  /// - Returns: whether it was written.
  @discardableResult
  private func attempt(
    _ file: ExportedFile, _ report: inout LegacyExportReport,
    _ write: (((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws -> Void
  ) -> Bool {
    do {
      try unsafe write { append in
        switch file.content {
        case .bytes(let bytes): try unsafe bytes.withUnsafeBytes { try unsafe append($0) }
        case .blob(let blob): try unsafe copy(blob, append)
        }
      }
      report.written += 1
      return true
    } catch {
      report.problems.append(LegacyProblem(file.way.joined(separator: "/"), "\(error)"))
      return false
    }
  }

  private func copy(_ blob: Blob, _ append: (UnsafeRawBufferPointer) throws -> Void) throws {
    var hash = SHA256Hash()
    try unsafe SourceFile(blobs.url(of: blob)).forEachPiece {
      unsafe hash.update($0)
      try unsafe append($0)
    }
    guard hash.finish() == blob.digest else {
      throw LegacyError(.unreadable, "the journal's bytes of it are altered; put the file back from a backup")
    }
  }
}
