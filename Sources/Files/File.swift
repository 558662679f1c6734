internal import CFiles
import Foundation

/// An open file. `path` is for messages only, because the file may have been moved since.
///
/// If a test has set a hook, operations that change the disk call it first. Safe to use from any thread.
package struct File<Failure: FileFailure>: ~Copyable, Sendable {
  /// What a file is opened for.
  package enum Access: Sendable {
    /// For reading. The file must exist.
    case reading
    /// For changing in place. The file must exist.
    case updating
    /// For writing a new file, which must not exist. Only the owner can use the file.
    case creating
    /// For writing a new file, which must not exist. The umask decides whether others can read the file.
    case publishing
  }

  private let descriptor: Int32
  /// The path of the file at its opening.
  package let path: String
  private let hook: FileHook?
  private let readHook: ReadHook?

  init(
    _ name: String, _ access: Access, in folder: Int32, path: String, hook: FileHook?, readHook: ReadHook?
  ) throws(Failure) {
    let (mode, permissions): (Int, UInt32) =
      switch access {
      case .reading: (CFILES_READ, 0)
      case .updating: (CFILES_UPDATE, 0)
      case .creating: (CFILES_CREATE, 0o600)
      case .publishing: (CFILES_CREATE, 0o644)
      }
    if mode == CFILES_CREATE { try hook.check(.create, path, Failure.self) }
    self.init(
      descriptor: try Self.open(
        name, Int32(mode), in: folder, followsLinks: false, permissions: permissions, path: path),
      path: path, hook: hook, readHook: readHook)
  }

  /// Opens a file that a user named, for reading. The path may be a link.
  package init(readingFrom path: String) throws(Failure) {
    self.init(
      descriptor: try Self.open(
        path, Int32(CFILES_READ), in: cfiles_current_folder(), followsLinks: true, permissions: 0, path: path),
      path: path, hook: nil, readHook: nil)
  }

  private init(descriptor: Int32, path: String, hook: FileHook?, readHook: ReadHook?) {
    self.descriptor = descriptor
    self.path = path
    self.hook = hook
    self.readHook = readHook
  }

  private static func open(
    _ name: String, _ access: Int32, in folder: Int32, followsLinks: Bool, permissions: UInt32, path: String
  ) throws(Failure) -> Int32 {
    let descriptor = try Failure.check("can't open the file", path) {
      unsafe cfiles_open(folder, name, access, followsLinks, permissions)
    }
    do throws(Failure) {
      guard try status(descriptor, path).kind == .file else {
        throw Failure(
          FileError(.isNoFile, "can't open the file: it is a folder, a pipe or a device", path: path))
      }
      return descriptor
    } catch {
      _ = cfiles_close(descriptor)
      throw error
    }
  }

  deinit { _ = cfiles_close(descriptor) }

  package func status() throws(Failure) -> FileStatus { try Self.status(descriptor, path) }

  private static func status(_ descriptor: Int32, _ path: String) throws(Failure) -> FileStatus {
    var status = cfiles_status()
    try Failure.check("can't examine the file", path) { unsafe cfiles_status_of(descriptor, &status) }
    return FileStatus(status)
  }

  package func byteCount() throws(Failure) -> Int { try status().byteCount }

  /// The number of bytes that this user can still write to the file system; nil if that is not reported.
  package func freeByteCount() throws(Failure) -> Int? { try Failure.freeByteCount(descriptor, path) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(Failure) {
    var rest = unsafe bytes
    var position = offset
    while unsafe !rest.isEmpty {
      let allowed = try unsafe hook.checkWrite(path, rest, at: position, Failure.self)
      try Failure.check("can't write the file", path) {
        unsafe cfiles_write(descriptor, rest.baseAddress, allowed, UInt64(position))
      }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[allowed...])
      position += allowed
    }
  }

  /// Reads bytes, and returns their number, which is smaller than the buffer only at the end of the file.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(Failure) -> Int {
    if case .fail(let number)? = readHook?(path, buffer.count) {
      throw Failure(FileError(number, "can't read the file", path: path))
    }
    let count = unsafe cfiles_read(descriptor, buffer.baseAddress, buffer.count, UInt64(offset))
    guard count >= 0 else { throw Failure(FileError(Int32(-count), "can't read the file", path: path)) }
    return Int(count)
  }

  /// Reads bytes from an offset on: fewer than requested only at the end of the file.
  package func piece(at offset: Int, byteCount: Int) throws(Failure) -> [UInt8] {
    // With capacity 0, the initializer writes to the shared empty array, which the thread sanitizer reports.
    guard byteCount > 0 else { return [] }
    var failure: Failure?
    let piece = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      do throws(Failure) {
        count = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return piece
  }

  /// Reads a whole file. More than `limit` bytes are an error.
  package func contents(limit: Int) throws(Failure) -> [UInt8] {
    let count = try byteCount()
    guard count <= limit else {
      throw Failure(
        FileError(.isTooLarge, "the file is larger than it can be: \(count) bytes", path: path))
    }
    return try piece(at: 0, byteCount: count)
  }

  /// Waits until the drive has confirmed all writes. After a failure the file must not be flushed again,
  /// because the system may drop the data and report success.
  package func flush() throws(Failure) {
    try hook.check(.sync, path, Failure.self)
    try Failure.check("can't flush the file to the drive", path) { cfiles_flush(descriptor, false) }
  }

  /// Asks the system to begin writing to the drive. Does not wait, and guarantees nothing.
  package func beginFlush() { cfiles_begin_flush(descriptor) }

  /// Begins to write a range to the drive, after most bytes before the range have reached the drive. So the drive never
  /// has many bytes left to write, and the next flush is short. Guarantees nothing.
  /// - Parameter unwritten: the number of bytes just before the range for which this does not wait.
  package func writeOut(_ range: Range<Int>, leaving unwritten: Int) throws(Failure) {
    try Failure.check("can't write the file to the drive", path) {
      cfiles_write_out(
        descriptor, UInt64(max(range.lowerBound - unwritten, 0)), UInt64(range.lowerBound),
        UInt64(range.count))
    }
  }

  /// Takes the lock of the file; returns false if another holder has it. Closing the file releases the lock.
  package func lock() throws(Failure) -> Bool {
    let result = cfiles_lock(descriptor, true)
    if result == -EWOULDBLOCK { return false }
    try Failure.check("can't lock the file", path) { result }
    return true
  }

  /// Returns another descriptor of this open file. The caller must close it.
  package func duplicateDescriptor() throws(Failure) -> Int32 {
    try Failure.check("can't open the file again", path) { cfiles_duplicate(descriptor) }
  }
}

