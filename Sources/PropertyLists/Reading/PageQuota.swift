import Locks
import Synchronization

/// Bounds the bytes of the pages that several files have in memory together. Beyond the limit, a thread reads the pages
/// that it needs into memory of its own.
///
/// Safe to use from any thread.
package final class PageQuota: Sendable {
  /// How many buffers are kept for later reads.
  private static let idleLimit = 32
  /// Larger ones, of large records, are not kept.
  private static let idleByteCount = 16 << 10

  private let most: Atomic<Int>
  private let used = Atomic<Int>(0)
  /// Buffers that no thread uses, the one that was used last at the end. Finding an entity takes several short reads of the
  /// same page, so most reads find theirs here.
  private let idle = Lock<[PageBuffer]>([])

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
