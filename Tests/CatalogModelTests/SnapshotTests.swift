import CBOR
import CatalogModel
import Files
import Foundation
import JournalMaintenance
import LevelDB
import TestSupport
import Testing

@testable import Journaling

/// Taking a snapshot of the newest state makes the next opening fast. Whatever happens to its file, and to that of the layer
/// that is written with it, costs time only: the states stay right.
struct SnapshotTests {
  @Test func aStateFromALayerListsNothingForUnknownCategoriesAndKinds() throws {
    try withGarden { garden in
      try garden.journal.takeSnapshot()
      try garden.reopen()
      let catalog = garden.journal.state
      #expect(Array(catalog.items(ofKind: "a kind that never was")).isEmpty)
      #expect(Array(catalog.items(in: -1)).isEmpty && Array(catalog.images(of: -1)).isEmpty)
    }
  }

  @Test func theStateAfterASnapshotIsBackedByALayerAndIsTheCommittedState() throws {
    try withGarden { garden in
      try garden.journal.takeSnapshot()
      let expected = garden.journal.state.json
      try garden.reopen()
      #expect(garden.journal.state.json == expected)
      #expect(garden.journal.state.problems() == [])
      #expect(garden.journal.health.layerProblems.isEmpty)
      let isBacked = garden.journal.state.parts?.tables.allSatisfy { $0.base != nil }
      #expect(try isBacked == true && garden.journal.statistics().replayedEventCount == 0)
      for (revision, json) in garden.states.enumerated() {
        #expect(try garden.journal.state(asOf: .revision(revision)).json == json)
      }
      let verification = try garden.journal.verify(.deep)
      #expect(verification.problems.map(\.description) == [])
      #expect(verification.snapshotCount == 1)
    }
  }

  @Test func commitsWorkTheSameWithAndWithoutASnapshot() throws {
    try withGarden { garden in
      try garden.journal.takeSnapshot()
      try garden.reopen()
      try garden.grow(40)
      let states = garden.states
      let last = garden.journal.state.json
      try garden.reopen(options: JournalOptions(layers: .manual))
      #expect(garden.journal.state.json == last)
      #expect(try garden.journal.version(replayedTo: .head()).state.json == last)
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
      for revision in stride(from: 0, to: states.count, by: 7) {
        #expect(try garden.journal.state(asOf: .revision(revision)).json == states[revision])
      }
    }
  }

  /// Each snapshot of a newest state leaves a layer, also where layers are written on request only.
  @Test func theHundredthSnapshotOfAManualJournalFindsFewLayers() throws {
    try withGarden { garden in
      let options = JournalOptions(layers: .manual, cacheByteCount: 0)
      for _ in 0..<100 {
        try garden.reopen(options: options)
        try garden.grow(1)
        let snapshot = try garden.journal.takeSnapshot()
        try garden.journal.dropSnapshot(at: snapshot.revision)
      }
      try garden.reopen(options: options)
      #expect(try garden.journal.statistics().layerCount < 12)
      #expect(garden.journal.state.json == garden.states.last)
      for revision in stride(from: 0, to: garden.states.count, by: 17) {
        #expect(try garden.journal.state(asOf: .revision(revision)).json == garden.states[revision])
      }
    }
  }

