/// Files that are written under other names, and get their own once the drive has all of them.
///
/// Flushed one after the other, ten thousand small files take minutes, in which the drive does next to nothing.
///
/// 1. A name is given after the drive has confirmed what it will stand for.
/// 2. What has got no name when the batch goes is removed.
final class TargetBatch {
  /// Above so many files the file system is flushed as a whole.
  private static let fewFiles = 64

  /// A file or a new folder that waits for its name.
  private struct Pending {
    /// The folder that it is in, if it is not the batch's own.
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

  /// Writes a file into the folder, or into a folder in it that is there.
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
  /// - Parameter fill: writes files into it, and gives the names of those that it could write.
  func writeFolder(_ name: String, _ fill: (TargetFolder) throws -> [String]) throws {
    guard name.isSingleName else {
      throw LegacyError(.wrongUse, "\"\(name)\" can't be the name of a folder", path: folder.path)
    }
    let temporary = TargetFolder.temporaryName()
    let inner = try folder.folder(temporary, isNew: true)
    pending.append(Pending(folder: nil, temporary: temporary, name: name, files: []))
    pending[pending.count - 1].files = try fill(inner)
  }

  /// Returns when all have their names and the drive knows that.
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
