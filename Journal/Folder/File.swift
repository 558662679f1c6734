import Foundation
import LevelDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An open file or folder of the journal: the one place where the engine calls the operating system.
///
/// Nothing follows symbolic links, everything is for the owner alone, and every failure becomes a
/// ``JournalError`` that names the path. Operations that change the disk are told to the hook first, if a
/// test has set one.
struct File: ~Copyable {
  /// What the file is for.
  enum Access {
    /// Must exist.
    case reading
    /// Must exist; is changed in place.
    case updating
    /// Must not exist.
    case creating
  }

  private let descriptor: Int32
  let path: String
  private let hook: FileHook?

  init(_ path: String, _ access: Access, hook: FileHook? = nil) throws(JournalError) {
    let flags: Int32 =
      switch access {
      case .reading: O_RDONLY
      case .updating: O_RDWR
      case .creating: O_RDWR | O_CREAT | O_EXCL
      }
    if access == .creating { try hook.check(.create(path)) }
    let opened = retryingInterrupts { unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard opened >= 0 else { throw JournalError(systemError: errno, "can't open the file", path: path) }
    descriptor = opened
    self.path = path
    self.hook = hook
  }

  deinit { _ = close(descriptor) }

  /// The file's size in bytes.
  func byteCount() throws(JournalError) -> Int { Int(try status().st_size) }

  /// Which file it is, whatever its name.
  func identity() throws(JournalError) -> FileIdentity {
    let status = try status()
    return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  private func status() throws(JournalError) -> stat {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw failure("can't examine the file") }
    return status
  }

  /// How many bytes the file system has left for this user.
  func freeByteCount() throws(JournalError) -> Int {
    var status = statvfs()
    guard unsafe fstatvfs(descriptor, &status) == 0 else { throw failure("can't examine the file system") }
    let (count, isTooLarge) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isTooLarge ? .max : Int(clamping: count)
  }

  /// Writes all bytes at an offset.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(JournalError) {
    var rest = unsafe bytes
    var position = offset
    while unsafe !rest.isEmpty {
      let allowed = try unsafe hook.checkWrite(path, rest, at: position)
      let written = retryingInterrupts {
        unsafe pwrite(descriptor, rest.baseAddress, allowed, off_t(position))
      }
      guard written > 0 else { throw failure("can't write the file") }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      position += written
    }
  }

  /// Fills the buffer from an offset on; gives how many bytes there were.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = retryingInterrupts {
        unsafe pread(descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset + filled))
      }
      guard count >= 0 else { throw failure("can't read the file") }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// All bytes of a small file.
  func contents(limit: Int) throws(JournalError) -> [UInt8] {
    let count = try byteCount()
    guard count <= limit else {
      throw JournalError(.damaged, "the file is larger than it can be: \(count) bytes", path: path)
    }
    var contents = [UInt8](repeating: 0, count: count)
    var failure: JournalError?
    var filled = 0
    unsafe contents.withUnsafeMutableBytes { buffer in
      do throws(JournalError) { filled = try unsafe read(into: buffer, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
    return Array(contents.prefix(filled))
  }

  /// Maps the file. The bytes stay readable when the file is removed.
  func mapped() throws(JournalError) -> Data {
    let count = try byteCount()
    guard count > 0 else { return Data() }
    let address = unsafe mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else {
      throw failure("can't map the file")
    }
    return unsafe Data(bytesNoCopy: address, count: count, deallocator: .unmap)
  }

  /// Returns when the drive has confirmed what was written.
  func synchronize() throws(JournalError) {
    try hook.check(.sync(path))
    #if canImport(Darwin)
      // There, fsync does not reach the drive; file systems that can't do better refuse F_FULLFSYNC.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
      let result = fsync(descriptor)
    #else
      let result = retryingInterrupts { fdatasync(descriptor) }
    #endif
    guard result == 0 else { throw failure("can't flush the file") }
  }

  /// Another descriptor of the same open file, for who owns one by itself.
  func duplicateDescriptor() throws(JournalError) -> Int32 {
    let duplicate = retryingInterrupts { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard duplicate >= 0 else { throw failure("can't open the file once more") }
    return duplicate
  }

  /// Where it is now, also after it was moved; nil when the system does not say.
  func currentPath() -> String? {
    #if canImport(Darwin)
      var buffer = [CChar](repeating: 0, count: Int(MAXPATHLEN))
      guard unsafe fcntl(descriptor, F_GETPATH, &buffer) == 0 else { return nil }
      return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #else
      return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
    #endif
  }

  /// Takes the lock of the whole file, false when somebody else has it. It ends with the file.
  func lock(exclusive: Bool) throws(JournalError) -> Bool {
    let result = retryingInterrupts { flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) }
    if result == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw failure("can't lock the file")
  }

  private func failure(_ message: String) -> JournalError {
    JournalError(systemError: errno, message, path: path)
  }
}

/// Which file a name means: names can differ for one file, this can't.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

@inline(__always)
func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

extension JournalError {
  /// What a failed call of the operating system means to a person.
  init(systemError number: Int32, _ message: String, path: String) {
    let code: Code =
      switch number {
      case EACCES, EPERM, EROFS: .permission
      case ENOENT: .notFound
      case EEXIST, ENOTEMPTY: .alreadyExists
      case EMFILE, ENFILE, ENOMEM, EAGAIN: .outOfResources
      default: .io
      }
    let reason: String
    switch number {
    case ELOOP: reason = "it is a symbolic link, and a journal has none"
    case ENOSPC: reason = "the disk is full; make room and open the journal again"
    default: reason = unsafe String(cString: strerror(number))
    }
    self.init(code, "\(message): \(reason)", path: path)
  }
}
