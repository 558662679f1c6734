import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// Taking and dropping snapshots takes no checkpoint from the layers, so past states stay as fast as they were.
struct SnapshotDropTests {
  private static let often = JournalOptions(layers: .often(12))

  @Test func droppingASnapshotWritesNothing() throws {
    try withGarden { garden in
      try garden.reopen(options: Self.often)
      try garden.grow(40)
      // Of the newest state, so that all of it is in layers.
      try garden.journal.dropSnapshot(at: garden.journal.takeSnapshot().revision)
      garden.journal.waitForLayers()
      let names = try layerFiles(garden.url)
      for revision in [5, garden.journal.head.revision - 30, garden.journal.head.revision] {
        try garden.journal.takeSnapshot(asOf: .revision(revision))
        try garden.journal.dropSnapshot(at: revision)
        #expect(try layerFiles(garden.url) == names)
      }
    }
  }

  @Test func hundredsOfSnapshotsTakenAndDroppedBetweenCommitsLeaveEveryCheckpoint() throws {
    try withShelf { shelf in
      var known: Set<Revision> = []
      for round in 0..<300 {
        try shelf.update(0...6)
        let head = shelf.journal.head.revision
        let revision =
          Bool.random(using: &shelf.random) ? head : Int.random(in: 1...head, using: &shelf.random)
        try shelf.journal.takeSnapshot(asOf: .revision(revision))
        try shelf.update(0...6)
        shelf.journal.waitForLayers()
        known.formUnion(checkpoints(of: shelf.journal))
        try shelf.journal.dropSnapshot(at: revision)
        shelf.journal.waitForLayers()
        let lost = known.subtracting(checkpoints(of: shelf.journal))
        try #require(lost.isEmpty, "round \(round), revision \(revision): \(lost.sorted())")
      }
      #expect(known.count > 40)
      try shelf.expectPastIsNear()
    }
  }

  /// Some of the sessions write layers only with a snapshot.
  @Test func everyCheckpointStaysWhenLaterSessionsDropSnapshots() throws {
    try withShelf { shelf in
      var known: Set<Revision> = []
      for round in 0..<150 {
        let isManual = round % 5 == 4
        try shelf.reopen(isManual ? JournalOptions(layers: .manual) : Self.often)
        // At least every fourth session makes a layer, so that no state is far from a checkpoint.
        try shelf.update(round.isMultiple(of: 2) ? 0...3 : 20...20)
        shelf.journal.waitForLayers()
        known.formUnion(checkpoints(of: shelf.journal))
        for snapshot in try shelf.journal.snapshots() where Int.random(in: 0..<3, using: &shelf.random) == 0 {
          try shelf.journal.dropSnapshot(at: snapshot.revision)
        }
        try shelf.journal.takeSnapshot()
        shelf.journal.waitForLayers()
        let lost = known.subtracting(checkpoints(of: shelf.journal))
        try #require(lost.isEmpty, "round \(round): \(lost.sorted())")
      }
      for snapshot in try shelf.journal.snapshots() {
        try shelf.journal.dropSnapshot(at: snapshot.revision)
      }
      try shelf.reopen(Self.often)
      shelf.journal.waitForLayers()
      #expect(known.subtracting(checkpoints(of: shelf.journal)) == [])
      try shelf.expectPastIsNear()
    }
  }

  private func layerFiles(_ url: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: url.appending(path: "snapshots").path).sorted()
  }

  private func withShelf(_ body: (Shelf) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let shelf = try Shelf(folder.url.appending(path: "Shelf.journal"), Self.often)
      defer { try? shelf.journal.close() }
      try body(shelf)
    }
  }
}

/// A journal of a few items whose numbers change, except that of the last.
final class Shelf {
  let url: URL
  private(set) var journal: CatalogJournal
  var random = SeededGenerator()
  private static let itemCount = 20

  init(_ url: URL, _ options: JournalOptions) throws {
    self.url = url
    journal = try CatalogJournal.create(at: url, options: options)
    try journal.commit { draft in
      for _ in 0..<Self.itemCount { _ = try draft.addItem(kind: "box", attributes: ["count": .integer(0)]) }
    }
  }

