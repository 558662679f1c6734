import Foundation
import Journaling
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

  @Test func theNameIsTheSHA256() throws {
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

  @Test func aBlobThatIsNotFinishedLeavesNothing() throws {
    try withLedger { journal, url in
      do {
        let writer = try journal.blobs.writer()
        try writer.write(Self.contents)
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: url.path + "/images")
      #expect(left.isEmpty)
      // What a killed process leaves is removed by the next one.
      try Data("half".utf8).write(to: url.appendingPathComponent("images/abcd.new"))
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

  @Test func afterClosingBlobsAreNeitherTakenNorGiven() throws {
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
}
