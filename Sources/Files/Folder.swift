internal import CFiles
import Foundation

/// An open folder. Files are opened relative to its descriptor, by single names and without following links. So this
/// object stays with its folder even if the folder is moved and another folder takes its place.
///
/// If a test has set a hook, operations that change the disk call it first. A change of names is durable after
/// ``flush()``. Safe to use from any thread.
package final class Folder<Failure: FileFailure>: Sendable {
  /// The suffix of the names of unfinished files.
  package static var temporarySuffix: String { ".new" }

  /// The descriptor, for lower modules that make their own system calls. It is open as long as this object exists.
  package let descriptor: Int32
  /// The path of the folder at its opening, for messages.
  package let path: String
  package let hook: FileHook?
  package let readHook: ReadHook?
  private let process = System.process

  /// Opens a folder that a user named.
  package init(
    _ path: String, followsLinks: Bool, hook: FileHook?, readHook: ReadHook? = nil
  ) throws(Failure) {
    descriptor = try Failure.check("can't open the folder", path) {
      unsafe cfiles_open(cfiles_current_folder(), path, Int32(CFILES_FOLDER), followsLinks, 0)
    }
    self.path = path
    self.hook = hook
    self.readHook = readHook
  }

  private init(_ name: String, in folder: Folder, path: String) throws(Failure) {
    descriptor = try Failure.check("can't open the folder", path) {
      unsafe cfiles_open(folder.descriptor, name, Int32(CFILES_FOLDER), false, 0)
    }
    self.path = path
    hook = folder.hook
    readHook = folder.readHook
  }

  deinit { _ = cfiles_close(descriptor) }

  /// Opens the folder again. The result has a separate lock.
  package func reopened() throws(Failure) -> Folder { try Folder(".", in: self, path: path) }

  package func folder(_ name: String) throws(Failure) -> Folder {
    try checkName(name)
    return try Folder(name, in: self, path: path(of: name))
  }

  package func file(_ name: String, _ access: File<Failure>.Access) throws(Failure) -> File<Failure> {
    try checkName(name)
    return try File(
      name, access, in: descriptor, path: path(of: name), hook: hook, readHook: readHook)
  }

  package func path(of name: String) -> String { "\(path)/\(name)" }

  /// The current path of the folder, even after it was moved; nil if unknown.
  package func currentPath() -> String? {
    let byteCount = 4096
    var failed = false
    let bytes = unsafe [CChar](unsafeUninitializedCapacity: byteCount) { buffer, count in
      failed = unsafe cfiles_path(descriptor, buffer.baseAddress, byteCount) != 0
      unsafe count = failed ? 0 : strlen(buffer.baseAddress!)
    }
    return failed ? nil : String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: Looking

  package func status() throws(Failure) -> FileStatus {
    var status = cfiles_status()
    try Failure.check("can't examine the folder", path) {
      unsafe cfiles_status_of(descriptor, &status)
    }
    return FileStatus(status)
  }

  /// The status of the file or folder with a name; nil if there is none.
  package func status(of name: String) throws(Failure) -> FileStatus? {
    try checkName(name)
    return try Self.status(name, in: descriptor, path: path(of: name))
  }

  /// The status of the file or folder at a path; nil if there is none.
  package static func status(ofPath path: String) throws(Failure) -> FileStatus? {
    try status(path, in: cfiles_current_folder(), path: path)
  }

  private static func status(_ name: String, in folder: Int32, path: String) throws(Failure) -> FileStatus? {
    var status = cfiles_status()
    let result = unsafe cfiles_status_of_name(folder, name, &status)
    if result == 0 { return FileStatus(status) }
    if result == -ENOENT || result == -ENOTDIR { return nil }
    throw Failure(FileError(-result, "can't examine it", path: path))
  }

  /// The names in the folder, sorted.
  package func names() throws(Failure) -> [String] {
    var names: [String] = []
    try unsafe forEachName { name, _ in
      unsafe names.append(String(cString: name))
      return true
    }
    return names.sorted()
  }

  /// Calls `body` with each name and its kind, in no particular order, until `body` returns false.
  /// - Complexity: O(n) in the number of names, none of which becomes a `String`.
  package func forEachName(_ body: (UnsafePointer<CChar>, FileStatus.Kind) -> Bool) throws(Failure) {
    typealias Body = (UnsafePointer<CChar>, FileStatus.Kind) -> Bool
    let result = unsafe withoutActuallyEscaping(body) { body in
      var body = unsafe body
      return unsafe withUnsafeMutablePointer(to: &body) { context in
        unsafe cfiles_list(
          descriptor,
          { context, name, kind in
            guard let context = unsafe context, let name = unsafe name else { return false }
            return unsafe context.assumingMemoryBound(to: Body.self).pointee(name, FileStatus.Kind(kind))
          }, context)
      }
    }
    guard result == 0 else { throw Failure(FileError(-result, "can't list the folder", path: path)) }
  }

  // MARK: Changing

  package func makeFolder(_ name: String, isPrivate: Bool = true) throws(Failure) {
    try checkName(name)
    let path = path(of: name)
    try hook.check(.makeFolder, path, Failure.self)
    try Failure.check("can't create the folder", path) {
      unsafe cfiles_make_folder(descriptor, name, isPrivate ? 0o700 : 0o755)
    }
  }

  /// Renames a file or folder, replacing the target.
  /// - Parameter other: the folder of the new name; nil for this folder.
  package func rename(_ name: String, to newName: String, in other: Folder? = nil) throws(Failure) {
    try checkName(name)
    try checkName(newName)
    let other = other ?? self
    let newPath = other.path(of: newName)
    try hook.check(.rename, path(of: name), to: newPath, Failure.self)
    try Failure.check("can't rename it", newPath) {
      unsafe cfiles_rename(descriptor, name, other.descriptor, newName)
    }
  }

  /// Exchanges a name in this folder with a name in another folder. The exchange is atomic, even in a crash.
  package func exchange(_ name: String, with otherName: String, in other: Folder) throws(Failure) {
    try checkName(name)
    try checkName(otherName)
    let path = path(of: name)
    try hook.check(.rename, other.path(of: otherName), to: path, Failure.self)
    let result = unsafe cfiles_exchange(descriptor, name, other.descriptor, otherName)
    if result == -EINVAL || result == -ENOSYS || result == -ENOTSUP {
      throw Failure(
        FileError(
          .io,
          "this file system can't exchange two folders in one step; move the journal to one that can, such as ext4, "
            + "XFS, Btrfs or APFS", path: path))
    }
    if result == -EXDEV { throw Failure(Self.isFixed(path)) }
    guard result == 0 else { throw Failure(FileError(-result, "can't exchange it", path: path)) }
  }

  /// Throws if a folder in this one can't be moved, and therefore can't be exchanged.
  ///
  /// Tries to move the folder over one that is not empty, which changes nothing: the file system reports either that it
  /// can't move the folder, or that the target is not empty.
  /// - Parameter occupied: a folder in `other` that is not empty.
  package func checkMoves(_ name: String, over occupied: String, in other: Folder) throws(Failure) {
    try checkName(name)
    try checkName(occupied)
    let result = unsafe cfiles_rename(descriptor, name, other.descriptor, occupied)
    switch result {
    case -EXDEV: throw Failure(Self.isFixed(path(of: name)))
    case -EBUSY, -EPERM, -EACCES:
      throw Failure(FileError(-result, "can't move the folder", path: path(of: name)))
    case 0: _ = unsafe cfiles_rename(other.descriptor, occupied, descriptor, name)
    default: break
    }
  }

  private static func isFixed(_ path: String) -> FileError {
    FileError(
      .io,
      "the folder can't be moved, because it is in a lower layer of an overlay file system; copy the journal with "
        + "cp -a, remove it, and give the copy its name", path: path)
  }

  /// Gives a file of this folder a second name in another folder.
  /// - Returns: false if the two folders can't share a file, for example because they are on different drives. File
  ///   systems without links return all kinds of errors, so an error is thrown only if a copy would fail for it too.
  package func link(_ name: String, in other: Folder, as newName: String) throws(Failure) -> Bool {
    try checkName(name)
    try checkName(newName)
    let newPath = other.path(of: newName)
    let number: Int32
    if case .fail(let given)? = other.hook?(FileOperation(.create, path: newPath)) {
      number = given
    } else {
      number = unsafe -cfiles_link(descriptor, name, other.descriptor, newName)
    }
    if number == 0 { return true }
    let error = FileError(number, "can't link the file", path: newPath)
    let concernsCopies =
      [.noSpace, .outOfResources].contains(error.reason) || [EIO, EROFS, EACCES].contains(number)
    if concernsCopies { throw Failure(error) }
    return false
  }

  /// The number of bytes that this user can still write to the file system; nil if that is not reported.
  package func freeByteCount() throws(Failure) -> Int? { try Failure.freeByteCount(descriptor, path) }

  /// Removes a file, or a link but not its target. If the name does not exist, does nothing.
  package func removeFile(_ name: String) throws(Failure) {
    try checkName(name)
    let path = path(of: name)
    try hook.check(.remove, path, Failure.self)
    let result = unsafe cfiles_remove_file(descriptor, name)
    guard result == 0 || result == -ENOENT else {
      throw Failure(FileError(-result, "can't remove the file", path: path))
    }
  }

  /// Removes a folder and its contents. No link is followed.
  package func removeFolder(_ name: String) throws(Failure) {
    let folder = try folder(name)
    try folder.removeContents()
    try hook.check(.remove, folder.path, Failure.self)
    try Failure.check("can't remove the folder", folder.path) {
      unsafe cfiles_remove_folder(descriptor, name)
    }
  }

  /// Removes this folder and its contents, even after the folder was moved. No link is followed. Two free descriptors
  /// are enough, unless a folder in this one has folders.
  package func remove() throws(Failure) {
    try removeContents()
    let path = currentPath() ?? path
    try hook.check(.remove, path, Failure.self)
    try Failure.check("can't remove the folder", path) {
      unsafe cfiles_remove_folder(cfiles_current_folder(), path)
    }
  }

  /// Removes what is in this folder. No link is followed.
  package func removeContents() throws(Failure) {
    for name in try names() {
      if try status(of: name)?.kind == .folder {
        try removeFolder(name)
      } else {
        try removeFile(name)
      }
    }
  }

  /// Writes a file under a temporary name, flushes it, and renames it, replacing the target. After a crash, the name
  /// refers either to the complete file or to the previous one. The caller must flush the folder afterwards.
  package func write(_ name: String, _ contents: [UInt8]) throws(Failure) {
    let temporary = name + Self.temporarySuffix
    try removeFile(temporary)
    do {
      let file = try file(temporary, .creating)
      try unsafe contents.span.bytes.withUnsafeBytes { bytes throws(Failure) in
        try unsafe file.write(bytes, at: 0)
      }
      try file.flush()
    }
    try rename(temporary, to: name)
  }

  /// Waits until the drive has confirmed the names in the folder.
  package func flush() throws(Failure) {
    try hook.check(.syncFolder, path, Failure.self)
    try Failure.check("can't flush the folder to the drive", path) { cfiles_flush(descriptor, true) }
  }

  /// Waits until the drive has confirmed everything that was written to the file system of the folder.
  /// - Returns: false if the operating system does not support it.
  package func flushFileSystem() throws(Failure) -> Bool {
    let result = cfiles_flush_file_system(descriptor)
    if result == -ENOTSUP { return false }
    guard result == 0 else { throw Failure(FileError(-result, "can't flush the drive", path: path)) }
    return true
  }

  /// Takes the lock of the folder; returns false if another holder has it. ``unlock()`` or deinitializing this object
  /// releases the lock.
  package func lock(exclusive: Bool) throws(Failure) -> Bool {
    let result = cfiles_lock(descriptor, exclusive)
    if result == -EWOULDBLOCK { return false }
    guard result == 0 else { throw Failure(FileError(-result, "can't lock the folder", path: path)) }
    return true
  }

  /// Releases the lock. Closing alone is not enough, because a child process that is being started could hold the lock
  /// for a moment. In a forked child, this does nothing, because the lock is the parent's.
  package func unlock() { if System.process == process { cfiles_unlock(descriptor) } }

  private func checkName(_ name: String) throws(Failure) {
    let isSingle =
      !name.isEmpty && name != "." && name != ".."
      && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    guard isSingle else { throw Failure(FileError(EINVAL, "\"\(name)\" is not one name", path: path)) }
  }
}
