import Foundation
import KeyedArchiving
import Locks
import TestSupport
import Testing

@testable import PropertyLists

@Suite struct ArchiveBytesTests {
  /// A file of numbered bytes, opened page by page.
  private func paged(
    _ path: String, _ bytes: [UInt8], pageSize: Int = 4096,
    check: @escaping @Sendable (Int, UnsafeRawBufferPointer) -> Bool = { _, _ in true },
    quota: PageQuota? = nil
  ) throws -> ArchiveBytes {
    try Data(bytes).write(to: URL(filePath: path))
    let file = unsafe open(path, O_RDONLY)
    return try unsafe ArchiveBytes(
      descriptor: file, byteCount: bytes.count, pageSize: pageSize, path: path, check: check,
      quota: quota)
  }

  private func numbered(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
  }

  @Test func aFileIsReadAtAnyOffset() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(50_000)
      let file = try unsafe paged(folder.path("file"), bytes)
      var random = SeededGenerator()
      for _ in 0..<2_000 {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = Int.random(in: start...min(bytes.count, start + 10_000), using: &random)
        #expect(try file.data(in: start..<end) == Data(bytes[start..<end]))
      }
    }
  }

  @Test func aSearchFindsThePartitionPointHoweverRowsAreSpread() throws {
    var random = SeededGenerator()
    func search(_ rows: [UInt32], _ place: UInt32) throws -> (found: Int, compared: Int) {
      let bytes = ArchiveBytes(rows.flatMap { row in (0..<4).map { UInt8(row >> (8 * $0) & 0xFF) } })
      var compared = 0
      let found = try unsafe bytes.firstRow(of: rows.count, at: 0, byteCount: 4) { row in
        compared += 1
        return unsafe Double(UInt32(littleEndian: row.loadUnaligned(as: UInt32.self))) - Double(place)
      }
      return (found, compared)
    }
    for count in [0, 1, 2, 9, 17, 1_000] {
      for limit in [0, 3, UInt32(count), 1 << 20, .max] {
        var rows = (0..<count).map { _ in UInt32.random(in: 0...limit, using: &random) }
        // Some rows are close to each other, and others are far away.
        if random.chance(1, in: 2) { for index in 0..<count / 2 { rows[index] = .max - UInt32(index) } }
        rows.sort()
        let places =
          [0, .max] + rows.prefix(20)
          + (0..<40).map { _ in UInt32.random(in: 0...UInt32.max, using: &random) }
        for place in places {
          let (found, compared) = try search(rows, place)
          #expect(found == rows.firstIndex { $0 >= place } ?? count)
          #expect(compared <= 21)
        }
      }
    }
    // Numbers without gaps, and hashes.
    let dense = (0..<100_000).map { UInt32($0) }
    let hashed = dense.map { _ in UInt32.random(in: 0...UInt32.max, using: &random) }.sorted()
    for rows in [dense, hashed] {
      var sum = 0
      for _ in 0..<20 { sum += try search(rows, rows.randomElement(using: &random)!).compared }
      #expect(sum <= 20 * 12)
    }
  }

  @Test func aPageIsCheckedOnceAndBeforeItIsUsed() throws {
    try withTemporaryFolder { folder in
      let checks = Checks()
      let bytes = numbered(20_000)
      let file = try unsafe paged(folder.path("file"), bytes) { page, content in
        checks.count(page)
        return unsafe page != 2 && content.elementsEqual(bytes[page * 4096..<min(20_000, page * 4096 + 4096)])
      }
      #expect(checks.pages == [])
      for _ in 0..<3 { _ = try file.data(in: 4000..<8192) }
      #expect(checks.pages == [0, 1])
      for range in [8192..<8193, 8000..<13_000] {
        do throws(ArchiveError) {
          _ = try file.data(in: range)
          Issue.record("a damaged page is read")
        } catch {
          #expect(error.code == .damaged)
          #expect(error.offset == 8192)
          #expect(error.path == folder.path("file"))
        }
      }
      #expect(try file.data(in: 16_384..<20_000).count == 3616)
    }
  }

  @Test func aScanReadsGroupsOfPagesAndADamagedOneIsReportedWhenItIsNeeded() throws {
    try withTemporaryFolder { folder in
      let checks = Checks()
      let bytes = numbered(40 * 4096 - 7)
      let file = try unsafe paged(folder.path("file"), bytes) { page, _ in
        checks.count(page)
        return page != 20
      }
      func touch(_ page: Int) throws { _ = try file.data(in: page * 4096..<page * 4096 + 1) }
      for page in [30, 0, 1] { try touch(page) }
      #expect(checks.pages == [30, 0, 1])
      try touch(2)
      #expect(checks.pages == [30, 0, 1] + Array(2...15))
      // The pages before the damaged one are kept.
      try touch(16)
      #expect(checks.pages.suffix(5) == [16, 17, 18, 19, 20])
      for page in 0..<20 { try touch(page) }
      #expect(checks.pages.count == 22)
      for _ in 0..<2 { #expect(throws: ArchiveError.self) { try touch(20) } }
      // Up to a page that was read.
      for page in 21...39 { try touch(page) }
      let pages: [Int] = [20] + Array(21...29) + Array(31...39)
      #expect(checks.pages.suffix(19) == pages)
      #expect(try file.data(in: 21 * 4096..<bytes.count) == Data(bytes[(21 * 4096)...]))
    }
  }

  private final class Checks: Sendable {
    private let list = Lock<[Int]>([])
    var pages: [Int] { list.withLock { $0 } }
    func count(_ page: Int) { list.withLock { $0.append(page) } }
  }

  /// Several huge pages long.
  @Test(arguments: [4096, 1 << 16, 1 << 18]) func aLongScanOverADamagedPageReadsAllOthers(
    ofSize pageSize: Int
  ) throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(5 << 20 - 7)
      let damaged = (3 << 20) / pageSize
      let file = try unsafe paged(folder.path("file"), bytes, pageSize: pageSize) { page, content in
        let start = page * pageSize
        return unsafe page != damaged && content.elementsEqual(bytes[start..<start + content.count])
      }
      for start in stride(from: 0, to: bytes.count, by: 4096) {
        let range = start..<min(start + 4096, bytes.count)
        if start / pageSize == damaged {
          let error = #expect(throws: ArchiveError.self) { try file.data(in: range) }
          #expect(error?.code == .damaged && error?.offset == damaged * pageSize)
        } else {
          #expect(try file.data(in: range) == Data(bytes[range]))
        }
      }
    }
  }

  @Test func aFileOfImpossibleSizeIsRefused() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("file")
      try Data([1]).write(to: URL(filePath: path))
      for byteCount in [Int.max, .max - (1 << 21), .max / 2] {
        let file = unsafe open(path, O_RDONLY)
        let error = #expect(throws: ArchiveError.self) {
          try unsafe ArchiveBytes(descriptor: file, byteCount: byteCount, pageSize: 4096, path: path) {
            _, _ in true
          }
        }
        #expect(error?.code == .io)
      }
    }
  }

  @Test func pagesThatWereFreedAreReadAndCheckedAgain() throws {
    try withTemporaryFolder { folder in
      let checks = Checks()
      let bytes = numbered(20_000)
      let path = folder.path("file")
      let file = try unsafe paged(path, bytes) { page, content in
        checks.count(page)
        return unsafe content.elementsEqual(bytes[page * 4096..<min(20_000, page * 4096 + 4096)])
      }
      _ = try file.data(in: 0..<20_000)
      let other = try file.reopened(keeping: 4 * 4096)
      #expect(file.pageByteCount == 5 * 4096)
      #expect(other.pageByteCount == 0)
      try unsafe other.withBytes(in: 0..<20_000) { (content) throws(ArchiveError) in
        // The pages stay until the outer read ends.
        #expect(try other.byte(at: 100) == bytes[100])
        #expect(unsafe content.elementsEqual(bytes))
      }
      #expect(other.pageByteCount == 5 * 4096)
      #expect(try other.data(in: 4096..<4097) == Data(bytes[4096..<4097]))
      #expect(other.pageByteCount == 4096)
      #expect(checks.pages == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 1])
      let handle = try FileHandle(forUpdating: URL(filePath: path))
      try handle.seek(toOffset: 10_000)
      try handle.write(contentsOf: Data([bytes[10_000] ^ 1]))
      try handle.close()
      let error = #expect(throws: ArchiveError.self) { try other.data(in: 0..<20_000) }
      #expect(error?.code == .damaged)
      #expect(error?.offset == 8192)
      #expect(try file.data(in: 0..<20_000) == Data(bytes))
      #expect(try other.data(in: 0..<8192) == Data(bytes[..<8192]))
      let memory = ArchiveBytes(bytes)
      #expect(try memory.reopened(keeping: 0) === memory)
      #expect(try memory.data(in: 0..<20_000) == Data(bytes))
    }
  }

  @Test func pagesOfAReadInProgressStay() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(20_000)
      let file = try unsafe paged(folder.path("file"), bytes, quota: PageQuota(limit: .max))
      _ = try file.data(in: 0..<20_000)
      try unsafe file.withBytes(in: 4000..<4200) { (content) throws(ArchiveError) in
        #expect(file.freeUnusedPages(atMost: .max) == 0)
        #expect(file.freeUnusedPages(atMost: .max) == 0, "this read began before the call above")
        #expect(file.pageByteCount == 5 * 4096)
        #expect(unsafe content.elementsEqual(bytes[4000..<4200]))
      }
      #expect(try file.data(in: 16_384..<20_000) == Data(bytes[16_384...]))
      #expect(file.freeUnusedPages(atMost: 4096) == 4096)
      #expect(file.freeUnusedPages(atMost: .max) == 4 * 4096 && file.pageByteCount == 0)
      #expect(try file.data(in: 0..<20_000) == Data(bytes))
    }
  }

  @Test func beyondTheQuotaPagesAreReadIntoBuffers() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(300_000)
      let quota = PageQuota(limit: 5 * 4096)
      let file = try unsafe paged(folder.path("file"), bytes, quota: quota)
      let other = try unsafe paged(folder.path("other"), bytes.reversed(), quota: quota)
      let wrong = Lock(0)
      Threads.forEach(below: 4, width: 4) { thread in
        var random = SeededGenerator(seed: UInt64(thread))
        for _ in 0..<2_000 {
          let start = Int.random(in: 0..<270_000, using: &random)
          // Up to six pages, of which four have room in a buffer.
          let range = start..<start + Int.random(in: 0...6 * 4096, using: &random)
          let inner = Int.random(in: 0..<300_000, using: &random)
          let isRight = try? unsafe file.withBytes(in: range) { (content) throws(ArchiveError) -> Bool in
            let (byte, place) = (try other.byte(at: inner), min(inner, 299_992))
            let number = try file.number(at: place, width: 8)
            return unsafe byte == bytes[bytes.count - 1 - inner] && number == self.number(bytes[place...])
              && content.elementsEqual(bytes[range])
          }
          if isRight != true { wrong.withLock { $0 += 1 } }
        }
      }
      #expect(wrong.withLock { $0 } == 0)
      #expect(quota.byteCount == file.pageByteCount + other.pageByteCount)
      for _ in 0..<2 { _ = file.freeUnusedPages(atMost: .max) + other.freeUnusedPages(atMost: .max) }
      #expect(quota.byteCount == 0)
      for _ in 0..<2 {
        for page in 0..<40 { #expect(try file.byte(at: page * 4096) == bytes[page * 4096]) }
        let rows = try unsafe file.firstRow(of: 300_000, at: 0, byteCount: 1) { _ in -1 }
        #expect(rows == 300_000)
      }
      // Pages are freed until 7/8 of the limit is left, and a scan reads the rest of its 64 KiB.
      #expect((4 * 4096...64 << 10).contains(quota.byteCount))
    }
  }

  @Test func anAlteredPageBeyondTheQuotaIsFound() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(40_000)
      let path = folder.path("file")
      let isAsWritten = { @Sendable (page: Int, content: UnsafeRawBufferPointer) -> Bool in
        unsafe content.elementsEqual(bytes[(page * 4096)...].prefix(4096))
      }
      let file = try unsafe paged(path, bytes, check: isAsWritten, quota: PageQuota(limit: 0))
      #expect(try file.byte(at: 10_000) == bytes[10_000] && file.pageByteCount == 0)
      let handle = try FileHandle(forUpdating: URL(filePath: path))
      try handle.seek(toOffset: 20_000)
      try handle.write(contentsOf: Data([bytes[20_000] ^ 1]))
      try handle.close()
      for range in [20_000..<20_001, 15_000..<21_000] {
        let error = #expect(throws: ArchiveError.self) { try file.data(in: range) }
        #expect(error?.code == .damaged && error?.offset == 16_384)
      }
      #expect(try file.data(in: 10_000..<16_384) == Data(bytes[10_000..<16_384]))
    }
  }

  @Test func threadsReadWhilePagesAreFreed() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(300_000)
      let file = try unsafe paged(folder.path("file"), bytes, quota: PageQuota(limit: .max))
      let wrong = Lock(0)
      let readerCount = Lock(3)
      Threads.forEach(below: 5, width: 5) { thread in
        var random = SeededGenerator(seed: UInt64(thread))
        if thread < 2 {
          while readerCount.withLock({ $0 }) > 0 {
            _ = file.freeUnusedPages(atMost: Int.random(in: 1...40_000, using: &random))
          }
          return
        }
        for _ in 0..<2_000 {
          // The second half is read rarely, so that there are pages to free.
          let isRare = Int.random(in: 0..<100, using: &random) == 0
          let start = Int.random(in: isRare ? 150_000..<290_000 : 0..<140_000, using: &random)
          let range = start..<start + Int.random(in: 1..<9_000, using: &random)
          if (try? file.copy(of: range)) != Array(bytes[range]) { wrong.withLock { $0 += 1 } }
        }
        readerCount.withLock { $0 -= 1 }
      }
      #expect(wrong.withLock { $0 } == 0)
      for _ in 0..<2 { _ = file.freeUnusedPages(atMost: .max) }
      #expect(file.pageByteCount == 0)
    }
  }

  private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  @Test func aFileThatIsCutWhileOpenGivesAnErrorAndWhatWasReadStays() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(20_000)
      let path = folder.path("file")
      let file = try unsafe paged(path, bytes)
      _ = try file.data(in: 0..<10)
      let cut = unsafe truncate(path, 100)
      #expect(cut == 0)
      #expect(try file.data(in: 0..<4096) == Data(bytes[..<4096]))
      do throws(ArchiveError) {
        _ = try file.data(in: 5000..<5001)
        Issue.record("bytes beyond the end are read")
      } catch {
        #expect(error.code == .damaged)
      }
    }
  }

  @Test func threadsThatTouchTheSamePagesAtOnceGetTheSameBytes() throws {
    try withTemporaryFolder { folder in
      let bytes = numbered(400_000)
      let file = try unsafe paged(folder.path("file"), bytes)
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        var random = SeededGenerator(seed: UInt64(thread % 2))
        for _ in 0..<500 {
          let start = Int.random(in: 0..<bytes.count - 5000, using: &random)
          let data = try? file.data(in: start..<start + 5000)
          if data != Data(bytes[start..<start + 5000]) { Issue.record("other bytes at \(start)") }
        }
      }
    }
  }

  @Test func rangesOutsideTheBytesAreRefused() throws {
    let bytes = ArchiveBytes([1, 2, 3])
    #expect(try bytes.data(in: 3..<3).isEmpty)
    for range in [0..<4, 4..<4, -1..<1, 3..<Int.max, Int.min..<0, Int.max..<Int.max, Int.min..<Int.max] {
      #expect(throws: ArchiveError.self, "\(range)") { try bytes.data(in: range) }
      #expect(throws: ArchiveError.self, "\(range)") { try DataFormat(of: bytes, in: range) }
    }
  }

  @Test func foldersAndPipesAreRefused() throws {
    try withTemporaryFolder { folder in
      let pipe = folder.path("pipe")
      let made = unsafe mkfifo(pipe, 0o600)
      #expect(made == 0)
      for path in [folder.path, folder.path("missing"), pipe, "/dev/null"] {
        do throws(ArchiveError) {
          _ = try ArchiveBytes(contentsOf: URL(filePath: path))
          Issue.record("\(path) is opened")
        } catch {
          #expect(error.code == .io)
          #expect(error.path?.isEmpty == false)
        }
      }
    }
  }

  @Test func anEmptyRangeAtTheEndReadsNothing() throws {
    try withTemporaryFolder { folder in
      let file = try unsafe paged(folder.path("file"), numbered(8192)) { page, _ in page < 2 }
      #expect(try file.data(in: 8192..<8192).isEmpty)
      #expect(try file.data(in: 0..<8192).count == 8192)
    }
  }

  @Test func anEmptyFileIsReportedAsEmpty() throws {
    try withTemporaryFolder { folder in
      try Data().write(to: URL(filePath: folder.path("file")))
      let bytes = try ArchiveBytes(contentsOf: URL(filePath: folder.path("file")))
      #expect(try DataFormat(of: bytes) == .empty)
      #expect(throws: ArchiveError.self) { try PropertyList(bytes) }
    }
  }

  @Test func openingABinaryListTouchesItsEndsOnly() throws {
    try withTemporaryFolder { folder in
      let checks = Checks()
      let content = [UInt8](repeating: 1, count: 1 << 20)
      let raw = RawPropertyList([0xA1, 1], [0x4F, 0x12] + bigEndian(content.count, 4) + content)
      var wide = raw
      wide.offsetWidth = 4
      let list = try PropertyList(
        unsafe paged(folder.path("file"), wide.bytes) { page, _ in
          checks.count(page)
          return true
        })
      _ = try list.object(1)
      #expect(Set(checks.pages) == [0, 256])
    }
  }
}
