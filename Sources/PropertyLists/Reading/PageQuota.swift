import Locks
import Synchronization

/// Bounds the total bytes of pages that several files have in memory. When the limit is reached, a thread reads the
/// pages that it needs into a buffer of its own, until pages that were not used recently have been freed.
///
/// Safe to use from any thread.
package final class PageQuota: Sendable {
  /// The maximum number of buffers kept for later reads.
  private static let idleLimit = 32
  /// Buffers with more bytes than this, which only large records need, are not kept.
  private static let idleByteCount = 16 << 10

  private struct Registered: Sendable {
    weak let file: PagedFile?
  }

  private let most: Atomic<Int>
  private let used = Atomic<Int>(0)
  /// Buffers that no thread uses; the most recently used one is last. Finding an entity takes several short reads of
  /// the same page, so most reads find a buffer that already has their page.
  private let idle = Lock<[PageBuffer]>([])
  private let files = Lock<[Registered]>([])
  /// The bytes that ``count(used:)`` has counted since it last compared the memory with the limit.
  private let uncheckedByteCount = Atomic<Int>(0)
  private let isChecking = Atomic<Bool>(false)

  /// - Parameter limit: the maximum bytes of pages in memory.
  package init(limit: Int) { most = Atomic(limit) }

  /// How many bytes of pages are in memory.
  package var byteCount: Int { used.load(ordering: .relaxed) }

  package var limit: Int {
    get { most.load(ordering: .relaxed) }
    set { most.store(newValue, ordering: .relaxed) }
  }

  /// Whether more pages may be loaded. Each thread that asks at the same time can exceed the limit by the pages that it
  /// then reads: 64 KiB in a scan.
  var hasRoom: Bool { byteCount < limit }

  func add(_ byteCount: Int) { used.add(byteCount, ordering: .relaxed) }

  func subtract(_ byteCount: Int) { used.subtract(byteCount, ordering: .relaxed) }

  func register(_ file: PagedFile) {
    files.withLock { files in
      files.removeAll { $0.file == nil }
      files.append(Registered(file: file))
    }
  }

  /// Counts bytes of pages that were read, or were used for the first time since ``PagedFile/loaded`` was cleared. When
  /// they reach four times the limit, frees unused pages until at most 7/8 of the limit is in memory.
  func count(used byteCount: Int) {
    let limit = limit
    let count = uncheckedByteCount.add(byteCount, ordering: .relaxed).newValue
    // Not after each page, because this visits all files, and freeing memory takes longer than reading it.
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

  /// Takes a buffer that already has these pages of the file or, if there is none, one to read them into.
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

/// Memory for consecutive pages of a file. One thread uses a buffer at a time.
@safe final class PageBuffer: @unchecked Sendable {
  // Unchecked because threads hand a buffer over only under the quota's lock.

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

  /// Reads pages of a file into the buffer. After an error, the buffer has no pages.
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