  func reopen(_ options: JournalOptions) throws {
    try journal.close()
    try open(options)
  }

  func open(_ options: JournalOptions) throws {
    journal = try CatalogJournal.open(at: url, options: options)
  }

  /// Makes so many commits of one event. The item's number becomes that of the revision.
  func update(_ counts: ClosedRange<Int>) throws {
    for _ in 0..<Int.random(in: counts, using: &random) {
      let item = CatalogModel.Catalog.Item.ID(Int.random(in: 1..<Self.itemCount, using: &random))
      try journal.commit { draft in
        try draft.updateItem(item, set: ["count": .integer(Int64(draft.revision))])
      }
    }
  }

  /// Checks that few events lead from a checkpoint to each revision, and that the states are right.
  func expectPastIsNear(findsProblem: Bool = false) throws {
    for revision in (journal.base?.revision ?? 0) + 1...journal.head.revision {
      let reached = journal.chain.stack(atOrBefore: revision)?.checkpoint.revision ?? 0
      #expect(revision - reached < 3 * 12, "revision \(revision)")
    }
    #expect(try journal.verify(.deep).problems.map(\.description) == [])
    #expect(journal.health.layerProblems.isEmpty != findsProblem)
  }
}

/// The revisions whose states the journal reads from layers without a replay.
func checkpoints(of journal: CatalogJournal) -> Set<Revision> {
  let revisions = journal.chain.layers.flatMap(\.checkpoints).map(\.revision)
  return Set(revisions.filter { journal.chain.stack(atOrBefore: $0)?.checkpoint.revision == $0 })
}

/// A layer of what opening replayed has checkpoints like those of a session that committed it. It had one, at its end.
struct ReplayedCheckpointTests {
  private static let often = JournalOptions(layers: .often(12))

  enum Loss: CaseIterable {
    case allFiles, firstLayer, firstRecord, erasure, pruning
  }

  @Test(arguments: Loss.allCases) func thePastIsNearAgainAfterLayersWereLost(_ loss: Loss) throws {
    try withTemporaryFolder { folder in
      let shelf = try Shelf(folder.url.appending(path: "Shelf.journal"), Self.often)
      try shelf.update(400...400)
      shelf.journal.waitForLayers()
      let first = try #require(shelf.journal.chain.layers.first?.name)
      try shelf.journal.close()
      let snapshots = shelf.url.appending(path: "snapshots")
      switch loss {
      case .allFiles: try FileManager.default.removeItem(at: snapshots)
      case .firstLayer: try FileManager.default.removeItem(at: snapshots.appending(path: first.fileName))
      case .firstRecord: try FileManager.default.removeItem(at: snapshots.appending(path: first.footerName))
      case .erasure: try CatalogJournal.erase([.item(20)], at: shelf.url, reason: "law")
      case .pruning: try CatalogJournal.prune(before: .revision(100), at: shelf.url, reason: "law")
      }
      try shelf.open(Self.often)
      shelf.journal.waitForLayers()
      try shelf.expectPastIsNear(findsProblem: loss == .firstLayer)
      // The next session has the same.
      try shelf.reopen(Self.often)
      try shelf.update(100...100)
      shelf.journal.waitForLayers()
      try shelf.expectPastIsNear()
      try shelf.journal.close()
    }
  }

  /// Versions that are replaced again and again must not fill the memory.
  @Test func momentsThatHoldTooMuchAreThinned() throws {
    try withTemporaryFolder { folder in
      let shelf = try Shelf(folder.url.appending(path: "Shelf.journal"), JournalOptions(layers: .manual))
      try shelf.update(600...600)
      try shelf.journal.close()
      var options = Self.often
      options.layers.backlogByteCount = 4_000
      try shelf.open(options)
      shelf.journal.waitForLayers()
      let count = checkpoints(of: shelf.journal).count
      #expect(count > 1 && count < 20)
      #expect(try shelf.journal.verify(.deep).problems.map(\.description) == [])
      try shelf.journal.close()
    }
  }
}
