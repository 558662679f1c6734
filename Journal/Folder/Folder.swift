import Foundation
import LevelDB
import Locks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What stands in folders: making, listing, renaming, removing.
enum Folder {
  /// What a name in a folder stands for, links not followed.
  enum Kind {
    case file
    case folder
    case link
    case other
  }

  /// What is known of a name without opening it.
  struct Status {
    let kind: Kind
    let byteCount: Int
    let owner: UInt32
  }

  /// Nil when nothing has that name.
  static func status(_ path: String) throws(JournalError) -> Status? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw JournalError(systemError: errno, "can't examine it", path: path)
    }
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
    return Status(kind: kind, byteCount: Int(status.st_size), owner: status.st_uid)
  }

  /// The names in a folder, sorted.
  static func names(_ path: String) throws(JournalError) -> [String] {
    guard let stream = unsafe opendir(path) else {
      throw JournalError(systemError: errno, "can't list the folder", path: path)
    }
    defer { unsafe _ = closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Makes a folder for the owner alone; its parent must be flushed afterwards.
  static func make(_ path: String, hook: FileHook?) throws(JournalError) {
    try hook.check(.makeFolder(path))
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw JournalError(systemError: errno, "can't make the folder", path: path)
    }
  }

  /// Gives a file or folder a new name, replacing what had it; the folder must be flushed afterwards.
  static func rename(_ path: String, to newPath: String, hook: FileHook?) throws(JournalError) {
    try hook.check(.rename(path, to: newPath))
    // Foundation has a function of that name for the same call; this one reports errno.
    guard unsafe renameat(AT_FDCWD, path, AT_FDCWD, newPath) == 0 else {
      throw JournalError(systemError: errno, "can't rename it to \(newPath)", path: path)
    }
  }

  /// Removes a file; one that is gone already is no error.
  static func removeFile(_ path: String, hook: FileHook?) throws(JournalError) {
    try hook.check(.remove(path))
    guard unsafe unlink(path) == 0 || errno == ENOENT else {
      throw JournalError(systemError: errno, "can't remove the file", path: path)
    }
  }

  /// Returns when the drive has confirmed the names in a folder.
  static func synchronize(_ path: String, hook: FileHook?) throws(JournalError) {
    try hook.check(.syncFolder(path))
    let descriptor = retryingInterrupts { unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) }
    guard descriptor >= 0 else { throw JournalError(systemError: errno, "can't open the folder", path: path) }
    defer { _ = close(descriptor) }
    guard retryingInterrupts({ fsync(descriptor) }) == 0 else {
      throw JournalError(systemError: errno, "can't flush the folder", path: path)
    }
  }

  /// The same for many folders: flushes that wait together become one of the drive's.
  static func synchronize(_ paths: [String], hook: FileHook?) throws(JournalError) {
    // A test that counts operations wants them in order.
    guard hook == nil else {
      for path in paths { try synchronize(path, hook: hook) }
      return
    }
    let failure = Lock<JournalError?>(nil)
    // Threads of our own: a pool has as many as there are cores, and these only wait.
    Threads.forEach(below: paths.count, width: 16) { index in
      do throws(JournalError) {
        try synchronize(paths[index], hook: nil)
      } catch {
        failure.withLock { $0 = $0 ?? error }
      }
    }
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  /// Writes a new file whole, so that after any crash it is there with all its bytes or not at all.
  static func writeFile(
    _ path: String, _ contents: [UInt8], in folder: String, hook: FileHook?
  ) throws(JournalError) {
    let temporary = path + temporarySuffix
    try removeFile(temporary, hook: hook)
    do {
      let file = try File(temporary, .creating, hook: hook)
      var failure: JournalError?
      unsafe contents.withUnsafeBytes { bytes in
        do throws(JournalError) { try unsafe file.write(bytes, at: 0) } catch { failure = error }
      }
      if let failure { throw failure }
      try file.synchronize()
    }
    try rename(temporary, to: path, hook: hook)
    try synchronize(folder, hook: hook)
  }

  /// The end of the names of files that are not finished.
  static let temporarySuffix = ".new"

  /// The name that a file gets when it is finished; its own if it is.
  static func finishedName(_ name: String) -> String {
    name.hasSuffix(temporarySuffix) ? String(name.dropLast(temporarySuffix.count)) : name
  }
}

/// Fills a buffer from the operating system's source of randomness.
func fillWithRandomBytes(_ buffer: UnsafeMutableRawBufferPointer) {
  var filled = 0
  while filled < buffer.count {
    // The call gives up to 256 bytes at a time, all of them or none, and fails on a broken system only.
    let count = min(buffer.count - filled, 256)
    guard unsafe getentropy(buffer.baseAddress! + filled, count) == 0 else {
      fatalError("the operating system gives no random bytes")
    }
    filled += count
  }
}
