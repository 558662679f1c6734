import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

@Suite struct BlobTests {
  private static let contents = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

  @Test(arguments: [0, 1, 100, 16 << 10, (16 << 10) + 1, 64 << 10, 1_000_000])
  func bytesComeBackAsTheyWere(_ count: Int) throws {
    try withLedger { journal, _ in
      let bytes = Self.contents.prefix(count)
      let blob = try journal.blobs.add(bytes)
      #expect(blob.byteCount == count)
      let back = try journal.blobs.data(of: blob)
      #expect(back == bytes)
      let file = try Data(contentsOf: journal.blobs.url(of: blob))
      #expect(file == bytes)
    }
  }

  @Test func aBlobIsNamedByItsSHA256() throws {
    try withLedger { journal, _ in
      let blob = try journal.blobs.add(Data("abc".utf8))
      // FIPS 180-2, appendix B.1.
      #expect(blob.digest.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      #expect(journal.blobs.url(of: blob).path.hasSuffix("/images/\(blob.digest.hex)"))
    }
  }

  @Test func bytesInPiecesAndFromAFileAreTheSameBlob() throws {
    try withLedger { journal, url in
      let whole = try journal.blobs.add(Self.contents)
      let writer = try journal.blobs.writer()
      var rest = Self.contents[...]
      for count in sequence(first: 1, next: { $0 * 7 }) where !rest.isEmpty {
        try writer.write(Data(rest.prefix(count)))
        rest = rest.dropFirst(count)
        if rest.isEmpty { break }
      }
      let pieces = try writer.finish()
      #expect(pieces == whole)
      let file = url.deletingLastPathComponent().appendingPathComponent("photo")
      try Self.contents.write(to: file)
      let copied = try journal.blobs.add(contentsOf: file)
      #expect(copied == whole)
      let statistics = try journal.statistics()
      #expect(statistics.blobCount == 1)
      #expect(statistics.blobByteCount == Self.contents.count)
      #expect(throws: JournalError.self) { try writer.write(Data([1])) }
      #expect(throws: JournalError.self) { try writer.finish() }
    }
  }

  /// Linux reports a failed flush once, and the next flush of the file seems to succeed.
  @Test func aBlobWhoseFlushHasFailedIsNotFinishedByAnotherCall() throws {
    var options = JournalOptions()
    let fails = Lock(true)
    options.fileHook = { operation in
      guard operation.kind == .sync, operation.path.contains("/images/") else { return .proceed }
      return fails.withLock { fails in
        defer { fails = false }
        return fails ? .fail(EIO) : .proceed
      }
    }
    try withLedger(options: options) { journal, url in
      var writer: BlobWriter? = try journal.blobs.writer()
      try writer?.write(Data("abc".utf8))
      let first = #expect(throws: JournalError.self) { try writer?.finish() }
      #expect(first?.code == .io)
      let second = #expect(throws: JournalError.self) { try writer?.finish() }
      #expect(second?.code == .wrongUse)
      writer = nil
      let images = url.appendingPathComponent("images").path
      #expect(try FileManager.default.contentsOfDirectory(atPath: images).isEmpty)
      #expect(try journal.blobs.data(of: journal.blobs.add(Data("abc".utf8))) == Data("abc".utf8))
    }
  }

  @Test func anUnfinishedBlobLeavesNothing() throws {
    try withLedger { journal, url in
      do {
        let writer = try journal.blobs.writer()
        try writer.write(Self.contents)
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: url.path + "/images")
      #expect(left.isEmpty)
      // The next process removes what a killed one has left.
      try Data("half".utf8).write(to: url.appendingPathComponent("images/0123456789abcdef.new"))
      try journal.close()
      let opened = try Journal<Ledger>.open(at: url)
      let removed = try FileManager.default.contentsOfDirectory(atPath: url.path + "/images")
      #expect(removed.isEmpty)
      try opened.close()
    }
  }

