import CatalogModel
import Foundation
import LevelDB
import TestSupport
import Testing

@testable import Journaling

/// Damages and forges the file of a snapshot and its record in many ways. Every state stays right, and verification
/// names the snapshot.
struct SnapshotDamageTests {
  /// Options to read the file on demand, as large ones are, or whole at opening.
  private static func options(_ isLate: Bool) -> JournalOptions {
    isLate ? .readingLate : JournalOptions(layers: .manual)
  }

  // MARK: The file

  @Test(arguments: [false, true])
  func anyAlteredByteLeavesEveryStateRight(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    try withSnapshot { garden, snapshot in
      let whole = Array(try Data(contentsOf: snapshot.url))
      let step = TestLength.isLong ? 1 : whole.count / 12
      var offset = 0
      while offset < whole.count {
        for damage in Damage.allCases {
          guard let damaged = damage.applied(to: whole, at: offset) else { continue }
          try Data(damaged).write(to: snapshot.url)
          try garden.expectEveryStateIsRight(findsProblem: true, options: options)
        }
        offset += Int.random(in: 1...(2 * step - 1), using: &generator)
      }
    }
  }

  @Test(arguments: [false, true])
  func aReplacedSnapshotFileCostsOnlyTime(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    try withSnapshot { garden, snapshot in
      let whole = Array(try Data(contentsOf: snapshot.url))
      let older = Array(try garden.archive(asOf: 20))
      var replacements = [older, older + [UInt8](repeating: 0, count: max(0, whole.count - older.count))]
      replacements.append(generator.bytes(whole.count))
      replacements.append([UInt8](repeating: 0, count: whole.count))
      replacements.append(whole.reversed())
      for replacement in replacements {
        try Data(replacement).write(to: snapshot.url)
        try garden.expectEveryStateIsRight(findsProblem: true, options: options)
      }
    }
  }

