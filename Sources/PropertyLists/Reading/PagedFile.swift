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

/// A file whose pages are read into a reserved address range when they are first used. If the two pages before are there,
/// this may be a scan, so the rest of the 64 KiB is read too.
///
/// The file is not mapped: truncating a mapped file ends the process, and its bytes can change after they were checked.
///
/// 1. A page's bit in `loaded` is set after the page was written and has passed its check. Only ``unload()`` clears it.
/// 2. Pages are written only by the holder of the lock of their group, and only while their bit is not set.
@safe final class PagedFile {
  static let defaultPageSize = 1 << 14
  /// How many bytes a scan reads at once.
  private static let groupByteCount = 64 << 10
  private static let hugePageByteCount = 2 << 20

  let byteCount: Int
  let path: String?
  let base: UnsafeMutableRawPointer
  let loaded: UnsafeMutablePointer<Atomic<UInt64>>
  let pageShift: Int

  private let reservedByteCount: Int
  private let descriptor: Int32
  private let words: Int
  private let check: @Sendable (Int, UnsafeRawBufferPointer) -> Bool
  private let didRead: (@Sendable (Int) -> Void)?
  /// Threads that read different groups of pages do not wait for one another.
  private let locks = (0..<8).map { _ in NSLock() }
  private let groupShift: Int
  private let loadedCount = Atomic<Int>(0)

  /// - Parameters:
  ///   - descriptor: The open file. This object closes it, even if this initializer throws.
  ///   - check: Returns whether the bytes of a page are valid.
  ///   - didRead: Called after pages were read, with the number of their bytes.
  init(
    descriptor: Int32, byteCount: Int, pageSize: Int, path: String?,
    check: @escaping @Sendable (Int, UnsafeRawBufferPointer) -> Bool,
    didRead: (@Sendable (Int) -> Void)? = nil
  ) throws(ArchiveError) {
    precondition(pageSize >= 4096 && pageSize.nonzeroBitCount == 1, "a page size is a power of two")
    precondition(byteCount >= 0, "a file has no negative size")
    self.descriptor = descriptor
    self.byteCount = byteCount
    // A whole number of huge pages, because then Linux makes the range begin with one.
    let unit = byteCount < Self.hugePageByteCount ? 1 : Self.hugePageByteCount
    reservedByteCount = byteCount > .max - unit ? byteCount : max((byteCount + unit - 1) / unit * unit, 1)
    self.path = path
    unsafe self.check = unsafe check
    self.didRead = didRead
    pageShift = pageSize.trailingZeroBitCount
    groupShift = max(Self.groupByteCount.trailingZeroBitCount - pageShift, 0)
    // This reserves only addresses. A page gets memory when it is written.
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    let address = unsafe mmap(nil, reservedByteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else {
      let number = errno
      _ = cfiles_close(descriptor)
      throw ArchiveError(
        .io, "there is not enough address space for a file of \(byteCount) bytes: \(reason(number))",
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
      throw ArchiveError(.io, "the file can't be opened: \(reason(-descriptor))", path: path)
    }
    var status = cfiles_status()
    let result = unsafe cfiles_status_of(descriptor, &status)
    guard result == 0 else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(.io, "the file can't be examined: \(reason(-result))", path: path)
    }
    guard status.kind == CFILES_IS_FILE else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(.io, "this is a folder or a device, where a file is needed", path: path)
    }
    let byteCount = Int(clamping: status.byte_count)
    guard byteCount <= limits.byteCount else {
      _ = cfiles_close(descriptor)
      throw ArchiveError(
        .limitExceeded, "the file has \(byteCount) bytes; the limit is \(limits.byteCount)", path: path)
    }
    try unsafe self.init(
      descriptor: descriptor, byteCount: byteCount, pageSize: Self.defaultPageSize, path: path,
      check: { _, _ in true })
  }

  deinit {
    _ = cfiles_close(descriptor)
    unsafe munmap(base, reservedByteCount)
    unsafe loaded.deinitialize(count: words)
    unsafe loaded.deallocate()
  }

  /// The same file without its pages, which are read again.
  /// - Throws: `io` if the system lacks a descriptor or address space.
  func reopened() throws(ArchiveError) -> PagedFile {
    let duplicate = cfiles_duplicate(descriptor)
    guard duplicate >= 0 else {
      throw ArchiveError(.io, "the file can't be opened again: \(reason(-duplicate))", path: path)
    }
    return unsafe try PagedFile(
      descriptor: duplicate, byteCount: byteCount, pageSize: 1 << pageShift, path: path, check: check,
      didRead: didRead)
  }

