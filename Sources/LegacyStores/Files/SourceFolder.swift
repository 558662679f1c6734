import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A folder for reading that nothing leads out of: names are single names, and links are refused.
///
/// Each step is relative to an open folder, so a link can't be inserted into the path in between.
final class SourceFolder: Sendable {
  /// The kind of a name in a folder.
  enum Kind: Sendable {
    case file
    case folder
    case link
    case other
  }

  let path: String
  private let descriptor: Int32

  /// Opens the folder that a user named, which may be behind a link.
  init(_ url: URL) throws(LegacyError) {
    path = url.standardizedFileURL.path(percentEncoded: false)
    descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LegacyError(systemError: errno, "the folder can't be opened", path) }
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { _ = close(descriptor) }

  /// The names in it, numeric ones in the order of the numbers.
  func names() throws(LegacyError) -> [String] {
    // A stream closes its descriptor, so it gets a separate one, with a separate read position.
    let own = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard own >= 0, let stream = unsafe fdopendir(own) else {
      throw LegacyError(systemError: errno, "the folder can't be listed", path)
    }
    defer { unsafe _ = closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let bytes = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: UInt8.self, capacity: 256) { name in
          unsafe Array(UnsafeBufferPointer(start: name, count: strnlen(name, 256)))
        }
      }
      // A name that is not UTF-8 can't be opened, and is recognized by its replacement character.
      let name = String(decoding: bytes, as: UTF8.self)
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { left, right in
      (left.leadingNumber ?? .max, left) < (right.leadingNumber ?? .max, right)
    }
  }

  /// The kind of a name; nil if nothing has it.
  func kind(of name: String) throws(LegacyError) -> Kind? {
    var status = stat()
    guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw LegacyError(systemError: errno, "it can't be examined", "\(path)/\(name)")
    }
    return Self.kind(status)
  }

  /// A folder in this one.
  func folder(_ name: String) throws(LegacyError) -> SourceFolder {
    let path = "\(self.path)/\(name)"
    try checkName(name)
    let opened = unsafe openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else {
      if try kind(of: name) == .link { throw Self.link(path) }
      throw LegacyError(systemError: errno, "the folder can't be opened", path)
    }
    return SourceFolder(path: path, descriptor: opened)
  }

  /// A file in this folder or in a folder below it.
  func file(_ names: [String]) throws(LegacyError) -> SourceFile {
    guard let first = names.first else { throw LegacyError(.notFound, "a file has a name", path: path) }
    if names.count > 1 { return try folder(first).file(Array(names.dropFirst())) }
    let path = "\(self.path)/\(first)"
    try checkName(first)
    // A pipe must not block.
    let opened = unsafe openat(descriptor, first, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard opened >= 0 else {
      if errno == ELOOP { throw Self.link(path) }
      throw LegacyError(systemError: errno, "the file can't be opened", path)
    }
    return try SourceFile(path: path, descriptor: opened)
  }

  private func checkName(_ name: String) throws(LegacyError) {
    guard name.isSingleName else {
      throw LegacyError(.wrongUse, "\"\(name)\" is not the name of something in the folder", path: path)
    }
  }

  static func link(_ path: String) -> LegacyError {
    LegacyError(
      .unreadable, "it is a symbolic link, which could lead anywhere; put the file itself there", path: path)
  }

  fileprivate static func kind(_ status: stat) -> Kind {
    switch status.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .folder
    case S_IFLNK: .link
    default: .other
    }
  }
}

/// A file that is only read.
final class SourceFile: Sendable {
  /// How much is read at a time.
  static let pieceByteCount = 64 << 10

  let path: String
  let byteCount: Int
  private let descriptor: Int32

  /// Opens the file that a user named, which may be behind a link.
  convenience init(_ url: URL) throws(LegacyError) {
    let path = url.standardizedFileURL.path(percentEncoded: false)
    let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw LegacyError(systemError: errno, "the file can't be opened", path) }
    try self.init(path: path, descriptor: descriptor)
  }

  fileprivate init(path: String, descriptor: Int32) throws(LegacyError) {
    self.path = path
    self.descriptor = descriptor
    var status = stat()
    let failure: LegacyError? =
      if unsafe fstat(descriptor, &status) != 0 {
        LegacyError(systemError: errno, "the file can't be examined", path)
      } else if SourceFolder.kind(status) != .file {
        LegacyError(.unreadable, "it is not a file", path: path)
      } else {
        nil
      }
    byteCount = Int(status.st_size)
    // If this throws, deinitializing the object closes the descriptor.
    if let failure { throw failure }
  }

  deinit { _ = close(descriptor) }

  /// All bytes.
  func contents(limit: Int) throws(LegacyError) -> Data {
    guard byteCount <= limit else {
      throw LegacyError(
        .unreadable, "the file has \(byteCount) bytes, and such a file may have \(limit)", path: path)
    }
    var data = Data(capacity: byteCount)
    var buffer = [UInt8](repeating: 0, count: Self.pieceByteCount)
    while case let count = try read(into: &buffer, at: data.count), count > 0 {
      data.append(contentsOf: buffer[..<count])
      guard data.count <= limit else {
        throw LegacyError(.unreadable, "the file grows while it is read", path: path)
      }
    }
    return data
  }

  /// The first bytes, to detect the type.
  func head() throws(LegacyError) -> [UInt8] {
    var head = [UInt8](repeating: 0, count: 64)
    let count = try read(into: &head, at: 0)
    return Array(head.prefix(count))
  }

  /// Calls `body` with the bytes piece by piece.
  func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var buffer = [UInt8](repeating: 0, count: Self.pieceByteCount)
    var offset = 0
    while case let count = try read(into: &buffer, at: offset), count > 0 {
      try unsafe buffer.withUnsafeBytes { try unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      offset += count
    }
  }

  private func read(into buffer: inout [UInt8], at offset: Int) throws(LegacyError) -> Int {
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
      }
      if count >= 0 { return count }
      if errno != EINTR { throw LegacyError(systemError: errno, "the file can't be read", path) }
    }
  }
}

extension String {
  /// Whether it is a single name and not a path.
  var isSingleName: Bool {
    !isEmpty && self != "." && self != ".." && !utf8.contains(UInt8(ascii: "/")) && !utf8.contains(0)
      && utf8.count <= 255
  }

  /// The number that it begins with.
  var leadingNumber: Int? {
    let digits = utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}

extension LegacyError {
  /// The error for a failed call of the operating system.
  init(systemError number: Int32, _ message: String, _ path: String) {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR: .notFound
      case EEXIST, ENOTEMPTY: .alreadyExists
      case EACCES, EPERM: .unreadable
      default: .io
      }
    let reason =
      switch number {
      case ENOENT: "there is nothing of that name"
      case ENOSPC: "the disk is full"
      default: unsafe String(cString: strerror(number))
      }
    self.init(code, "\(message): \(reason)", path: path)
  }
}