  @Test func everyValueComesBackFromALayerByteForByte() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Values.journal")
      let journal = try CatalogJournal.create(at: url)
      var values: [FieldValue] = [
        .null, .bool(true), .bool(false), .integer(0), .integer(1), .double(1), .double(-0.0), .double(.nan),
        .double(.infinity), .integer(.min), .integer(.max), .unsigned(.max), .string("$null"), .string(""),
        .string("e\u{301} é"), .string("😀 \u{0} Ω"), .data(Data()), .data(Data([0, 255])), .array([]),
        .dictionary([:]), .date(Date(timeIntervalSinceReferenceDate: .nan)),
        .date(Date(timeIntervalSinceReferenceDate: 1e300)), .array([.bool(true), .integer(1), .double(1)]),
        .dictionary(["$null": .null, "$class": .string("$null"), "NS.keys": .array([.null])]),
      ]
      // Texts and keys that are shared, that are almost equal, and that are too long to be interned.
      values += (0..<3).map { _ in .dictionary(["name": .string("same"), "other": .string("same\u{0}")]) }
      values += (0..<3).map { _ in .dictionary([String(repeating: "k", count: 2_000): .string("é")]) }
      values += (0..<40).map { .dictionary(["key \($0 % 20)": .dictionary(["a": .null, "b": .integer(1)])]) }
      for _ in 0..<200 { values.append(.random(using: &generator)) }
      let records = try journal.commit { draft in
        try values.map { value in
          let item = try draft.addItem(kind: "$null", attributes: ["value": value, "": .null, "$x": .null])
          return draft.state.item(item)!.record
        }
      }.value
      try journal.takeSnapshot()
      try journal.close()
      let again = try CatalogJournal.open(at: url)
      for (index, record) in records.enumerated() {
        #expect(again.state.item(EntityID(index + 1))?.record == record, "\(values[index])")
      }
      #expect(again.health.layerProblems.isEmpty)
    }
  }

  @Test func theSameStateMakesTheSameBytes() throws {
    try withGarden { garden in
      let first = try garden.journal.takeSnapshot()
      let bytes = try Data(contentsOf: first.url)
      try garden.journal.dropSnapshot(at: first.revision)
      #expect(!FileManager.default.fileExists(atPath: first.url.path))
      try garden.reopen()
      let second = try garden.journal.takeSnapshot()
      #expect(try Data(contentsOf: second.url) == bytes)
      #expect(second.stateDigest == first.stateDigest)
    }
  }

  // MARK: Damage

  @Test func aFlippedBitInAnyPartOfASnapshotCostsOnlyTime() throws {
    try withGarden { garden in
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      let whole = try Data(contentsOf: snapshot.url)
      for offset in stride(from: 0, to: whole.count, by: max(whole.count / 97, 1)) {
        var damaged = whole
        damaged[offset] ^= 1 << UInt8(offset % 8)
        try damaged.write(to: snapshot.url)
        try garden.expectEveryStateIsRight(findsProblem: true)
      }
    }
  }

  @Test func aTruncatedEmptyOrMissingSnapshotCostsOnlyTime() throws {
    try withGarden { garden in
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      let whole = try Data(contentsOf: snapshot.url)
      for count in [0, 1, 8, whole.count / 2, whole.count - 1] {
        try whole.prefix(count).write(to: snapshot.url)
        try garden.expectEveryStateIsRight(findsProblem: true)
      }
      try (whole + Data([0])).write(to: snapshot.url)
      try garden.expectEveryStateIsRight(findsProblem: true)
      try FileManager.default.removeItem(at: snapshot.url)
      try garden.expectEveryStateIsRight(findsProblem: true)
      // Without its folder, its record is gone too, so there is nothing to report.
      try FileManager.default.removeItem(at: snapshot.url.deletingLastPathComponent())
      try garden.expectEveryStateIsRight(findsProblem: false)
    }
  }

  @Test func theNextOlderLayerIsUsedIfOneFails() throws {
    try withGarden { garden in
      let older = try garden.journal.takeSnapshot()
      garden.journal.waitForLayers()
      try garden.grow(10)
      let newest = try garden.journal.takeSnapshot()
      let file = try garden.newestLayer()
      try garden.journal.close()
      try Data("bplist00".utf8).write(to: file)
      try garden.open(mode: .readOnly)
      #expect(garden.journal.health.layerProblems.map(\.revision) == [newest.revision])
      #expect(garden.journal.chain.stack(atOrBefore: newest.revision)?.checkpoint.revision == older.revision)
      #expect(garden.journal.state.json == garden.states.last)
    }
  }

  @Test func aStateStaysRightWhenTheFileOfItsLayerIsDamagedLater() throws {
    try withGarden { garden in
      try garden.journal.takeSnapshot()
      let file = try garden.newestLayer()
      try garden.journal.close()
      let expected = try #require(garden.states.last)
      // Opening reads the ends of the file and some entities. The middle is read on demand.
      for isClosed in [false, true] {
        try garden.open(options: .readingLate)
        let state = garden.journal.state
        let copy = state
        let whole = try Data(contentsOf: file)
        let handle = try FileHandle(forUpdating: file)
        try handle.write(contentsOf: Data(count: whole.count))
        try handle.close()
        if isClosed { try garden.journal.close() }
        #expect(state.json == expected)
        #expect(copy.json == expected)
        #expect(state.problems() == [])
        if !isClosed { try garden.journal.close() }
        try whole.write(to: file)
      }
    }
  }

  @Test func aRequestForADamagedSnapshotReplacesIt() throws {
    try withGarden { garden in
      let bad = try garden.journal.takeSnapshot()
      try garden.journal.close()
      try Data().write(to: bad.url)
      try garden.open()
      #expect(garden.journal.health.layerProblems.count == 1)
      try garden.grow(1)
      let good = try garden.journal.takeSnapshot()
      try garden.reopen()
      #expect(garden.journal.health.layerProblems.map(\.revision) == [bad.revision])
      // A snapshot that was taken on request stays until it is dropped or requested again.
      #expect(try garden.journal.snapshots().map(\.revision) == [bad.revision, good.revision])
      try garden.journal.takeSnapshot(asOf: .revision(bad.revision))
      #expect(try garden.journal.verify(.deep).isSound)
      try garden.reopen()
      #expect(garden.journal.health.layerProblems.isEmpty)
    }
  }

  @Test func anUnfinishedSnapshotIsRemovedAndNeverUsed() throws {
    try withGarden { garden in
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      let folder = snapshot.url.deletingLastPathComponent()
      let strays = ["0000000000000003.plist", "0000000000000004.plist.new"].map { folder.appending(path: $0) }
      for stray in strays { try FileManager.default.copyItem(at: snapshot.url, to: stray) }
      try garden.expectEveryStateIsRight(findsProblem: false)
      try garden.open()
      try garden.journal.takeSnapshot(asOf: .revision(2))
      for stray in strays { #expect(!FileManager.default.fileExists(atPath: stray.path)) }
      #expect(FileManager.default.fileExists(atPath: snapshot.url.path))
    }
  }

  @Test func aSnapshotOfAnotherHistoryIsNotUsed() throws {
    try withGarden { garden in
      let snapshot = try garden.journal.takeSnapshot()
      try garden.journal.close()
      try withGarden { other in
        let foreign = try other.journal.takeSnapshot()
        try FileManager.default.removeItem(at: snapshot.url)
        try FileManager.default.copyItem(at: foreign.url, to: snapshot.url)
      }
      try garden.expectEveryStateIsRight(findsProblem: true)
    }
  }

  @Test func aReadOnlyJournalTakesNoSnapshot() throws {
    try withGarden { garden in
      try garden.journal.close()
      try garden.open(mode: .readOnly)
      let error = #expect(throws: JournalError.self) { try garden.journal.takeSnapshot() }
      #expect(error?.code == .readOnly)
    }
  }

  @Test func aSnapshotThatCanNotBeWrittenIsAnErrorAndCommitsContinue() throws {
    try withGarden { garden in
      var options = JournalOptions()
      options.fileHook = { $0.path.contains("/snapshots/") ? .fail(28) : .proceed }
      try garden.reopen(options: options)
      #expect(throws: JournalError.self) { try garden.journal.takeSnapshot() }
      try garden.grow(3)
      try garden.journal.close()
      try garden.expectEveryStateIsRight(findsProblem: false)
      let left = try FileManager.default.contentsOfDirectory(
        atPath: garden.url.appending(path: "snapshots").path)
      #expect(left == [])
    }
  }
}
