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

/// A file whose pages are read into a reserved address range when they are first used. If the two pages before a page
/// are in memory, the file is probably being scanned, so the rest of the page's group of 64 KiB is read too.
///
/// The file is not mapped: truncating a mapped file ends the process, and mapped bytes can change after their check.
///
/// 1. A page's bit in `present` is set after the page was read into memory and has passed its check. Readers look only
///    at the page's bit in `loaded`, which is set when a reader needs the page. All bits in `loaded` are cleared from
///    time to time, so a set bit means that the page was used since then.
/// 2. Only the holder of the lock of a group writes and frees its pages. A page is written only while its bit in
///    `present` is clear. A page is freed only if its bit in `loaded` is clear, and if all reads that began before the
///    bits in `loaded` were cleared have ended.
@safe package final class PagedFile: @unchecked Sendable {
  // Unchecked because the compiler can't see that rule 2 guards the memory, and that `isFreeing` guards two properties.

  package static let defaultPageSize = 1 << 14
  private static let groupByteCount = 64 << 10
  private static let hugePageByteCount = 2 << 20

  let byteCount: Int
  let path: String?
  let base: UnsafeMutableRawPointer
  let loaded: UnsafeMutablePointer<Atomic<UInt64>>
  let pageShift: Int

  private let present: UnsafeMutablePointer<Atomic<UInt64>>
  private let presentCount = Atomic<Int>(0)
  /// Counts the reads in progress; nil without a quota, because no page is then freed during a read.
  let reads: ReadGenerations?
  private let isFreeing = Atomic<Bool>(false)
  /// Whether a new generation of reads began when the bits in `loaded` were last cleared, so that all earlier reads are
  /// in the older one. Only the thread that has set `isFreeing` uses this property and `nextToFree`.
  private var isGenerationOfCleared = false
  /// The offset at which the next search for pages to free begins.
  private var nextToFree = 0

  private let reservedByteCount: Int
  private let descriptor: Int32
  private let words: Int
  private let check: @Sendable (Int, UnsafeRawBufferPointer) -> Bool
  /// Bounds the pages in memory; nil if pages are never freed during a read.
  let quota: PageQuota?
  /// Identifies the file in the buffers of the quota, which several files share.
  let number = nextNumber.add(1, ordering: .relaxed).newValue
  /// Each lock is for every eighth group of pages, so that threads rarely wait for each other.
  private let locks = (0..<8).map { _ in NSLock() }
  private let groupShift: Int

  /// `ArchiveBytes.init(descriptor:byteCount:pageSize:path:check:quota:)` describes the parameters.
  init(
    descriptor: Int32, byteCount: Int, pageSize: Int, path: String?,
    check: @escaping @Sendable (Int, UnsafeRawBufferPointer) -> Bool,
    quota: PageQuota? = nil
  ) throws(ArchiveError) {
    precondition(pageSize >= 4096 && pageSize.nonzeroBitCount == 1, "a page size is a power of two")
    precondition(byteCount >= 0, "a file has no negative size")
    self.descriptor = descriptor
    self.byteCount = byteCount
    // Linux aligns the range to a huge page if its size is a whole number of huge pages.
    let unit = byteCount < Self.hugePageByteCount ? 1 : Self.hugePageByteCount
    reservedByteCount = byteCount > .max - unit ? byteCount : max((byteCount + unit - 1) / unit * unit, 1)
    self.path = path
    unsafe self.check = unsafe check
    self.quota = quota
    reads = quota == nil ? nil : ReadGenerations()
    pageShift = pageSize.trailingZeroBitCount
    groupShift = max(Self.groupByteCount.trailingZeroBitCount - pageShift, 0)
    // Only addresses are reserved. A page gets memory when it is written.
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
    #if !canImport(Darwin)
      // If huge pages are enabled for all memory, the first page that is read would otherwise take 2 MiB.
      unsafe madvise(address, reservedByteCount, MADV_NOHUGEPAGE)
    #endif
    unsafe base = address
    words = ((byteCount >> pageShift) >> 6) + 1
    unsafe loaded = .allocate(capacity: words)
    unsafe present = .allocate(capacity: words)
    for word in 0..<words {
      unsafe (loaded + word).initialize(to: Atomic(0))
      unsafe (present + word).initialize(to: Atomic(0))
    }
    quota?.register(self)
  }

  deinit {
    quota?.subtract(loadedByteCount)
    _ = cfiles_close(descriptor)
    unsafe munmap(base, reservedByteCount)
    unsafe loaded.deinitialize(count: words)
    unsafe loaded.deallocate()
    unsafe present.deinitialize(count: words)
    unsafe present.deallocate()
  }

  /// Opens the file a second time, without pages in memory and without a quota.
  /// - Throws: `io` if the system lacks a descriptor or address space.
  func reopened() throws(ArchiveError) -> PagedFile {
    let duplicate = cfiles_duplicate(descriptor)
    guard duplicate >= 0 else {
      throw ArchiveError(.io, "the file can't be opened again: \(reason(-duplicate))", path: path)
    }
    return unsafe try PagedFile(
      descriptor: duplicate, byteCount: byteCount, pageSize: 1 << pageShift, path: path, check: check)
  }

  /// Frees the memory of all pages. They are read again when they are needed.
  ///
  /// Safe only if no other thread reads and no pointer to a page is in use.
  @unsafe func unload() {
    for word in 0..<words {
      unsafe loaded[word].store(0, ordering: .relaxed)
      unsafe present[word].store(0, ordering: .relaxed)
    }
    quota?.subtract(loadedByteCount)
    presentCount.store(0, ordering: .relaxed)
    unsafe free(0, byteCount: reservedByteCount)
    forbidHugePages()
  }

  /// Keeps Linux from filling the gaps that freed pages leave in huge pages, and from giving 2 MiB to a single page.
  private func forbidHugePages() {
    #if !canImport(Darwin)
      unsafe madvise(base, reservedByteCount, MADV_NOHUGEPAGE)
    #endif
  }

  /// Frees pages that were not used since the last call, then clears all bits in `loaded`, so that the next call knows
  /// which pages were used. Does nothing while a read from before the last call is in progress.
  /// - Returns: how many bytes were freed.
  func freeUnusedPages(atMost byteCount: Int) -> Int {
    guard let reads, !isFreeing.exchange(true, ordering: .acquiring) else { return 0 }
    defer { isFreeing.store(false, ordering: .releasing) }
    guard reads.olderHaveEnded() else { return 0 }
    var freed = 0
    if isGenerationOfCleared {
      // Frees whole pages of the system, which may be larger than those of the file.
      let size = max(1 << pageShift, Int(sysconf(Int32(_SC_PAGESIZE))))
      for _ in 0..<(self.byteCount + size - 1) / size where freed < byteCount {
        freed += freeUnusedPages(at: nextToFree, byteCount: size)
        nextToFree = nextToFree + size < self.byteCount ? nextToFree + size : 0
      }
      if freed > 0 { forbidHugePages() }
    }
    for word in 0..<words { unsafe loaded[word].store(0, ordering: .relaxed) }
    // Since the check above, a read of the older generation may have begun and seen bits before they were cleared.
    isGenerationOfCleared = reads.olderHaveEnded()
    if isGenerationOfCleared { reads.beginGeneration() }
    return freed
  }

  /// Frees a page of the system, unless a part of it is in use.
  /// - Returns: how many bytes were freed.
  private func freeUnusedPages(at offset: Int, byteCount: Int) -> Int {
    let pages = offset >> pageShift..<(min(offset + byteCount, self.byteCount) - 1) >> pageShift + 1
    guard pages.contains(where: isPresent), !pages.contains(where: isLoaded) else { return 0 }
    let lock = lock(of: pages.lowerBound)
    lock.lock()
    defer { lock.unlock() }
    // Since the check above, a reader may have used a page.
    guard !pages.contains(where: isLoaded) else { return 0 }
    unsafe free(offset, byteCount: byteCount)
    let freed = pages.filter(isPresent)
    for page in freed { unsafe present[page >> 6].bitwiseAnd(~Self.bit(page), ordering: .relaxed) }
    presentCount.subtract(freed.count, ordering: .relaxed)
    quota?.subtract(freed.count << pageShift)
    return freed.count << pageShift
  }

  /// Returns memory to the system. If that fails, the memory stays, and a later read overwrites it with the same bytes.
  @unsafe private func free(_ offset: Int, byteCount: Int) {
    #if canImport(Darwin)
      unsafe madvise(base + offset, byteCount, MADV_FREE)
    #else
      unsafe madvise(base + offset, byteCount, MADV_DONTNEED)
    #endif
  }

  /// Reads the pages that are not in memory.
  /// - Returns: A buffer with the pages, for this caller, if the quota has no room; nil if they are in shared memory.
  func load(_ pages: ClosedRange<Int>) throws(ArchiveError) -> PageBuffer? {
    if let quota, !quota.hasRoom, !pages.allSatisfy(isPresent) {
      defer { quota.count(used: pages.count << pageShift) }
      return try buffer(of: pages, quota)
    }
    var count = 0
    for page in pages where !isLoaded(page) {
      let lock = lock(of: page)
      lock.lock()
      defer { lock.unlock() }
      if isPresent(page) {
        unsafe loaded[page >> 6].bitwiseOr(Self.bit(page), ordering: .releasing)
        count += 1
      } else {
        useHugePage(at: page)
        count += try read(page..<end(of: page))
      }
    }
    // Must be called without a lock, because it may free pages of this file, which takes their locks.
    if count > 0 { quota?.count(used: count << pageShift) }
    return nil
  }

  private func buffer(of pages: ClosedRange<Int>, _ quota: PageQuota) throws(ArchiveError) -> PageBuffer {
    let byteCount = pages.count << pageShift
    let buffer = quota.buffer(of: number, pages, byteCount: byteCount)
    if buffer.has(pages, of: number) { return buffer }
    try unsafe buffer.fill(with: pages, of: number, byteCount: byteCount) { target throws(ArchiveError) in
      var page = pages.lowerBound
      while page <= pages.upperBound {
        let offset = (page - pages.lowerBound) << pageShift
        page += try unsafe read(page..<pages.upperBound + 1, to: target + offset)
      }
    }
    return buffer
  }

  var loadedByteCount: Int { presentCount.load(ordering: .relaxed) << pageShift }

  private static func bit(_ page: Int) -> UInt64 { 1 << UInt64(page & 63) }

  private func isLoaded(_ page: Int) -> Bool {
    unsafe loaded[page >> 6].load(ordering: .acquiring) & Self.bit(page) != 0
  }

  private func isPresent(_ page: Int) -> Bool {
    unsafe present[page >> 6].load(ordering: .acquiring) & Self.bit(page) != 0
  }

  private func lock(of page: Int) -> NSLock { locks[(page >> groupShift) % locks.count] }

  /// The end of the range to read if `page` is needed. In a scan, the range extends to the end of the page's 64 KiB or
  /// to the next page in memory; otherwise it is one page.
  private func end(of page: Int) -> Int {
    guard page > 1, isPresent(page - 1), isPresent(page - 2) else { return page + 1 }
    let groupEnd = ((page >> groupShift) + 1) << groupShift
    let limit = min(groupEnd, ((byteCount - 1) >> pageShift) + 1)
    return (page + 1..<limit).first(where: isPresent) ?? limit
  }

  /// Lets Linux use one huge page for the 2 MiB around a page if a scan has reached them: nothing in them is in memory,
  /// but most of the megabyte before is. Allocating memory in pages of 4 KiB takes twice as long as reading a file.
  private func useHugePage(at page: Int) {
    #if !canImport(Darwin)
      let size = Self.hugePageByteCount
      let address = unsafe Int(bitPattern: base)
      let offset = ((address + (page << pageShift)) & ~(size - 1)) - address
      guard offset > 0, offset + size <= byteCount else { return }
      let (first, count) = (offset >> pageShift, size >> pageShift)
      // Present pages are counted in whole words of 64 bits.
      guard count >= 64 else { return }
      let before = max(first - count / 2, 0) >> 6..<first >> 6
      guard presentCount(inWords: (first + 63) >> 6..<(first + count) >> 6) == 0,
        2 * presentCount(inWords: before) > 64 * before.count
      else { return }
      // If this fails, Linux uses small pages.
      unsafe madvise(base + offset, size, MADV_HUGEPAGE)
    #endif
  }

  /// The number of pages in memory among those whose bits are in `words`.
  private func presentCount(inWords words: Range<Int>) -> Int {
    words.reduce(0) { unsafe $0 + present[$1].load(ordering: .relaxed).nonzeroBitCount }
  }

  /// Reads pages into shared memory: at least the first one.
  /// - Returns: how many were read.
  private func read(_ pages: Range<Int>) throws(ArchiveError) -> Int {
    let count = try unsafe read(pages, to: base + (pages.lowerBound << pageShift))
    for page in pages.prefix(count) {
      unsafe present[page >> 6].bitwiseOr(Self.bit(page), ordering: .releasing)
      unsafe loaded[page >> 6].bitwiseOr(Self.bit(page), ordering: .releasing)
    }
    presentCount.add(count, ordering: .relaxed)
    quota?.add(count << pageShift)
    return count
  }

  /// Reads and checks pages. Throws if the first page fails, and stops before another page that fails.
  /// - Returns: how many were read.
  @unsafe private func read(
    _ pages: Range<Int>, to target: UnsafeMutableRawPointer
  ) throws(ArchiveError) -> Int {
    let start = pages.lowerBound << pageShift
    let size = min(pages.upperBound << pageShift, byteCount) - start
    let count = unsafe cfiles_read(descriptor, target, size, UInt64(start))
    if count < 0, pages.count > 1 { return try unsafe read(pages.prefix(1), to: target) }
    guard count >= 0 else {
      throw ArchiveError(
        .io, "the file can't be read: \(reason(Int32(-count)))", offset: start, path: path)
    }
    for page in pages {
      let pageStart = page << pageShift
      let pageSize = min(1 << pageShift, byteCount - pageStart)
      guard start + Int(count) >= pageStart + pageSize else {
        if page > pages.lowerBound { return page - pages.lowerBound }
        throw ArchiveError(
          .damaged, "the file was truncated while it was open: it had \(byteCount) bytes",
          offset: start + Int(count), path: path)
      }
      guard unsafe check(page, UnsafeRawBufferPointer(start: target + pageStart - start, count: pageSize))
      else {
        if page > pages.lowerBound { return page - pages.lowerBound }
        throw ArchiveError(
          .damaged, "the \(pageSize) bytes from byte \(pageStart) on are not those that were written",
          offset: pageStart, path: path)
      }
    }
    return pages.count
  }
}