  @Test func missingAndAlteredBytesAreNamed() throws {
    try withLedger { journal, _ in
      let blob = try journal.blobs.add(Self.contents)
      let url = journal.blobs.url(of: blob)
      var altered = Self.contents
      altered[500_000] ^= 1
      try altered.write(to: url)
      let changed = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(changed?.code == .damaged)
      #expect(changed?.path == url.path)
      try Self.contents.dropLast().write(to: url)
      #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      try FileManager.default.removeItem(at: url)
      let gone = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(gone?.message.contains("missing") == true)
    }
  }

  @Test func manyThreadsCanAddTheSameBytes() throws {
    try withLedger { journal, url in
      let blobs = (0..<8).map { Data(Self.contents.prefix(1000 + $0 % 4)) }
      DispatchQueue.concurrentPerform(iterations: 64) { index in
        do {
          let bytes = blobs[index % 8]
          let blob = try journal.blobs.add(bytes)
          let back = try journal.blobs.data(of: blob)
          #expect(back == bytes)
        } catch {
          Issue.record(error)
        }
      }
      let statistics = try journal.statistics()
      #expect(statistics.blobCount == 4)
      let left = try FileManager.default.contentsOfDirectory(atPath: url.path + "/images")
      #expect(left.count == 4)
    }
  }

  @Test func aClosedStoreNeitherAddsNorReadsBlobs() throws {
    try withLedger { journal, _ in
      let blob = try journal.blobs.add(Data("abc".utf8))
      let writer = try journal.blobs.writer()
      try writer.write(Data("half".utf8))
      try journal.close()
      let taking = #expect(throws: JournalError.self) { try journal.blobs.add(Data("def".utf8)) }
      #expect(taking?.code == .closed)
      let finishing = #expect(throws: JournalError.self) { try writer.finish() }
      #expect(finishing?.code == .closed)
      let giving = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(giving?.code == .closed)
    }
  }

  /// A sector that can't be read does not mean that the bytes are damaged. The drive may return them later.
  @Test func aBlobThatTheDriveFailsToReadIsAnErrorAndNothingIsRemovedOrMarked() throws {
    let failing = Lock("")
    var options = JournalOptions()
    options.readHook = { path, _ in
      let name = failing.withLock { $0 }
      return !name.isEmpty && path.hasSuffix(name) ? .fail(EIO) : .proceed
    }
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Log.journal")
      let journal = try Journal<Logbook>.create(at: url)
      let bytes = Data("cover".utf8)
      let blob = try journal.blobs.add(bytes)
      try journal.commit { try $0.write(1, "a page", blob: blob) }
      try journal.close()
      let before = try contents(of: url)

      for mode in [Journal<Logbook>.Mode.readOnly, .readWrite] {
        let journal = try Journal<Logbook>.open(at: url, mode: mode, options: options)
        failing.withLock { $0 = blob.digest.hex }
        let reading = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
        #expect(reading?.code == .io && reading?.path == journal.blobs.url(of: blob).path)
        let found = try journal.verify(.deep)
        #expect(found.problems.map(\.code) == [.io], "\(found.problems)")
        let copy = folder.url.appending(path: "Copy.journal")
        let copying = #expect(throws: JournalError.self) { try journal.copy(to: copy) }
        #expect(copying?.code == .io && !FileManager.default.fileExists(atPath: copy.path))
        let all = #expect(throws: JournalError.self) {
          try Journal<Logbook>.open(at: url, mode: .readOnly, checking: .everything, options: options).close()
        }
        #expect(all?.code == .io)
        if mode == .readOnly { #expect(try contents(of: url) == before) }

        failing.withLock { $0 = "" }
        #expect(try journal.blobs.data(of: blob) == bytes && journal.verify(.deep).isSound)
        if mode == .readWrite { try journal.commit { try $0.write(2, "another", blob: blob) } }
        try journal.close()
      }
    }
  }

  /// The bytes of the files in the folder, by name.
  private func contents(of url: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      contents[name] = try? Data(contentsOf: url.appending(path: name))
    }
    return contents
  }
}
