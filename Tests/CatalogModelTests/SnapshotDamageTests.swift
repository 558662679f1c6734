import CatalogModel
import Foundation
import JournalMaintenance
import LevelDB
import TestSupport
import Testing

@testable import Journaling

/// Damages and forges the file of a snapshot, that of the layer of the same state, and their records in many ways. Every
/// state stays right, and verification names the file.
struct SnapshotDamageTests {
  /// Options to read the layer on demand, as large ones are, or whole at opening.
  private static func options(_ isLate: Bool) -> JournalOptions {
    isLate ? .readingLate : JournalOptions(layers: .manual)
  }

  // MARK: The file

  @Test(arguments: [false, true])
  func anyAlteredByteLeavesEveryStateRight(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    for isOfLayer in [true, false] {
      try withSnapshot { garden, snapshot in
        let url = isOfLayer ? garden.layerURL(of: snapshot.revision) : snapshot.url
        let whole = Array(try Data(contentsOf: url))
        let step = TestLength.isLong ? 1 : whole.count / 12
        var offset = 0
        while offset < whole.count {
          for damage in Damage.allCases {
            guard let damaged = damage.applied(to: whole, at: offset) else { continue }
            try Data(damaged).write(to: url)
            try garden.expectEveryStateIsRight(findsProblem: true, options: options)
          }
          offset += Int.random(in: 1...(2 * step - 1), using: &generator)
        }
      }
    }
  }

  @Test(arguments: [false, true])
  func aReplacedFileCostsOnlyTime(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    for isOfLayer in [true, false] {
      try withSnapshot { garden, snapshot in
        let url = isOfLayer ? garden.layerURL(of: snapshot.revision) : snapshot.url
        let whole = Array(try Data(contentsOf: url))
        let older = try isOfLayer ? garden.layer(asOf: 20) : Array(garden.archive(asOf: 20))
        var replacements = [older, older + [UInt8](repeating: 0, count: max(0, whole.count - older.count))]
        replacements.append(generator.bytes(whole.count))
        replacements.append([UInt8](repeating: 0, count: whole.count))
        replacements.append(whole.reversed())
        for replacement in replacements {
          try Data(replacement).write(to: url)
          try garden.expectEveryStateIsRight(findsProblem: true, options: options)
        }
      }
    }
  }

