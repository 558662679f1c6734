import Files

/// Files and folders that are written under temporary names, and renamed after all of them were flushed.
///
/// Flushing ten thousand small files one after the other takes minutes, while the drive is mostly idle. So if there are
/// many files, they are flushed together with the whole file system.
///
/// 1. A file gets its final name only after the drive has confirmed its bytes.
/// 2. Deinitializing the batch removes everything that was not renamed.
final class ExportBatch {
  /// Above this many files, the whole file system is flushed.
  private static let fewFiles = 64

  /// A file or a new folder under a temporary name.
  private struct Pending {
    /// The folder that contains it, if it is not the batch's. Only the name is kept, because descriptors are few.
    let folder: String?
    let temporary: String
    let name: String
    let isFolder: Bool
  }

  private let folder: Folder
  private let areFlushedTogether: Bool
  private var pending: [Pending] = []
  /// The inner folder that was written to last.
  private var inner: (name: String, folder: Folder, isNew: Bool)?

  init(_ folder: Folder, fileCount: Int) throws {
    self.folder = folder
    // This is called now to find out whether the system supports it, before any file is written without a flush.
    areFlushedTogether = try fileCount > Self.fewFiles && folder.flushFileSystem()
  }

  deinit {
    for one in pending {
      guard let place = try? place(one.folder) else { continue }
      try? one.isFolder ? place.removeFolder(one.temporary) : place.removeFile(one.temporary)
    }
  }

  /// Writes a file into the folder, or into a folder inside it, which is created if it does not exist. The files of one
  /// inner folder must be written one after the other.
  ///
  /// If a file can't be written, nothing of it is left.
  func write(_ name: String, in innerName: String?, _ body: (borrowing File) throws -> Void) throws {
    if let innerName, inner?.name != innerName { try enter(innerName) }
    let place = innerName == nil ? folder : inner?.folder ?? folder
    // The files of a new folder get their final names at once, because the folder does not have its own yet.
    let isInNewFolder = innerName != nil && inner?.isNew ?? false
    let temporary = isInNewFolder ? name : Self.temporaryName()
    let file = try place.file(temporary, .publishing)
    do {
      try body(file)
      if !areFlushedTogether { try file.flush() }
    } catch {
      try? place.removeFile(temporary)
      throw error
    }
    if isInNewFolder { return }
    pending.append(Pending(folder: innerName, temporary: temporary, name: name, isFolder: false))
  }

  private func enter(_ name: String) throws {
    let isNew = try folder.kind(of: name) == nil
    let present = isNew ? Self.temporaryName() : name
    if isNew {
      try folder.makeFolder(present, isPrivate: false)
      pending.append(Pending(folder: nil, temporary: present, name: name, isFolder: true))
    }
    inner = (name, try folder.folder(present), isNew)
  }

  /// Renames everything, and returns when that is durable.
  func finish() throws {
    if areFlushedTogether {
      _ = try folder.flushFileSystem()
    } else {
      for one in pending where one.isFolder { try folder.folder(one.temporary).flush() }
    }
    while let one = pending.last {
      let place = try place(one.folder)
      try place.rename(one.temporary, to: one.name)
      pending.removeLast()
      if one.folder != nil, pending.last?.folder != one.folder { try place.flush() }
    }
    try folder.flush()
  }

  private func place(_ name: String?) throws(LegacyError) -> Folder {
    if let name { try folder.folder(name) } else { folder }
  }

  private static func temporaryName() -> String {
    ".\(String(UInt64.random(in: .min ... .max), radix: 36))\(Folder.temporarySuffix)"
  }
}
