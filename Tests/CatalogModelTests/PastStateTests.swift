import CBOR
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// A past state reads an item when it is asked for it, not when it is made.
struct PastStateTests {
  @Test(arguments: [500, 4_000]) func makingAPastStateReadsNoItem(itemCount: Int) throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Past.journal"), options: JournalOptions(layers: .manual))
      let ids = try journal.commit { draft in
        try (0..<itemCount).map { try draft.insert(Recipe(title: "\($0)")) }
      }.value
      // A layer is written too, in the background.
      try journal.takeSnapshot()
      journal.waitForLayers()
      for round in 0..<300 {
        try journal.commit { try $0.update(ids[round * 7 % itemCount]) { $0.stars = round } }
      }
      let past = try journal.state(asOf: .revision(201))
      let table = past.itemTable
      #expect(table.rowByteCount == 0 && table.deferred?.count == 200)
      #expect(try past.value(of: ids[700 % itemCount]) == Recipe(title: "\(700 % itemCount)", stars: 100))
      #expect(past.revision(of: ids[7].entity) == 3)
      let replayed = try journal.version(replayedTo: .revision(201)).state
      #expect(try past.items(Recipe.self).prefix(20).values == replayed.items(Recipe.self).prefix(20).values)
      try journal.close()
    }
  }

  @Test(.disabled(if: TestLength.isUnderSanitizer)) func aPastStateEqualsTheReplayedOneHoweverItIsRead()
    throws
  {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let options = JournalOptions(layers: .often(64))
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Past.journal"), options: options)
      try journal.state.buildIndexes(of: Recipe.self)
      for _ in 0..<150 {
        try journal.commit { draft in
          for _ in 0..<Int.random(in: 1...4, using: &random) { try QueryTests.change(&draft, using: &random) }
        }
      }
      _ = try journal.erase([.item(2), .item(9)], reason: "by law")
      for _ in 0..<30 { try journal.commit { try QueryTests.change(&$0, using: &random) } }
      journal.waitForLayers()
      var states: [(past: Catalog, replayed: Catalog)] = []
      for _ in 0..<25 {
        let revision = Int.random(in: 1...journal.head.revision, using: &random)
        let replayed = try journal.version(replayedTo: .revision(revision)).state
        let past = try journal.state(asOf: .revision(revision))
        let all = try replayed.items(ofKind: Recipe.kind).map {
          (id: $0.id, recipe: try $0.decode(Recipe.self))
        }
        for number in (1...replayed.itemTable.highest + 1).shuffled(using: &random) {
          #expect(past.itemTable[number] == replayed.itemTable[number])
          #expect(past.revision(of: .item(number)) == replayed.revision(of: .item(number)))
        }
        for _ in 0..<10 {
          try QueryTests.compare(try journal.state(asOf: .revision(revision)), all, using: &random)
        }
        #expect(StateDigest.digest(of: past) == StateDigest.digest(of: replayed))
        #expect(past.problems() == [] && past.indexProblems() == [])
        if let other = states.randomElement(using: &random) {
          let expected = try #require(replayed.differences(from: other.replayed))
          let found = try #require(past.differences(from: other.past))
          #expect(found.map(\.entity) == expected.map(\.entity))
          #expect(found.map(\.new) == expected.map(\.new) && found.map(\.old) == expected.map(\.old))
        }
        states.append((past, replayed))
      }
      try journal.close()
    }
  }
}
