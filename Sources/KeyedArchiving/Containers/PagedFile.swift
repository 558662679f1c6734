internal import CFiles
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file whose pages are read into a reserved address range, each when it is first used.
///
/// The file is not mapped: truncating a mapped file ends the process, and its bytes can change after they were checked.
///
/// 1. A page's bit in `loaded` is set after the page was written and has passed its check. It is never cleared.
/// 2. Pages are written only by the holder of `lock`, and only while their bit is not set. It also guards
///    `loadedCount`.
@safe final class PagedFile {
  static let defaultPageSize = 1 << 14

  let byteCount: Int
  let path: String?
  let base: UnsafeMutableRawPointer
  let loaded: UnsafeMutablePointer<Atomic<UInt64>>
  let pageShift: Int

  private let descriptor: Int32
  private let words: Int
  private let check: @Sendable (Int, UnsafeRawBufferPointer) -> Bool
  private let lock = NSLock()
  private var loadedCount = 0

  /// - Parameter descriptor: The open file. This object closes it, even if this initializer throws.
  init(
    descriptor: Int32, byteCount: Int, pageSize: Int, path: String?,
    check: @escaping @Sendable (Int, UnsafeRawBufferPointer) -> Bool
  ) throws(ArchiveError) {
    precondition(pageSize >= 4096 && pageSize.nonzeroBitCount == 1, "a page size is a power of two")
    precondition(byteCount >= 0, "a file has no negative size")
    self.descriptor = descriptor
    self.byteCount = byteCount
    self.path = path
    unsafe self.check = unsafe check
    pageShift = pageSize.trailingZeroBitCount
    // This reserves only addresses. A page gets memory when it is written.
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    let address = unsafe mmap(nil, max(byteCount, 1), PROT_READ | PROT_WRITE, flags, -1, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else {
      let number = errno
      _ = cfiles_close(descriptor)
      throw ArchiveError(
        .io, "There is not enough address space for a file of \(byteCount) bytes: \(reason(number))",
        path: path)
    }
    unsafe base = address
    words = ((byteCount >> pageShift) >> 6) + 1
    unsafe loaded = .allocate(capacity: words)
    for word in 0..<words { unsafe (loaded + word).initialize(to: Atomic(0)) }
  }

  convenience init(opening path: String, limits: ArchiveLimits) throws(ArchiveError) {
    let descriptor = unsafe cfiles_open(cfiles_current_folder(), path, Int32(CFILES_READ), true, 0)
    guard descriptor >= 0 else {
      throw ArchiveError(.io, "The file can't be opened: \(reason(-descriptor))", path: path)
    }
    var status = cfiles_status()
    let result = unsafe cfiles_status_of(descriptor, &status)
    guard result == 0 else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(.io, "The file can't be examined: \(reason(-result))", path: path)
    }
    guard status.kind == CFILES_IS_FILE else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(.io, "This is a folder or a device, where a file is needed", path: path)
    }
    let byteCount = Int(clamping: status.byte_count)
    guard byteCount <= limits.byteCount else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(
        .limitExceeded, "The file has \(byteCount) bytes; the limit is \(limits.byteCount)", path: path)
    }
    try unsafe self.init(
      descriptor: descriptor, byteCount: byteCount, pageSize: Self.defaultPageSize, path: path
    ) { _, _ in true }
  }

  deinit {
    _ = cfiles_close(descriptor)
    unsafe munmap(base, max(byteCount, 1))
    unsafe loaded.deinitialize(count: words)
    unsafe loaded.deallocate()
  }

  /// Reads those of the pages that were not read before.
  func load(_ pages: ClosedRange<Int>) throws(ArchiveError) {
    for page in pages where !isLoaded(page) {
      lock.lock()
      defer { lock.unlock() }
      if isLoaded(page) { continue }
      try read(page)
      let bit = UInt64(1) << UInt64(page & 63)
      unsafe loaded[page >> 6].bitwiseOr(bit, ordering: .releasing)
      loadedCount += 1
    }
  }

  /// The number of bytes of all pages that were read.
  var loadedByteCount: Int { lock.withLock { loadedCount } << pageShift }

  private func isLoaded(_ page: Int) -> Bool {
    unsafe loaded[page >> 6].load(ordering: .acquiring) & (1 << UInt64(page & 63)) != 0
  }

  private func read(_ page: Int) throws(ArchiveError) {
    let start = page << pageShift
    let size = min(1 << pageShift, byteCount - start)
    let count = unsafe cfiles_read(descriptor, base + start, size, UInt64(start))
    guard count >= 0 else {
      throw ArchiveError(
        .io, "The file can't be read: \(reason(Int32(-count)))", offset: start, path: path)
    }
    guard count == size else {
      throw ArchiveError(
        .damaged, "The file was truncated while it was open: it had \(byteCount) bytes",
        offset: start + Int(count), path: path)
    }
    guard unsafe check(page, UnsafeRawBufferPointer(start: base + start, count: size)) else {
      throw ArchiveError(
        .damaged, "The \(size) bytes from byte \(start) on are not those that were written", offset: start,
        path: path)
    }
  }
}

/// The system's message for an error number.
private func reason(_ number: Int32) -> String {
  unsafe String(cString: strerror(number))
}