  /// A layer that was rebuilt from the beginning of history used to lack what had been removed from a group since, so a
  /// snapshot inside its range, on which it stands, still answered that it is there.
  @Test(.disabled(if: TestLength.isUnderSanitizer)) func aRebuiltLayerSaysWhatWasRemovedSinceASnapshot()
    throws
  {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      var journal = try CatalogJournal.create(at: url)
      try journal.commit { draft in
        for name in 1...5 { try draft.addCategory(name: "\(name)") }
        for _ in 1...10_000 { try draft.addItem(kind: "find") }
      }
      try journal.close()
      journal = try CatalogJournal.open(at: url)
      try journal.commit { try $0.setCategory(ofItem: 1, to: 3) }
      try journal.takeSnapshot()
      try journal.commit { try $0.setCategory(ofItem: 1, to: nil) }
      // So many that the lines of category 3 are in a page that opening does not read.
      try journal.commit { draft in
        for number in 1...50_000 { try draft.addItem(kind: "find", category: [1, 2, 4, 5][number % 4]) }
      }
      try journal.close()
      let reader = try CatalogJournal.open(at: url, mode: .readOnly, options: .readingLate)
      let state = reader.state
      let stack = try #require(LayerStack.backing(state))
      // The layer, on the snapshot.
      #expect(stack.layers.map(\.name.noun) == ["layer", "snapshot"])
      try reader.close()
      let file = url.appending(path: "snapshots/\(stack.layers[0].name.fileName)")
      let damaged = try Data(contentsOf: file).map { ~$0 }
      let handle = try FileHandle(forWritingTo: file)
      try handle.write(contentsOf: damaged)
      try handle.close()
      #expect(state.items(in: 3).map(\.id) == [])
      #expect(stack.layers[0].isRebuilt)
      #expect(state.item(1) != nil && state.itemCount == 60_000)
    }
  }

  // MARK: Forged records

  @Test(arguments: [false, true])
  func randomBytesWithRightChecksumsCostOnlyTime(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    try withSnapshot { garden, snapshot in
      let whole = Array(try Data(contentsOf: snapshot.url))
      for _ in 0..<(TestLength.isLong ? 1000 : 10) {
        var bytes = generator.bytes(Int.random(in: 0..<40_000, using: &generator))
        if generator.chance(1, in: 2) { bytes = Array(whole.prefix(8)) + bytes + whole.suffix(32) }
        try garden.forge(snapshot, bytes)
        try garden.open(mode: .readOnly, options: options)
        #expect(garden.journal.state.json == garden.states.last)
        #expect(garden.journal.health.layerProblems.map(\.revision) == [snapshot.revision])
        #expect(try garden.journal.verify(.deep).problems.count == 1)
        try garden.journal.close()
      }
    }
  }

  /// Only someone who may write to the journal's folder can forge this, and nothing at opening reveals it.
  @Test(arguments: [false, true]) func aForgedSnapshotWithRightChecksumsIsFoundByVerification(
    _ isDigestForged: Bool
  ) throws {
    try withSnapshot { garden, snapshot in
      let revision = isDigestForged ? snapshot.revision : 20
      let archive = Array(try isDigestForged ? Data(contentsOf: snapshot.url) : garden.archive(asOf: 20))
      let past = try garden.stateDigest(asOf: 20)
      try garden.forge(snapshot, archive) { if isDigestForged { $0.stateDigest = past } }
      try garden.open(options: JournalOptions(layers: .manual))
      #expect(garden.journal.state.json == garden.states[revision])
      // Verification that is not deep compares only the state that the journal shows.
      let wrong = "the state that the journal shows differs from the one that its entries make"
      let isWrong = try garden.journal.verify().problems.map { $0.message.hasPrefix(wrong) }
      #expect(isWrong == (isDigestForged ? [] : [true]))
      let problems = try garden.journal.verify(.deep).problems
      #expect(problems.count == (isDigestForged ? 1 : 2))
      #expect(problems.first?.path == snapshot.url.path)
      #expect(
        problems.first?.message
          == (isDigestForged
            ? "the footer of the snapshot names a state that differs from the entries'"
            : "the snapshot has a state that differs from the entries'"))
      // Dropping the snapshot repairs the journal.
      try garden.journal.dropSnapshot(at: snapshot.revision)
      try garden.reopen()
      #expect(garden.journal.state.json == garden.states.last)
    }
  }

  /// A pruned history has no state to compare the first checkpoint with, and the others used to be skipped with it.
  @Test func aForgedSnapshotWithACheckpointThatWasPrunedIsFoundByDeepVerification() throws {
    try withGarden { garden in
      let point = garden.journal.head.revision / 2
      let early = try garden.journal.takeSnapshot(asOf: .revision(point - 1))
      let files = [early.url, garden.recordURL(of: early.revision)]
      let contents = try files.map { try Data(contentsOf: $0) }
      try garden.journal.dropSnapshot(at: early.revision)
      try garden.journal.close()
      try CatalogJournal.prune(
        before: .revision(point), at: garden.url, options: JournalOptions(layers: .manual))
      try garden.open(options: JournalOptions(layers: .manual))
      let snapshot = try garden.journal.takeSnapshot()
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
      try garden.journal.close()
      try garden.forge(snapshot, Array(garden.archive(asOf: point + 1))) { footer in
        var pruned = footer.start
        pruned.revision = early.revision
        footer.checkpoints.insert(pruned, at: 0)
      }
      try garden.open(mode: .readOnly)
      var problems = try garden.journal.verify(.deep).problems
      #expect(
        problems.first?.message
          == "the snapshot has a state from before the pruned history begins, which can't be compared")
      #expect(problems.first?.path == snapshot.url.path && problems.allSatisfy { !$0.isDamage })
      // The journal shows the state of the forged snapshot.
      #expect(problems.count == 2)
      try garden.journal.close()
      // One that ends before the base used to be skipped too.
      for (file, contents) in zip(files, contents) { try contents.write(to: file) }
      try garden.open(mode: .readOnly)
      problems = try garden.journal.verify().problems
      #expect(problems.first?.message == "the snapshot ends before the pruned history begins")
      try garden.journal.close()
    }
  }

  @Test func anUnreadableRecordMakesOnlyItsOwnSnapshotUseless() throws {
    var generator = SeededGenerator()
    try withSnapshot { garden, snapshot in
      try garden.open(options: JournalOptions(layers: .manual))
      try garden.journal.takeSnapshot(asOf: .revision(20))
      let older = try Data(contentsOf: garden.recordURL(of: 20))
      try garden.journal.close()
      let url = garden.recordURL(of: snapshot.revision)
      let encoded = Array(try Data(contentsOf: url))
      var forgeries: [[UInt8]] = [
        [], [0], encoded.dropLast(), encoded + [0], generator.bytes(40), Array(older),
      ]
      for _ in 0..<20 {
        var forgery = encoded
        forgery[Int.random(in: 0..<forgery.count, using: &generator)] ^= .random(
          in: 1...255, using: &generator)
        forgeries.append(forgery)
      }
      for forgery in forgeries {
        try Data(forgery).write(to: url)
        try garden.open(options: JournalOptions(layers: .manual))
        #expect(garden.journal.state.json == garden.states.last)
        #expect(garden.journal.health.layerProblems.map(\.revision) == [snapshot.revision])
        #expect(garden.journal.check(snapshot)?.code == .damaged)
        #expect(try garden.journal.verify().problems.map(\.revision) == [snapshot.revision])
        // A snapshot that was taken on request stays until it is dropped.
        #expect(FileManager.default.fileExists(atPath: snapshot.url.path))
        try garden.journal.close()
      }
      // A new request replaces it.
      try garden.open(options: JournalOptions(layers: .manual))
      try garden.journal.takeSnapshot()
      #expect(try garden.journal.snapshots().map(\.revision) == [20, snapshot.revision])
      try garden.reopen()
      #expect(garden.journal.health.layerProblems.isEmpty)
      #expect(try garden.journal.verify(.deep).isSound)
    }
  }

  @Test func aSnapshotWhoseRecordIsDeletedCostsOnlyTime() throws {
    try withSnapshot { garden, snapshot in
      try FileManager.default.removeItem(at: garden.recordURL(of: snapshot.revision))
      try garden.expectEveryStateIsRight(findsProblem: false)
      try garden.open(options: JournalOptions(layers: .manual))
      #expect(try garden.journal.snapshots().isEmpty)
      try garden.journal.takeSnapshot(asOf: .revision(20))
      #expect(!FileManager.default.fileExists(atPath: snapshot.url.path))
    }
  }

  /// Records of snapshots used to be entries of the log, so a backup of the log had records of files that it did not
  /// have.
  @Test func aJournalWithoutItsSnapshotsFolderReportsNoProblem() throws {
    try withSnapshot { garden, _ in
      let folder = garden.url.appending(path: "snapshots")
      try FileManager.default.removeItem(at: folder)
      try garden.expectEveryStateIsRight(findsProblem: false)
    }
  }

  /// A snapshot that could not be read because the process had too many files open used to be called damaged, and
  /// was removed when the next one was taken.
  @Test(arguments: [true, false])
  func aTemporaryReadErrorIsNotTakenForDamage(ofTheRecord isOfRecord: Bool) throws {
    try withSnapshot { garden, snapshot in
      // The tests may run as a superuser, who may read every file. A folder in its place can be opened but not read.
      let url = isOfRecord ? garden.recordURL(of: snapshot.revision) : snapshot.url
      try garden.open(options: JournalOptions(layers: .manual))
      let hidden = garden.url.deletingLastPathComponent().appending(path: "hidden")
      try FileManager.default.moveItem(at: url, to: hidden)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      let newest = garden.journal.head.revision
      #expect(try garden.journal.state(asOf: .revision(newest)).json == garden.states[newest])
      try FileManager.default.removeItem(at: url)
      try FileManager.default.moveItem(at: hidden, to: url)
      #expect(try garden.journal.snapshots().map(\.revision) == [snapshot.revision])
      #expect(garden.journal.check(snapshot) == nil)
      try garden.reopen()
      #expect(garden.journal.health.layerProblems.isEmpty)
    }
  }

  @Test func countsThatNoJournalHasAreRefused() throws {
    try withSnapshot { garden, snapshot in
      let whole = Array(try Data(contentsOf: snapshot.url))
      for change in [
        { $0.checkpoints[0].eventCount = .max }, { $0.checkpoints[0].tables[0].count = .max },
        { $0.byteCount = .max }, { $0.checkpoints[0].tables = [] }, { $0.checkpoints[0].textCounts = [] },
        { $0.checkpoints = [] }, { $0.generation = .max }, { $0.start.revision = 7 },
      ] as [(inout LayerFooter) -> Void] {
        try garden.forge(snapshot, whole, change)
        try garden.open(options: JournalOptions(layers: .automatic))
        #expect(garden.journal.state.json == garden.states.last)
        #expect(!garden.journal.health.layerProblems.isEmpty)
        try garden.grow(2)
        try garden.journal.close()
      }
    }
  }

  /// The record is whole, so the count is only found to be wrong when it would become negative.
  @Test func aSnapshotThatNamesTooFewEntitiesDoesNotEndTheProcess() throws {
    try withSnapshot { garden, snapshot in
      try garden.forge(snapshot, Array(Data(contentsOf: snapshot.url))) { footer in
        for table in footer.checkpoints[0].tables.indices { footer.checkpoints[0].tables[table].count = 0 }
      }
      for _ in 0..<2 {
        try garden.open(options: JournalOptions(layers: .often(1)))
        let items = garden.journal.state.items.prefix(10).map(\.id)
        try garden.journal.commit { draft in for item in items { try draft.deleteItem(item) } }
        garden.journal.waitForLayers()
        #expect(items.allSatisfy { garden.journal.state.item($0) == nil })
        // A query estimates from that count what is faster.
        #expect(garden.journal.state.items(Tree.self).allSatisfy { $0.item.kind == "tree" })
        try garden.journal.close()
      }
      let replayed = try CatalogJournal.open(at: garden.url, mode: .readOnly)
      #expect(try !replayed.verify(.deep).isSound)
      try replayed.close()
    }
  }

  /// Records are not checked again after they were read from a snapshot, so the reader refuses what no record has.
  @Test(arguments: [("aardvark", "zzzebras"), ("plain text", "plain\u{0}text")])
  func aSnapshotWithInvalidRecordsIsNotUsed(_ old: String, _ new: String) throws {
    try withGarden { garden in
      let item = try garden.journal.commit { draft in
        try draft.addItem(kind: "forged", attributes: ["aardvark": "plain text", "zzzebras": 2])
      }.value
      let expected = garden.journal.state.json
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      // Each name replaces the other one, so that they are in the wrong order. A NUL stands for a byte that is not ASCII.
      var bytes = try Array(Data(contentsOf: snapshot.url))
      let (first, second) = (Array(old.utf8), new.utf8.map { $0 == 0 ? 0xFF : $0 })
      for start in 0..<bytes.count - first.count {
        let range = start..<start + first.count
        if bytes[range].elementsEqual(first) {
          bytes.replaceSubrange(range, with: second)
        } else if bytes[range].elementsEqual(second) {
          bytes.replaceSubrange(range, with: first)
        }
      }
      try garden.forge(snapshot, bytes)
      try garden.open(mode: .readOnly)
      #expect(garden.journal.state.item(item)?.attributes == ["aardvark": "plain text", "zzzebras": 2])
      #expect(garden.journal.state.json == expected)
      #expect(!garden.journal.health.layerProblems.isEmpty)
      try garden.journal.close()
    }
  }

  /// An array made of a table used to expect that many.
  @Test func aSnapshotThatNamesTooManyEntitiesDoesNotEndTheProcess() throws {
    try withSnapshot { garden, snapshot in
      try garden.forge(snapshot, Array(Data(contentsOf: snapshot.url))) { footer in
        for table in footer.checkpoints[0].tables.indices {
          footer.checkpoints[0].tables[table].count = 1 << 50
        }
      }
      try garden.open(mode: .readOnly)
      let state = garden.journal.state
      #expect(state.tags.isEmpty)
      let items = try #require(state.parts).tables[Int(EntityKind.item.rawValue)]
      #expect(Array(items).map(\.number) == state.items.map(\.id.number))
      try garden.journal.close()
    }
  }

  /// Calls `body` with a journal that is closed and has a snapshot of its newest state.
  private func withSnapshot(_ body: (Garden, Snapshot) throws -> Void) throws {
    try withGarden { garden in
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      try body(garden, snapshot)
    }
  }
}