  /// Frees the memory of all pages. They are read again when they are needed.
  ///
  /// Unsafe unless no other thread reads, and no pointer to a page is in use.
  @unsafe func unload() {
    for word in 0..<words { unsafe loaded[word].store(0, ordering: .relaxed) }
    loadedCount.store(0, ordering: .relaxed)
    // If this fails, the pages stay in memory, and are overwritten with the same bytes.
    #if canImport(Darwin)
      unsafe madvise(base, reservedByteCount, MADV_FREE)
    #else
      unsafe madvise(base, reservedByteCount, MADV_DONTNEED)
      // Whatever is read next may be single pages.
      unsafe madvise(base, reservedByteCount, MADV_NOHUGEPAGE)
    #endif
  }

  /// Reads those of the pages that were not read before.
  func load(_ pages: ClosedRange<Int>) throws(ArchiveError) {
    let before = loadedByteCount
    for page in pages where !isLoaded(page) {
      let lock = locks[(page >> groupShift) % locks.count]
      lock.lock()
      defer { lock.unlock() }
      if isLoaded(page) { continue }
      useHugePage(at: page)
      try read(page..<end(of: page))
    }
    // Without a lock, because the caller may open files.
    didRead?(loadedByteCount - before)
  }

  /// The number of bytes of all pages that were read.
  var loadedByteCount: Int { loadedCount.load(ordering: .relaxed) << pageShift }

  private func isLoaded(_ page: Int) -> Bool {
    unsafe loaded[page >> 6].load(ordering: .acquiring) & (1 << UInt64(page & 63)) != 0
  }

  /// The end of the pages to read with one that is needed. In a scan, this is the end of its 64 KiB.
  private func end(of page: Int) -> Int {
    guard page > 1, isLoaded(page - 1), isLoaded(page - 2) else { return page + 1 }
    let groupEnd = ((page >> groupShift) + 1) << groupShift
    let limit = min(groupEnd, ((byteCount - 1) >> pageShift) + 1)
    return (page + 1..<limit).first(where: isLoaded) ?? limit
  }

  /// Lets Linux use one huge page for the 2 MiB that a page is in, if a scan comes to them: most of the megabyte before
  /// was read, and nothing after it. Giving memory to a file in pages of 4 KiB takes twice as long as reading it.
  private func useHugePage(at page: Int) {
    #if !canImport(Darwin)
      let size = Self.hugePageByteCount
      let address = unsafe Int(bitPattern: base)
      let offset = ((address + (page << pageShift)) & ~(size - 1)) - address
      guard offset > 0, offset + size <= byteCount else { return }
      let (first, count) = (offset >> pageShift, size >> pageShift)
      // Their bits are whole words.
      guard count >= 64 else { return }
      let before = max(first - count / 2, 0) >> 6..<first >> 6
      guard loadedCount(inWords: (first + 63) >> 6..<(first + count) >> 6) == 0,
        2 * loadedCount(inWords: before) > 64 * before.count
      else { return }
      // If this fails, pages are used as before.
      unsafe madvise(base + offset, size, MADV_HUGEPAGE)
    #endif
  }

  /// How many pages are read whose bits are in some words.
  private func loadedCount(inWords words: Range<Int>) -> Int {
    words.reduce(0) { unsafe $0 + loaded[$1].load(ordering: .relaxed).nonzeroBitCount }
  }

  /// Reads pages, of which the first is needed. If another one fails, it is read again when it is needed.
  private func read(_ pages: Range<Int>) throws(ArchiveError) {
    let start = pages.lowerBound << pageShift
    let size = min(pages.upperBound << pageShift, byteCount) - start
    let count = unsafe cfiles_read(descriptor, base + start, size, UInt64(start))
    if count < 0, pages.count > 1 { return try read(pages.prefix(1)) }
    guard count >= 0 else {
      throw ArchiveError(
        .io, "the file can't be read: \(reason(Int32(-count)))", offset: start, path: path)
    }
    for page in pages {
      let pageStart = page << pageShift
      let pageSize = min(1 << pageShift, byteCount - pageStart)
      guard start + Int(count) >= pageStart + pageSize else {
        if page > pages.lowerBound { return }
        throw ArchiveError(
          .damaged, "the file was truncated while it was open: it had \(byteCount) bytes",
          offset: start + Int(count), path: path)
      }
      guard unsafe check(page, UnsafeRawBufferPointer(start: base + pageStart, count: pageSize)) else {
        if page > pages.lowerBound { return }
        throw ArchiveError(
          .damaged, "the \(pageSize) bytes from byte \(pageStart) on are not those that were written",
          offset: pageStart, path: path)
      }
      unsafe loaded[page >> 6].bitwiseOr(1 << UInt64(page & 63), ordering: .releasing)
      loadedCount.add(1, ordering: .relaxed)
    }
  }
}

/// The system's message for an error number.
private func reason(_ number: Int32) -> String {
  unsafe String(cString: strerror(number))
}
