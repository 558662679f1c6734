import Foundation
import Synchronization

/// The bytes of an archive: in memory, or in a file whose pages are read when they are first touched.
///
/// 1. The bytes never change. Each page is read and checked before it is used, and stays in memory at least until the
///    read that uses it ends. If a file is truncated or overwritten while open, loading a page throws an error: it
///    never raises a signal and never returns unchecked bytes.
/// 2. Each access is checked against ``count``.
/// 3. Any number of threads may read at once. While one thread loads a page into shared memory, other threads that need
///    this page or a page near it wait.
@safe public final class ArchiveBytes: @unchecked Sendable {
  // Unchecked because the compiler can't see that memory is written only before it is published: by `init`, or by the
  // file's loader, which sets a page's bit after it has written and checked the page.

  /// The number of bytes.
  public let count: Int
  /// The path of the file; nil if the bytes are not from a file.
  public let path: String?

  private let base: UnsafeMutableRawPointer
  private let file: PagedFile?
  private let pageShift: Int
  /// The file's own pointer to the bits of its pages, copied here so that checking a page costs almost nothing.
  private let loaded: UnsafeMutablePointer<Atomic<UInt64>>?
  /// Counts the reads in progress; nil if pages are never freed during a read.
  private let reads: ReadGenerations?
  /// Only for bytes from ``reopened(keeping:)``: how many bytes of pages may stay in memory between two reads.
  private let keptByteCount: Int?
  /// Only for bytes from ``reopened(keeping:)``: the number of nested reads in progress.
  private var depth = 0

  /// Copies bytes.
  public convenience init(_ bytes: [UInt8]) { self.init(bytes, path: nil) }

  /// Copies bytes that were made from the file at `path`, which errors then name.
  package convenience init(_ bytes: [UInt8], path: String?) {
    unsafe self.init(count: bytes.count, path: path) { target in
      unsafe bytes.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
    }
  }