  /// A layer that was rebuilt from the beginning of history used to lack what had been removed from a group since. So if it
  /// is used above a checkpoint inside its range, the layers below still answered that the member is there.
  @Test func aRebuiltLayerSaysWhatWasRemovedSinceItBegins() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Finds.journal"), options: JournalOptions(layers: .manual))
      try journal.commit { draft in
        try draft.addCategory(name: "one")
        try draft.addItem(kind: "find")
      }
      try journal.commit { try $0.setCategory(ofItem: 1, to: 1) }
      try journal.commit { try $0.setCategory(ofItem: 1, to: nil) }
      let checkpoints = try [1, 3].map { revision in
        let parts = try #require(try journal.state(asOf: .revision(revision)).parts)
        return LayerCheckpoint(revision: revision, eventCount: 0, parts)
      }
      let layers = try journal.chain.rebuilder.changes(
        of: Catalog.self, in: journal.log, over: nil, after: checkpoints[0], to: [checkpoints[1]])
      let index = try #require(journal.chain.shape?.indexes.firstIndex(of: "itemsByCategory"))
      #expect(layers.first?.line(index, IndexKey(group: 1, member: 1), asOf: 3) == false)
      try journal.close()
    }
  }

  // MARK: Forged records

  @Test(arguments: [false, true])
  func randomBytesWithRightChecksumsCostOnlyTime(readingLate isLate: Bool) throws {
    let options = Self.options(isLate)
    var generator = SeededGenerator()
    try withSnapshot { garden, snapshot in
      let whole = Array(try Data(contentsOf: snapshot.url))
      let layer = Array(try Data(contentsOf: garden.layerURL(of: snapshot.revision)))
      for _ in 0..<(TestLength.isLong ? 1000 : 10) {
        var bytes = generator.bytes(Int.random(in: 0..<40_000, using: &generator))
        if generator.chance(1, in: 2) { bytes = Array(whole.prefix(8)) + bytes + whole.suffix(32) }
        let isOfLayer = generator.chance(1, in: 2)
        let name = LayerName(from: isOfLayer ? 0 : nil, to: snapshot.revision)
        try garden.forge(name, bytes)
        try garden.open(mode: .readOnly, options: options)
        #expect(garden.journal.state.json == garden.states.last)
        #expect(garden.journal.health.layerProblems.map(\.revision) == (isOfLayer ? [snapshot.revision] : []))
        #expect(try garden.journal.verify(.deep).problems.count == 1)
        try garden.journal.close()
        try garden.forge(name, Array(isOfLayer ? layer : whole))
      }
    }
  }

  /// Only someone who may write to the journal's folder can forge this, and nothing at opening reveals it.
  @Test(arguments: [false, true]) func aForgedSnapshotWithRightChecksumsIsFoundByDeepVerification(
    _ isDigestForged: Bool
  ) throws {
    try withSnapshot { garden, snapshot in
      let archive = Array(try isDigestForged ? Data(contentsOf: snapshot.url) : garden.archive(asOf: 20))
      let past = try garden.stateDigest(asOf: 20)
      try garden.forge(LayerName(from: nil, to: snapshot.revision), archive) { footer in
        if isDigestForged { footer.stateDigest = past }
      }
      try garden.open(options: JournalOptions(layers: .manual))
      // No state depends on it.
      #expect(garden.journal.state.json == garden.states.last)
      #expect(try garden.journal.verify().problems.map(\.description) == [])
      let problems = try garden.journal.verify(.deep).problems
      #expect(problems.count == 1 && problems.first?.path == snapshot.url.path)
      #expect(
        problems.first?.message
          == (isDigestForged
            ? "the footer of the snapshot names a state that differs from the entries'"
            : "the snapshot has a state that differs from the entries'"))
      try garden.journal.dropSnapshot(at: snapshot.revision)
      #expect(try garden.journal.verify(.deep).isSound)
    }
  }

  @Test func aForgedLayerWithRightChecksumsIsFoundByVerification() throws {
    try withSnapshot { garden, snapshot in
      // A layer of an early state may lack a part that later ones have, and is refused.
      let point = 50
      let older = try garden.layer(asOf: point)
      try garden.forge(LayerName(from: 0, to: snapshot.revision), older)
      try garden.open(options: JournalOptions(layers: .manual))
      #expect(garden.journal.state.json == garden.states[point])
      // Verification that is not deep compares only the state that the journal shows.
      let wrong = "the state that the journal shows differs from the one that its entries make"
      #expect(try garden.journal.verify().problems.map { $0.message.hasPrefix(wrong) } == [true])
      let problems = try garden.journal.verify(.deep).problems
      #expect(problems.count == 2)
      #expect(problems.first?.path == garden.layerURL(of: snapshot.revision).path)
      #expect(problems.first?.message == "the layer has a state that differs from the entries'")
      // Removing the file repairs the journal.
      try garden.journal.close()
      try FileManager.default.removeItem(at: garden.layerURL(of: snapshot.revision))
      try garden.open(options: JournalOptions(layers: .manual))
      #expect(garden.journal.state.json == garden.states.last)
    }
  }

  /// A pruned history has no state to compare the first checkpoint with, and the others used to be skipped with it.
  @Test func aForgedLayerWithACheckpointThatWasPrunedIsFoundByDeepVerification() throws {
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
      let layer = garden.layerURL(of: snapshot.revision)
      let footerFile = layer.deletingPathExtension().appendingPathExtension("record")
      let (whole, record) = (try Data(contentsOf: layer), try Data(contentsOf: footerFile))
      try garden.forge(LayerName(from: 0, to: snapshot.revision), garden.layer(asOf: point + 1)) {
        footer in
        var pruned = footer.start
        pruned.revision = early.revision
        footer.checkpoints.insert(pruned, at: 0)
      }
      try garden.open(mode: .readOnly)
      var problems = try garden.journal.verify(.deep).problems
      #expect(
        problems.first?.message
          == "the layer has a state from before the pruned history begins, which can't be compared")
      #expect(problems.first?.path == layer.path && problems.allSatisfy { !$0.isDamage })
      // The journal shows the state of the forged layer.
      #expect(problems.count == 2)
      try garden.journal.close()
      try whole.write(to: layer)
      try record.write(to: footerFile)
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
      let whole = Array(try Data(contentsOf: garden.layerURL(of: snapshot.revision)))
      for change in [
        { $0.checkpoints[0].eventCount = .max }, { $0.checkpoints[0].tables[0].count = .max },
        { $0.byteCount = .max }, { $0.checkpoints[0].tables = [] }, { $0.checkpoints[0].textCounts = [] },
        { $0.checkpoints = [] }, { $0.generation = .max }, { $0.start.revision = 7 },
      ] as [(inout LayerFooter) -> Void] {
        try garden.forge(LayerName(from: 0, to: snapshot.revision), whole, change)
        try garden.open(options: JournalOptions(layers: .automatic))
        #expect(garden.journal.state.json == garden.states.last)
        #expect(!garden.journal.health.layerProblems.isEmpty)
        try garden.grow(2)
        try garden.journal.close()
      }
    }
  }

  /// The record is whole, so the count is only found to be wrong when it would become negative.
  @Test func aLayerThatNamesTooFewEntitiesDoesNotEndTheProcess() throws {
    try withSnapshot { garden, snapshot in
      let layer = garden.layerURL(of: snapshot.revision)
      try garden.forge(LayerName(from: 0, to: snapshot.revision), Array(Data(contentsOf: layer))) { footer in
        for table in footer.checkpoints[0].tables.indices { footer.checkpoints[0].tables[table].count = 0 }
      }
      for _ in 0..<2 {
        try garden.open(options: JournalOptions(layers: .often(1)))
        let items = garden.journal.state.items.prefix(10).map(\.id)
        let categories = garden.journal.state.categories.prefix(2).map(\.id)
        try garden.journal.commit { draft in
          for item in items { try draft.deleteItem(item) }
          for category in categories { try draft.deleteCategory(category) }
        }
        garden.journal.waitForLayers()
        let state = garden.journal.state
        #expect(items.allSatisfy { state.item($0) == nil })
        #expect(state.itemCount >= 0 && state.categoryCount >= 0 && state.imageCount >= 0)
        // A query estimates from that count what is faster.
        #expect(garden.journal.state.items(Tree.self).allSatisfy { $0.item.kind == "tree" })
        try garden.journal.close()
      }
      let replayed = try CatalogJournal.open(at: garden.url, mode: .readOnly)
      #expect(try !replayed.verify(.deep).isSound)
      try replayed.close()
    }
  }

  /// Records are not checked again after they were read from a layer, so the reader refuses what no record has.
  @Test(arguments: [("aardvark", "zzzebras"), ("plain text", "plain\u{0}text")])
  func aLayerWithInvalidRecordsIsNotUsed(_ old: String, _ new: String) throws {
    try withGarden { garden in
      let item = try garden.journal.commit { draft in
        try draft.addItem(kind: "forged", attributes: ["aardvark": "plain text", "zzzebras": 2])
      }.value
      let expected = garden.journal.state.json
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      let layer = garden.layerURL(of: snapshot.revision)
      // Each name replaces the other one, so that they are in the wrong order. A NUL stands for a byte that is not ASCII.
      var bytes = try Array(Data(contentsOf: layer))
      let (first, second) = (Array(old.utf8), new.utf8.map { $0 == 0 ? 0xFF : $0 })
      for start in 0..<bytes.count - first.count {
        let range = start..<start + first.count
        if bytes[range].elementsEqual(first) {
          bytes.replaceSubrange(range, with: second)
        } else if bytes[range].elementsEqual(second) {
          bytes.replaceSubrange(range, with: first)
        }
      }
      try garden.forge(LayerName(from: 0, to: snapshot.revision), bytes)
      try garden.open(mode: .readOnly)
      #expect(garden.journal.state.item(item)?.attributes == ["aardvark": "plain text", "zzzebras": 2])
      #expect(garden.journal.state.json == expected)
      #expect(!garden.journal.health.layerProblems.isEmpty)
      try garden.journal.close()
    }
  }

  /// An array made of a table used to expect that many.
  @Test func aLayerThatNamesTooManyEntitiesDoesNotEndTheProcess() throws {
    try withSnapshot { garden, snapshot in
      let layer = garden.layerURL(of: snapshot.revision)
      try garden.forge(LayerName(from: 0, to: snapshot.revision), Array(Data(contentsOf: layer))) { footer in
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

  /// Calls `body` with a journal that is closed, and has a snapshot of its newest state and a layer of all changes.
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

  /// The bytes that a layer of all changes up to a revision would have.
  fileprivate func layer(asOf revision: Revision) throws -> [UInt8] {
    try open(mode: .readOnly)
    defer { try? journal.close() }
    let version = try journal.version(replayedTo: .revision(revision))
    let shape = try #require(StateShape(Catalog.self))
    let parts = try #require(version.state.parts)
    let top = LayerCheckpoint(revision: revision, eventCount: 0, parts)
    let header = LayerHeader(
      journal: journal.id, shape: shape, head: version.head, start: .start(shape), checkpoints: [top])
    var bytes: [UInt8] = []
    _ = try unsafe LayerWriter.write([WholeState(parts: parts, revision: revision)], header) {
      unsafe bytes.append(contentsOf: $0)
    }
    return bytes
  }

  /// Replaces the bytes of a snapshot or layer, and writes a record with checksums that match them.
  fileprivate func forge(
    _ name: LayerName, _ bytes: [UInt8], _ change: (inout LayerFooter) -> Void = { _ in }
  ) throws {
    try Data(bytes).write(to: url.appending(path: "snapshots/\(name.fileName)"))
    // Read first, because a journal that is open for writing removes layers that can't be used.
    try open(mode: .readOnly)
    let record = try journal.chain.footers.footer(name)
    let version = try journal.version(replayedTo: .revision(name.to))
    let stateDigest = name.from == nil ? StateDigest.digest(of: version.state) : nil
    let footers = journal.chain.footers
    try journal.close()
    let shape = try #require(StateShape(Catalog.self))
    let parts = try #require(version.state.parts)
    var footer =
      record?.footer
      ?? LayerFooter(
        byteCount: 0, pageChecksums: [], stateDigest: stateDigest, entryDigest: version.digest,
        schema: Catalog.schema, generation: 1, start: .start(shape),
        checkpoints: [LayerCheckpoint(revision: version.revision, eventCount: 0, parts)])
    footer.byteCount = bytes.count
    footer.pageChecksums = stride(from: 0, to: bytes.count, by: LayerFooter.pageByteCount).map { start in
      CRC32C.checksum(bytes[start..<min(start + LayerFooter.pageByteCount, bytes.count)])
    }
    change(&footer)
    try footers.write(name, footer)
  }

  /// The file of the layer of all changes up to a revision.
  fileprivate func layerURL(of revision: Revision) -> URL {
    url.appending(path: "snapshots/\(LayerName(from: 0, to: revision).fileName)")
  }

  /// The file of the record of a snapshot.
  fileprivate func recordURL(of revision: Revision) -> URL {
    let name = String(repeating: "0", count: 16 - String(revision).count) + "\(revision).record"
    return url.appending(path: "snapshots/\(name)")
  }
}
