import Files
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// The layers of the worked example in Documentation/Format.md, "Layers and snapshots". They are frozen in
/// `Tests/Corpus/layers`, with entities in blocks and, as layers had them before there were blocks, as objects.
struct LayerFormatTests {
  private static let names = [LayerName(from: 0, to: 2), LayerName(from: 2, to: 4)]

  private static var corpus: URL {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Corpus/layers")
  }

  /// The bytes of a frozen file.
  private static func frozen(_ name: String, _ form: String = "blocks") throws -> [UInt8] {
    Array(try Data(contentsOf: corpus.appending(path: "\(form)/\(name)")))
  }

  /// Layers of objects cost time: they are not used, and layers of blocks take their place.
  @Test(arguments: ["blocks", "objects"]) func aJournalOpensFromTheFrozenLayers(_ form: String) throws {
    try withDocumentedJournal { url in
      for name in Self.names.flatMap({ [$0.fileName, $0.footerName] }) {
        try Data(Self.frozen(name, form)).write(to: url.appending(path: "snapshots/\(name)"))
      }
      var journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      if form == "objects" {
        #expect(journal.health.layerProblems.map(\.revision) == [2, 4])
        #expect(journal.state.accounts.map { $0.row.balance } == [100, 5])
        try journal.close()
        var options = JournalOptions()
        options.layers.eventCount = 2
        options.layers.additionsPerEvent = 1
        let writer = try Journal<Ledger>.open(at: url, options: options)
        writer.waitForLayers()
        try writer.close()
        journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      }
      #expect(journal.health.layerProblems.map(\.description) == [])
      let statistics = try journal.statistics()
      #expect(statistics.layerCount == (form == "blocks" ? 2 : 1) && statistics.replayedEventCount == 0)
      #expect(journal.state.accounts.map { $0.row.balance } == [100, 5])
      #expect(try journal.state(asOf: .revision(2)).accounts.map { $0.row.balance } == [70, 30])
      let state = try journal.state(asOf: .revision(3))
      #expect(state.accounts.map { $0.row.balance } == [100])
      #expect(StateDigest.digest(of: state)?.hex == Documented.stateDigest)
      let verification = try journal.verify(.deep)
      #expect(verification.problems.map(\.description) == [])
      #expect(verification.layerCount == statistics.layerCount && verification.snapshotCount == 0)
      try journal.close()
    }
  }

  @Test func theLayersOfTheDocumentedJournalHaveTheFrozenBytes() throws {
    try withDocumentedJournal { url in
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      defer { try? journal.close() }
      let shape = try #require(StateShape(Ledger.self))
      func checkpoint(_ revision: Revision) throws -> (LayerCheckpoint, StateParts) {
        let replayed = try journal.replayed(through: revision)
        let parts = try #require(replayed.version.state.parts)
        return (LayerCheckpoint(revision: revision, eventCount: replayed.eventCount, parts), parts)
      }
      for (name, revisions) in zip(Self.names, [[0, 2], [2, 3, 4]]) {
        let points = try revisions.map { try checkpoint($0) }
        let sources = zip(points, points.dropFirst()).map { before, after in
          Memtable(after.1, since: before.1, at: after.0, after: before.0)
        }
        let head = try Replay<Ledger>(log: journal.log, format: journal.format).head(at: name.to)
        let header = LayerHeader(
          journal: journal.id, shape: shape, head: head, start: points[0].0,
          checkpoints: points.dropFirst().map(\.0))
        var archive: [UInt8] = []
        _ = try unsafe LayerWriter.write(sources, header) { unsafe archive.append(contentsOf: $0) }
        let pages = stride(from: 0, to: archive.count, by: LayerFooter.pageByteCount).map {
          CRC32C.checksum(archive[$0..<min($0 + LayerFooter.pageByteCount, archive.count)])
        }
        let record = LayerFooter(
          byteCount: archive.count, pageChecksums: pages, entryDigest: head.digest, schema: Ledger.schema,
          generation: revisions.count - 1, start: header.start, checkpoints: header.checkpoints
        ).encoded()
        #expect(try Self.frozen(name.fileName) == archive)
        #expect(try Self.frozen(name.footerName) == record)
      }
      // The document shows the second record.
      let text = try Documented.text.replacing("\n", with: "")
      #expect(text.contains(hex(try Self.frozen(Self.names[1].footerName))))
    }
  }

  /// The records of layers above 64 GiB were written and could not be read.
  @Test func theRecordOfALayerOfManyGigabytesIsRead() throws {
    try withTemporaryFolder { folder in
      let pageCount = 16 << 20 + 1
      let start = LayerCheckpoint.start(try #require(StateShape(Ledger.self)))
      let footer = LayerFooter(
        byteCount: pageCount * LayerFooter.pageByteCount,
        pageChecksums: [UInt32](repeating: 7, count: pageCount), entryDigest: .zero, schema: Ledger.schema,
        generation: 1, start: start,
        checkpoints: [
          LayerCheckpoint(revision: 1, eventCount: 1, tables: start.tables, textCounts: start.textCounts)
        ])
      let name = LayerName(from: 0, to: 1)
      let snapshots = try Files.Folder<JournalError>(folder.path, followsLinks: false, hook: nil)
      try snapshots.write(name.footerName, footer.encoded())
      // Compared outside of the expectation, which would print all of it.
      let isSame = try FooterFile(name, in: snapshots).footer == footer
      #expect(isSame)
    }
  }
}