  /// Allocates `count` bytes, all of which `fill` must write.
  package init(count: Int, path: String? = nil, fill: (UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    self.path = path
    unsafe base = .allocate(byteCount: max(count, 1), alignment: 16)
    unsafe fill(UnsafeMutableRawBufferPointer(start: base, count: count))
    file = nil
    pageShift = 0
    unsafe loaded = nil
    reads = nil
    keptByteCount = nil
  }

  /// Reads an open file page by page. Each page must pass a check when it is first used.
  ///
  /// - Parameters:
  ///   - descriptor: The open file. This object closes it, even if this initializer throws.
  ///   - byteCount: How many bytes of the file belong to the archive.
  ///   - pageSize: A power of two, at least 4,096.
  ///   - check: Returns whether the bytes of a page are valid. Pages are numbered from 0. The last page may be shorter
  ///     than the others.
  ///   - quota: Bounds the pages in memory. Without a quota, all pages stay in memory.
  /// - Throws: `io` if there is not enough address space.
  package convenience init(
    descriptor: Int32, byteCount: Int, pageSize: Int = PagedFile.defaultPageSize, path: String? = nil,
    check: @escaping @Sendable (_ page: Int, _ bytes: UnsafeRawBufferPointer) -> Bool,
    quota: PageQuota? = nil
  ) throws(ArchiveError) {
    unsafe self.init(
      try PagedFile(
        descriptor: descriptor, byteCount: byteCount, pageSize: pageSize, path: path, check: check,
        quota: quota))
  }

  private init(_ file: PagedFile, keptByteCount: Int? = nil) {
    self.keptByteCount = keptByteCount
    count = file.byteCount
    path = file.path
    unsafe base = file.base
    self.file = file
    pageShift = file.pageShift
    unsafe loaded = file.loaded
    reads = file.reads
  }

  deinit {
    if file == nil { unsafe base.deallocate() }
  }

  /// The size of the file's pages that are in memory, in bytes; 0 without a file.
  package var pageByteCount: Int { file?.loadedByteCount ?? 0 }

  /// Opens the file a second time, without pages in memory, for a single thread that reads from the start to the end.
  /// Returns `self` if the bytes are not in a file.
  ///
  /// - Parameter byteCount: All pages are freed before a read if more than this many bytes of them are in memory.
  /// - Throws: `io` if the system lacks a descriptor or address space.
  package func reopened(keeping byteCount: Int) throws(ArchiveError) -> ArchiveBytes {
    if let file { ArchiveBytes(try file.reopened(), keptByteCount: byteCount) } else { self }
  }

  /// Frees pages of the file that were not used since the last call. Frees none if a read that began before the last
  /// call is still in progress.
  ///
  /// - Parameter byteCount: The most bytes to free.
  /// - Returns: How many bytes were freed.
  package func freeUnusedPages(atMost byteCount: Int) -> Int {
    file?.freeUnusedPages(atMost: byteCount) ?? 0
  }

  /// Copies the bytes of a range into memory.
  ///
  /// - Throws: as ``withBytes(in:_:)`` does.
  func copy(of range: Range<Int>) throws(ArchiveError) -> ArchiveBytes {
    try unsafe withBytes(in: range) { (bytes) throws(ArchiveError) in
      unsafe ArchiveBytes(count: bytes.count, path: path) { unsafe $0.copyMemory(from: bytes) }
    }
  }

  /// Calls `body` with the bytes of a range.
  ///
  /// - Throws: `malformed` if the range is not within the bytes; `io` or `damaged` if the file can't be read; what
  ///   `body` throws.
  @inlinable @inline(__always)
  package func withBytes<Result>(
    in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Result
  ) throws(ArchiveError) -> Result {
    // Inlined, because an unspecialized call of `body` would take longer than the reads of a search.
    var read = beginRead()
    defer { end(&read) }
    return try unsafe body(bytes(in: range, &read))
  }

  /// The partition point of rows of equal size: the index of the first row whose distance is not negative, or `count`.
  /// The whole search is one read, because beginning a read takes as long as comparing several rows.
  ///
  /// The search compares the rows where the place would be if distances grew evenly, as those of numbers without gaps
  /// and of hashes do. Of a million such rows it compares 4 to 10, and bisection would compare 20. Where distances grow
  /// otherwise, the search bisects.
  /// - Parameter distance: how far a row is from the place, finite; negative for a row before it.
  /// - Throws: `malformed` if a row is not within the bytes; `io` or `damaged` if the file can't be read.
  /// - Complexity: O(log n)
  @inline(__always)
  package func firstRow(
    of count: Int, at start: Int, byteCount: Int, distance: (UnsafeRawBufferPointer) -> Double
  ) throws(ArchiveError) -> Int {
    var read = beginRead()
    defer { end(&read) }
    var (low, high) = (0, count)
    // How far the rows before `low` and at `high` are from the place; 0 until the first and the last row were compared.
    var (before, behind) = (0.0, 0.0)
    var estimateCount = 0
    var wasAtEnd = false
    while low < high {
      let length = high - low
      var step = length / 2
      if length > 8, estimateCount < 10 {
        estimateCount += 1
        let estimate = before > 0 ? Int(Double(length) * (before / (before + behind))) : 0
        // If two estimates lead to an end of what is left, distances do not grow evenly there.
        let isAtEnd = estimate == 0 || estimate >= length - 1
        if !isAtEnd || !wasAtEnd || low == 0 || high == count { step = min(estimate, length - 1) }
        wasAtEnd = isAtEnd
      }
      let row = try unsafe pointer(at: start + (low + step) * byteCount, count: byteCount, &read)
      let distance = unsafe distance(UnsafeRawBufferPointer(start: row, count: byteCount))
      if distance < 0 {
        (low, before) = (low + step + 1, -distance)
      } else {
        (high, behind) = (low + step, distance)
      }
    }
    return low
  }

  /// A read in progress: its generation, and a buffer of its own if it needs pages that are not in shared memory.
  @usableFromInline
  struct Read {
    fileprivate let generation: Bool
    fileprivate var buffer: PageBuffer?
  }

  /// Begins a read, which keeps pages in memory until ``end(_:)``. Nil if pages are never freed during a read.
  @usableFromInline
  func beginRead() -> Read? {
    if let keptByteCount { beginRead(keeping: keptByteCount) }
    return reads.map { Read(generation: $0.begin()) }
  }

  private func beginRead(keeping byteCount: Int) {
    // Safe because only this thread uses the file, and no read is in progress.
    if depth == 0, pageByteCount > byteCount { unsafe file?.unload() }
    depth += 1
  }

  @usableFromInline
  func end(_ read: inout Read?) {
    if keptByteCount != nil { depth -= 1 }
    guard let ended = read else { return }
    reads?.end(ended.generation)
    if let buffer = ended.buffer { file?.quota?.giveBack(buffer) }
  }

  /// The bytes of a range, valid until `read` ends or is used for other bytes.
  @usableFromInline
  @unsafe func bytes(
    in range: Range<Int>, _ read: inout Read?
  ) throws(ArchiveError) -> UnsafeRawBufferPointer {
    let count = try checkedCount(range)
    let start = try unsafe pointer(at: range.lowerBound, count: count, &read)
    return unsafe UnsafeRawBufferPointer(start: start, count: count)
  }

  /// Loads `count` bytes at `offset`. Returns their address, valid until `read` ends or is used for other bytes.
  @inline(__always)
  private func pointer(
    at offset: Int, count: Int, _ read: inout Read?
  ) throws(ArchiveError) -> UnsafeRawPointer {
    guard offset >= 0, count >= 0, offset <= self.count - count else {
      throw outOfBounds(offset, count)
    }
    if let loaded = unsafe loaded, count > 0 {
      let first = offset >> pageShift
      let last = (offset + count - 1) >> pageShift
      if unsafe first != last || !isLoaded(first, loaded),
        let start = try unsafe load(first, last, &read)
      {
        return unsafe start + (offset - first << pageShift)
      }
    }
    return unsafe UnsafeRawPointer(base + offset)
  }

  /// The byte at an offset.
  @inline(__always)
  func byte(at offset: Int) throws(ArchiveError) -> UInt8 {
    var read = beginRead()
    defer { end(&read) }
    return try unsafe pointer(at: offset, count: 1, &read).load(as: UInt8.self)
  }

  /// The big-endian number of `width` bytes at an offset. All but its last eight bytes must be zero.
  @inline(__always)
  package func number(at offset: Int, width: Int) throws(ArchiveError) -> UInt64 {
    var read = beginRead()
    defer { end(&read) }
    let start = try unsafe pointer(at: offset, count: width, &read)
    switch width {
    case 1: return unsafe UInt64(start.load(as: UInt8.self))
    case 2: return unsafe UInt64(UInt16(bigEndian: start.loadUnaligned(as: UInt16.self)))
    case 4: return unsafe UInt64(UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)))
    case 8: return unsafe UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
    default: return try unsafe number(start, at: offset, oddWidth: width)
    }
  }

  @unsafe private func number(
    _ start: UnsafeRawPointer, at offset: Int, oddWidth width: Int
  ) throws(ArchiveError) -> UInt64 {
    var number: UInt64 = 0
    for index in 0..<width {
      guard number >> 56 == 0 else {
        throw ArchiveError(
          .malformed, "a number of \(width) bytes doesn't fit into 64 bits", offset: offset, path: path)
      }
      number = unsafe number << 8 | UInt64(start.load(fromByteOffset: index, as: UInt8.self))
    }
    return number
  }

  /// Checks that a range is within the bytes, and returns its count. For other ranges, `Range.count` can overflow.
  @inline(__always)
  package func checkedCount(_ range: Range<Int>) throws(ArchiveError) -> Int {
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw ArchiveError(
        .malformed, "bytes \(range) are out of range: there are \(count)", offset: count, path: path)
    }
    return range.count
  }

  @inline(__always)
  private func isLoaded(_ page: Int, _ loaded: UnsafeMutablePointer<Atomic<UInt64>>) -> Bool {
    unsafe loaded[page >> 6].load(ordering: .acquiring) & (1 << UInt64(page & 63)) != 0
  }

  /// - Returns: the address of the first page in the buffer of `read`; nil if the pages are in shared memory.
  @inline(never)
  @unsafe private func load(
    _ first: Int, _ last: Int, _ read: inout Read?
  ) throws(ArchiveError) -> UnsafeRawPointer? {
    guard let file else { return nil }
    // The last steps of a search need the same page, which is then in the buffer already.
    let isInBuffer = read?.buffer?.has(first...last, of: file.number) == true
    if !isInBuffer {
      guard let buffer = try file.load(first...last) else { return nil }
      if let earlier = read?.buffer { file.quota?.giveBack(earlier) }
      read?.buffer = buffer
    }
    guard let buffer = read?.buffer else { return nil }
    return unsafe UnsafeRawPointer(buffer.base) - (buffer.firstPage - first) << pageShift
  }

  @inline(never)
  private func outOfBounds(_ offset: Int, _ count: Int) -> ArchiveError {
    ArchiveError(
      .malformed, "\(count) bytes are needed from byte \(offset) on, but there are only \(self.count)",
      offset: offset, path: path)
  }
}
