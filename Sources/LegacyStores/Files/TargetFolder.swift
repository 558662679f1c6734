import CFiles
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A folder for writing that nothing leads out of. A file gets its name only when it is complete.
final class TargetFolder {
  /// The suffix of unfinished files.
  static let temporarySuffix = ".new"

  let path: String
  private let descriptor: Int32

  /// Opens the folder that a user named, or creates it; its parent must exist.
  init(making url: URL) throws(LegacyError) {
    path = url.standardizedFileURL.path(percentEncoded: false)
    if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
      throw LegacyError(systemError: errno, "the folder can't be made", path)
    }
    descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LegacyError(systemError: errno, "the folder can't be opened", path) }
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { _ = close(descriptor) }

  /// The same folder, for reading.
  func source() throws(LegacyError) -> SourceFolder { try SourceFolder(URL(fileURLWithPath: path)) }

  /// A folder in this one, created if it does not exist.
  func folder(_ name: String, isNew: Bool) throws(LegacyError) -> TargetFolder {
    let path = "\(self.path)/\(name)"
    guard name.isSingleName else {
      throw LegacyError(.wrongUse, "\"\(name)\" can't be the name of a folder", path: self.path)
    }
    if isNew, unsafe mkdirat(descriptor, name, 0o755) != 0 {
      throw LegacyError(systemError: errno, "the folder can't be made", path)
    }
    let opened = unsafe openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else { throw LegacyError(systemError: errno, "the folder can't be opened", path) }
    return TargetFolder(path: path, descriptor: opened)
  }

  /// Writes a new file without flushing it.
  /// - Parameter write: called with a function that appends bytes.
  func write(_ name: String, _ write: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    let path = "\(self.path)/\(name)"
    guard name.isSingleName else {
      throw LegacyError(.wrongUse, "\"\(name)\" can't be the name of a file", path: self.path)
    }
    let file = unsafe openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw LegacyError(systemError: errno, "the file can't be made", path) }
    do {
      try unsafe write { bytes in try unsafe Self.append(bytes, to: file, path) }
    } catch {
      _ = close(file)
      _ = unsafe unlinkat(descriptor, name, 0)
      throw error
    }
    guard close(file) == 0 else {
      let number = errno
      _ = unsafe unlinkat(descriptor, name, 0)
      throw LegacyError(systemError: number, "the file can't be written", path)
    }
  }

  private static func append(
    _ bytes: UnsafeRawBufferPointer, to file: Int32, _ path: String
  ) throws(LegacyError) {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
      let count = unsafe systemWrite(file, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw LegacyError(systemError: errno, "the file can't be written", path) }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Renames a file or a folder, replacing the target.
  func rename(_ name: String, to newName: String) throws(LegacyError) {
    guard unsafe renameat(descriptor, name, descriptor, newName) == 0 else {
      throw LegacyError(systemError: errno, "it can't be given its name", "\(path)/\(newName)")
    }
  }

  /// Removes a folder and the files in it.
  func removeFolder(_ name: String) {
    if let folder = try? folder(name, isNew: false) {
      for name in (try? folder.source().names()) ?? [] { try? folder.remove(name) }
    }
    _ = unsafe unlinkat(descriptor, name, AT_REMOVEDIR)
  }

  /// Removes a file.
  func remove(_ name: String) throws(LegacyError) {
    guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw LegacyError(systemError: errno, "the file can't be removed", "\(path)/\(name)")
    }
  }

  /// Flushes the names in the folder.
  func flush() throws(LegacyError) {
    try Self.flushed(cfiles_flush(descriptor, true), "the folder can't be flushed", path)
  }

  /// Flushes the bytes of a file in the folder.
  func flushFile(_ name: String) throws(LegacyError) {
    let file = unsafe openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else {
      throw LegacyError(systemError: errno, "the file can't be opened", "\(path)/\(name)")
    }
    defer { _ = close(file) }
    try Self.flushed(cfiles_flush(file, false), "the file can't be flushed", "\(path)/\(name)")
  }

  /// Flushes the whole file system, if the operating system supports it.
  /// - Returns: whether it does.
  func flushFileSystem() throws(LegacyError) -> Bool {
    let result = cfiles_flush_file_system(descriptor)
    if result == -ENOTSUP { return false }
    try Self.flushed(result, "the drive can't be flushed", path)
    return true
  }

  private static func flushed(_ result: Int32, _ message: String, _ path: String) throws(LegacyError) {
    if result < 0 { throw LegacyError(systemError: -result, message, path) }
  }

  static func temporaryName() -> String {
    ".\(String(UInt64.random(in: .min ... .max), radix: 36))\(temporarySuffix)"
  }
}

/// The system's function, whose name is hidden inside the type.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  unsafe write(file, bytes, count)
}
