import Files

/// Files that are written into a temporary folder, and renamed after all of them were flushed.
///
/// Flushing ten thousand small files one after the other takes minutes. So many files are flushed together with the
/// whole file system.
///
/// 1. A file gets its final name only after the drive has confirmed its bytes, and a new inner folder gets its name
///    with all its files.
/// 2. Deinitializing the batch removes everything that was not renamed.
final class ExportBatch {
  private static let fewFiles = 64

  private let folder: Folder
  /// The folder with the new files, with the same names and inner folders as there will be.
  private let temporary: Folder
  private let areFlushedTogether: Bool
  /// The inner folder that was written to last.
  private var inner: (name: String, folder: Folder)?

  init(_ folder: Folder, fileCount: Int) throws {
    self.folder = folder
    // The first call, before any file is written, shows whether the system can flush a file system.
    areFlushedTogether = try fileCount > Self.fewFiles && folder.flushFileSystem()
    let name = ".\(String(UInt64.random(in: .min ... .max), radix: 36))\(Folder.temporarySuffix)"
    try folder.makeFolder(name)
    temporary = try folder.folder(name)
  }

  deinit { try? temporary.remove() }

  /// Writes a file into the folder, or into a folder inside it, which is created if it does not exist. The files of one
  /// inner folder must be written one after the other.
  ///
  /// If a file can't be written, nothing of it is left.
  func write(_ name: String, in innerName: String?, _ body: (borrowing File) throws -> Void) throws {
    if let innerName, inner?.name != innerName {
      try temporary.makeFolder(innerName, isPrivate: false)
      inner = (innerName, try temporary.folder(innerName))
    }
    let place = innerName == nil ? temporary : inner?.folder ?? temporary
    let file = try place.file(name, .publishing)
    do {
      try body(file)
      if !areFlushedTogether { try file.flush() }
    } catch {
      try? place.removeFile(name)
      throw error
    }
  }

  /// Renames everything, and returns when that is durable.
  func finish() throws {
    if areFlushedTogether { _ = try folder.flushFileSystem() }
    for name in try temporary.names() {
      if try temporary.kind(of: name) == .folder {
        let new = try temporary.folder(name)
        if !areFlushedTogether { try new.flush() }
        if try folder.kind(of: name) != nil {
          let old = try folder.folder(name)
          for file in try new.names() { try new.rename(file, to: file, in: old) }
          try old.flush()
          continue
        }
      }
      try temporary.rename(name, to: name, in: folder)
    }
    try folder.flush()
  }
}
