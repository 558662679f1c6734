/// Files that are written under temporary names, and renamed after all of them are flushed.
///
/// Flushing ten thousand small files one after the other takes minutes, while the drive is mostly idle.
///
/// 1. A file is renamed after the drive has confirmed its bytes.
/// 2. Deinitializing the batch removes files that were not renamed.
final class TargetBatch {
  /// Above this many files, the whole file system is flushed.
  private static let fewFiles = 64

  /// A file or a new folder under a temporary name.
  private struct Pending {
    /// The folder that contains it, if it is not the batch's.
    let folder: String?
    let temporary: String
    let name: String
    /// The files in it, if it is a folder.
    var files: [String]?
  }

  private let folder: TargetFolder
  private var pending: [Pending] = []

  init(_ folder: TargetFolder) { self.folder = folder }

  deinit {
    for one in pending {
      guard one.files == nil else {
        folder.removeFolder(one.temporary)
        continue
      }
      let place = one.folder.map { try? folder.folder($0, isNew: false) } ?? folder
      try? place?.remove(one.temporary)
    }
  }

  /// Writes a file into the folder, or into an existing folder in it.
  func write(
    _ name: String, in inner: String?,
    _ write: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
  ) throws {
    let place = try inner.map { try folder.folder($0, isNew: false) } ?? folder
    let temporary = TargetFolder.temporaryName()
    try unsafe place.write(temporary, write)
    pending.append(Pending(folder: inner, temporary: temporary, name: name))
  }

  /// Makes a folder.
  /// - Parameter fill: writes files into it, and returns the names of those that it could write.
  func writeFolder(_ name: String, _ fill: (TargetFolder) throws -> [String]) throws {
    guard name.isSingleName else {
      throw LegacyError(.wrongUse, "\"\(name)\" can't be the name of a folder", path: folder.path)
    }
    let temporary = TargetFolder.temporaryName()
    let inner = try folder.folder(temporary, isNew: true)
    pending.append(Pending(folder: nil, temporary: temporary, name: name, files: []))
    pending[pending.count - 1].files = try fill(inner)
  }

  /// Renames all files and returns when that is durable.
  func finish() throws {
    try flush()
    var folders: [String: TargetFolder] = [:]
    while let one = pending.last {
      if let name = one.folder {
        if folders[name] == nil { folders = [name: try folder.folder(name, isNew: false)] }
        try folders[name]?.rename(one.temporary, to: one.name)
        pending.removeLast()
        if pending.last?.folder != name { try folders[name]?.flush() }
      } else {
        try folder.rename(one.temporary, to: one.name)
        pending.removeLast()
      }
    }
    try folder.flush()
  }

  private func flush() throws {
    let count = pending.reduce(0) { $0 + ($1.files?.count ?? 1) }
    if count > Self.fewFiles, try folder.flushFileSystem() { return }
    for one in pending {
      if let files = one.files {
        let inner = try folder.folder(one.temporary, isNew: false)
        for file in files { try inner.flushFile(file) }
        try inner.flush()
      } else {
        let place = try one.folder.map { try folder.folder($0, isNew: false) } ?? folder
        try place.flushFile(one.temporary)
      }
    }
  }
}
