import Locks
import Synchronization

/// Bounds the bytes of the pages that several files have in memory together. Beyond the limit, a thread reads the pages
/// that it needs into memory of its own, until pages that were not used lately are freed.
///
/// Safe to use from any thread.
package final class PageQuota: Sendable {
  /// How many buffers are kept for later reads.
  private static let idleLimit = 32
  /// Larger ones, of large records, are not kept.
  private static let idleByteCount = 16 << 10

  private struct Registered: Sendable {
    weak let file: PagedFile?
  }

  private let most: Atomic<Int>
  private let used = Atomic<Int>(0)
  /// Buffers that no thread uses, the one that was used last at the end. Finding an entity takes several short reads of the
  /// same page, so most reads find theirs here.
  private let idle = Lock<[PageBuffer]>([])
  private let files = Lock<[Registered]>([])
  /// How many bytes were used since the memory was last checked.
  private let uncheckedByteCount = Atomic<Int>(0)
  private let isChecking = Atomic<Bool>(false)

  /// - Parameter limit: how many bytes of pages may be in memory.
  package init(limit: Int) { most = Atomic(limit) }

  /// How many bytes of pages are in memory.
  package var byteCount: Int { used.load(ordering: .relaxed) }

  package var limit: Int {
    get { most.load(ordering: .relaxed) }
    set { most.store(newValue, ordering: .relaxed) }
  }

  /// Whether more pages may stay in memory. Threads that ask at once may each exceed the limit by what they read, 64 KiB in a
  /// scan.
  var hasRoom: Bool { byteCount < limit }

  func add(_ byteCount: Int) { used.add(byteCount, ordering: .relaxed) }

  func subtract(_ byteCount: Int) { used.subtract(byteCount, ordering: .relaxed) }

  func register(_ file: PagedFile) {
    files.withLock { files in
      files.removeAll { $0.file == nil }
      files.append(Registered(file: file))
    }
  }

  /// Counts pages that were read, or used for the first time since others were freed. Each time that such pages have four
  /// times the size of the limit, an eighth of it is freed, unless that much is free: pages not used since the last time.
  func count(used byteCount: Int) {
    let limit = limit
    let count = uncheckedByteCount.add(byteCount, ordering: .relaxed).newValue
    // Not after each page, because all files are asked, and giving memory back takes longer than reading.
    guard count / 4 > limit, !isChecking.exchange(true, ordering: .acquiring) else { return }
    defer { isChecking.store(false, ordering: .releasing) }
    uncheckedByteCount.store(0, ordering: .relaxed)
    var left = self.byteCount - (limit - limit / 8)
    guard left > 0 else { return }
    let files = files.withLock { files in files.compactMap(\.file) }
    for file in files.sorted(by: { $0.loadedByteCount > $1.loadedByteCount }) where left > 0 {
      left -= file.freeUnusedPages(atMost: left)
    }
  }

  /// A buffer that has some pages of a file already, or one to read them into.
  func buffer(of file: Int, _ pages: ClosedRange<Int>, byteCount: Int) -> PageBuffer {
    idle.withLock { idle in
      if let index = idle.lastIndex(where: { $0.has(pages, of: file) }) { return idle.remove(at: index) }
      return idle.count < Self.idleLimit ? nil : idle.removeFirst()
    } ?? PageBuffer(byteCount: byteCount)
  }

  func giveBack(_ buffer: PageBuffer) {
    guard buffer.byteCount <= Self.idleByteCount else { return }
    idle.withLock { idle in
      if idle.count >= Self.idleLimit { idle.removeFirst() }
      idle.append(buffer)
    }
  }
}

/// Memory for some neighboring pages of a file, which one thread has at a time.
@safe final class PageBuffer: @unchecked Sendable {
  // Unchecked because it is handed over under the lock of the quota.

  private(set) var base: UnsafeMutableRawPointer
  private(set) var byteCount: Int
  private var file = -1
  private var pages = 0...0

  init(byteCount: Int) {
    self.byteCount = byteCount
    unsafe base = .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit { unsafe base.deallocate() }

  func has(_ pages: ClosedRange<Int>, of file: Int) -> Bool {
    self.file == file && self.pages.lowerBound <= pages.lowerBound
      && pages.upperBound <= self.pages.upperBound
  }

  var firstPage: Int { pages.lowerBound }

  /// Reads pages of a file into the buffer. After an error, it has none.
  func fill(
    with pages: ClosedRange<Int>, of file: Int, byteCount: Int,
    _ read: (UnsafeMutableRawPointer) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    self.file = -1
    if byteCount > self.byteCount {
      unsafe base.deallocate()
      unsafe base = .allocate(byteCount: byteCount, alignment: 16)
      self.byteCount = byteCount
    }
    try unsafe read(base)
    self.file = file
    self.pages = pages
  }
}