private struct Tree: CatalogItem {
  static let kind = "tree"
}

/// What happens to one byte, and to those after it.
private enum Damage: CaseIterable {
  case flippedBit, flippedByte, zeroed, cut

  /// The damaged bytes, nil if that changes nothing.
  func applied(to bytes: [UInt8], at index: Int) -> [UInt8]? {
    var altered = bytes
    switch self {
    case .flippedBit: altered[index] ^= 1 << UInt8(index % 8)
    case .flippedByte: altered[index] ^= 0xFF
    case .zeroed: altered[index] = 0
    case .cut: altered.removeSubrange(index...)
    }
    return altered == bytes ? nil : altered
  }
}

// What only an attacker can do. The journal must be closed.
extension Garden {
  /// The bytes of a snapshot of a revision. The snapshot itself is dropped again.
  fileprivate func archive(asOf revision: Revision) throws -> Data {
    try open(options: JournalOptions(layers: .manual))
    defer { try? journal.close() }
    let snapshot = try journal.takeSnapshot(asOf: .revision(revision))
    defer { try? journal.dropSnapshot(at: revision) }
    return try Data(contentsOf: snapshot.url)
  }

  fileprivate func stateDigest(asOf revision: Revision) throws -> ContentDigest {
    try open(mode: .readOnly)
    defer { try? journal.close() }
    return try #require(StateDigest.digest(of: try journal.state(asOf: .revision(revision))))
  }