private let nextNumber = Atomic<Int>(0)

/// Counts the reads in progress in two generations, which show a thread whether all reads that began before a change
/// have ended.
///
/// A read that begins at the same time as a generation may be counted in the older one. Then either
/// ``olderHaveEnded()`` counts this read, or the read sees everything that was written before that call.
final class ReadGenerations: Sendable {
  private let first = Atomic<Int>(0)
  private let second = Atomic<Int>(0)
  private let isSecondCurrent = Atomic<Bool>(false)

  /// - Returns: the generation of the read, to be passed to ``end(_:)``.
  @inline(__always)
  func begin() -> Bool {
    let isSecond = isSecondCurrent.load(ordering: .relaxed)
    if isSecond {
      second.add(1, ordering: .acquiringAndReleasing)
    } else {
      first.add(1, ordering: .acquiringAndReleasing)
    }
    return isSecond
  }

  @inline(__always)
  func end(_ isSecond: Bool) {
    if isSecond {
      second.subtract(1, ordering: .releasing)
    } else {
      first.subtract(1, ordering: .releasing)
    }
  }

  /// Whether no read of the older generation is in progress. Must be called by one thread at a time.
  func olderHaveEnded() -> Bool {
    // Adds 0 instead of loading, so that a read that adds 1 later sees what was written before.
    let count =
      if isSecondCurrent.load(ordering: .relaxed) {
        first.add(0, ordering: .acquiringAndReleasing).newValue
      } else {
        second.add(0, ordering: .acquiringAndReleasing).newValue
      }
    return count == 0
  }

  /// Begins a generation; the current one becomes the older one. Requires ``olderHaveEnded()``.
  func beginGeneration() {
    isSecondCurrent.store(!isSecondCurrent.load(ordering: .relaxed), ordering: .releasing)
  }
}

private func reason(_ number: Int32) -> String {
  unsafe String(cString: strerror(number))
}