/// The status of a file or folder.
package struct FileStatus: Sendable {
  /// What a name refers to, without following links.
  package enum Kind: Sendable {
    case file
    case folder
    case link
    /// A pipe, a socket or a device.
    case other

    init(_ kind: Int32) {
      switch Int(kind) {
      case CFILES_IS_FILE: self = .file
      case CFILES_IS_FOLDER: self = .folder
      case CFILES_IS_LINK: self = .link
      default: self = .other
      }
    }
  }

  package let kind: Kind
  package let byteCount: Int
  package let owner: UInt32
  /// The number of names that the file has; 0 after the file was removed.
  package let linkCount: Int
  package let identity: FileIdentity

  init(_ status: cfiles_status) {
    kind = Kind(status.kind)
    byteCount = Int(clamping: status.byte_count)
    owner = status.owner
    linkCount = Int(clamping: status.link_count)
    identity = FileIdentity(device: status.device, inode: status.inode)
  }
}

/// The identity of a file: equal for all names of one file.
package struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

extension FileFailure {
  /// Calls a C function, and throws if it returns -errno.
  @discardableResult
  static func check(_ action: String, _ path: String, _ call: () -> Int32) throws(Self) -> Int32 {
    let result = call()
    guard result >= 0 else { throw Self(FileError(-result, action, path: path)) }
    return result
  }

  static func freeByteCount(_ descriptor: Int32, _ path: String) throws(Self) -> Int? {
    let count = cfiles_free_byte_count(descriptor)
    if count == -Int64(ENOSYS) { return nil }
    guard count >= 0 else {
      throw Self(FileError(Int32(-count), "can't examine the file system", path: path))
    }
    return Int(count)
  }
}