  /// Replaces the bytes of a snapshot, and writes a record with checksums that match them.
  fileprivate func forge(
    _ snapshot: Snapshot, _ bytes: [UInt8], _ change: (inout LayerFooter) -> Void = { _ in }
  ) throws {
    try Data(bytes).write(to: snapshot.url)
    try open(options: JournalOptions(layers: .manual))
    defer { try? journal.close() }
    let name = LayerName(from: nil, to: snapshot.revision)
    let record = try journal.chain.footers.footer(name)
    let version = try journal.version(replayedTo: .revision(snapshot.revision))
    let shape = try #require(StateShape(Catalog.self))
    let parts = try #require(version.state.parts)
    var footer =
      record?.footer
      ?? LayerFooter(
        byteCount: 0, pageChecksums: [], stateDigest: snapshot.stateDigest, entryDigest: version.digest,
        schema: Catalog.schema, generation: 1, start: .start(shape),
        checkpoints: [LayerCheckpoint(revision: version.revision, eventCount: 0, parts)])
    footer.byteCount = bytes.count
    footer.pageChecksums = stride(from: 0, to: bytes.count, by: LayerFooter.pageByteCount).map { start in
      CRC32C.checksum(bytes[start..<min(start + LayerFooter.pageByteCount, bytes.count)])
    }
    change(&footer)
    try journal.chain.footers.write(name, footer)
  }

  /// The file of the record of a snapshot.
  fileprivate func recordURL(of revision: Revision) -> URL {
    let name = String(repeating: "0", count: 16 - String(revision).count) + "\(revision).record"
    return url.appending(path: "snapshots/\(name)")
  }
}
