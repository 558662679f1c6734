import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// Answers about a history, compared with those that are computed from all of its states.
struct AuditTests {
  private func withRandomJournal(
    commits: Int = 150, _ body: (RandomJournal, inout SeededGenerator) throws -> Void
  ) throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let random1 = try RandomJournal(folder, commits: commits, using: &random)
      try body(random1, &random)
      #expect(try random1.journal.verify().isSound)
      try random1.journal.close()
    }
  }

  @Test func aDifferenceAppliedToOneStateGivesTheOther() throws {
    try withRandomJournal { made, random in
      for _ in 0..<200 {
        let a = Int.random(in: 0...made.newest, using: &random)
        let b = Int.random(in: 0...made.newest, using: &random)
        let differences = try made.journal.diff(from: .revision(a), to: .revision(b))
        var records = made.states[a].records
        for difference in differences {
          #expect(records[difference.entity] == difference.old)
          #expect(difference.old != difference.new)
          records[difference.entity] = difference.new
        }
        #expect(records == made.states[b].records)
        #expect(differences.map(\.entity) == differences.map(\.entity).sorted())
        let ofStates = try #require(made.states[b].differences(from: made.states[a]))
        #expect(ofStates == differences)
        let some = (0..<5).map { _ in made.anyEntity(using: &random) }
        let ofSome = try made.journal.diff(of: some, from: .revision(a), to: .revision(b))
        #expect(ofSome == differences.filter { some.contains($0.entity) })
      }
    }
  }

  @Test func statesOnDifferentBasesDifferInWhatTheirRecordsSay() throws {
    try withRandomJournal(commits: 60) { made, random in
      for _ in 0..<30 {
        let a = made.states[Int.random(in: 0...made.newest, using: &random)]
        let b = made.states[Int.random(in: 0...made.newest, using: &random)]
        let parts = try #require(b.parts)
        let frozen = try #require(Catalog(parts: parts.frozen()))
        #expect(frozen.differences(from: a) == b.differences(from: a))
        #expect(a.differences(from: frozen) == a.differences(from: b))
      }
    }
  }

  @Test func anEntityAsOfARevisionIsThatOfTheState() throws {
    try withRandomJournal { made, random in
      for _ in 0..<500 {
        let revision = Int.random(in: 0...made.newest, using: &random)
        let entity = made.anyEntity(using: &random)
        let row = try made.journal.entity(entity, asOf: .revision(revision))
        #expect(row?.record == made.states[revision].record(of: entity))
        if entity.kind == .item {
          #expect(row?.created == made.states[revision].item(EntityID(entity.number))?.created)
          #expect(row?.modified == made.states[revision].item(EntityID(entity.number))?.modified)
        }
      }
    }
  }

  @Test func aHistoryHasTheRecordsBeforeAndAfterEachEvent() throws {
    try withRandomJournal { made, random in
      for number in 1...30 {
        for entity in [EntityKey.item(number), .category(number), .image(number)] {
          let until = Int.random(in: 0...made.newest, using: &random)
          let history = try made.journal.history(of: entity, asOf: .revision(until))
          let touched = (1...made.newest).filter {
            $0 <= until && made.states[$0].record(of: entity) != made.states[$0 - 1].record(of: entity)
          }
          #expect(history.map(\.revision) == touched.reversed())
          let limit = Int.random(in: 1...3, using: &random)
          let part = try made.journal.history(of: entity, asOf: .revision(until), limit: limit)
          #expect(part.map(\.revision) == history.prefix(limit).map(\.revision))
          #expect(part.map(\.before) == history.prefix(limit).map(\.before))
          for change in history {
            #expect(change.before == made.states[change.revision - 1].record(of: entity))
            #expect(change.after == made.states[change.revision].record(of: entity))
            #expect(try made.journal.parts(changedBy: change.event) == change.parts)
          }
        }
      }
    }
  }

  @Test func blameNamesTheEntryThatSetEachPart() throws {
    try withRandomJournal { made, random in
      for _ in 0..<100 {
        let revision = Int.random(in: 0...made.newest, using: &random)
        let entity = made.anyEntity(using: &random)
        let blame = try made.journal.blame(entity, asOf: .revision(revision))
        guard let record = made.states[revision].record(of: entity) else {
          #expect(blame == nil)
          continue
        }
        var expected: [FieldKey: Revision] = [:]
        record.visit { key, _ in
          expected[key] = (1...revision).last { candidate in
            let before = made.states[candidate - 1].record(of: entity)
            let after = made.states[candidate].record(of: entity)
            return EntityRecord.differences(from: before, to: after).contains { $0.key == key }
          }
        }
        let found = Dictionary(uniqueKeysWithValues: try #require(blame).map { ($0.key, $0.revision) })
        #expect(found == expected)
        for line in blame ?? [] { #expect(line.note == "number \(line.revision)") }
      }
    }
  }

  @Test func blameFindsTheOriginOfARestoredValue() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit(by: "ana") { try $0.addItem(kind: "book", attributes: ["title": .string("Dune")]) }
      try journal.commit(by: "bob") { try $0.updateItem(1, set: ["title": .string("Dun")]) }
      try journal.commit(try journal.planRestore(of: .entities([.item(1)]), asOf: .revision(1)), by: "eve")
      try journal.commit(by: "bob") { try $0.updateItem(1, set: ["title": .string("D")]) }
      try journal.commit(try journal.planRevert(of: 4), by: "eve")
      let plain = try #require(try journal.blame(.item(1))?.first { $0.key == .attribute("title") })
      #expect(plain.revision == 5 && plain.author == "eve" && plain.value == .string("Dune"))
      let origin = try journal.blame(.item(1), findsOrigin: true)?.first { $0.key == .attribute("title") }
      #expect(origin?.revision == 1 && origin?.author == "ana")
      try journal.close()
    }
  }

  /// Any program can write metadata. A revision below all numbers used to end the process.
  @Test func metadataThatNamesNoRevisionIsNoOrigin() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit { try $0.addItem(kind: "book", attributes: ["title": .string("Dune")]) }
      for text in ["\(Int.min)", "\(Int.max)", "-1", "0", "1e3", ""] {
        for key in ["journal.reverts", "journal.restores", "journal.undoes", "journal.redoes"] {
          let revision = try journal.commit(by: "eve", metadata: [key: text]) {
            try $0.updateItem(1, set: ["title": .string("\(key) \(text)")])
          }.revision
          let blame = try journal.blame(.item(1), findsOrigin: true)?.first { $0.key == .attribute("title") }
          #expect(blame?.revision == revision)
          _ = try journal.planUndo(by: "eve")
          _ = try journal.planRedo(by: "eve")
        }
      }
      try journal.close()
    }
  }

  @Test func bisectFindsTheFirstRevisionInAFewStates() throws {
    try withRandomJournal { made, random in
      for _ in 0..<20 {
        let first = Int.random(in: 0...made.newest, using: &random)
        let found = try made.journal.bisect { $0.revision >= first }
        #expect(found.revision == first)
        #expect(found.looks.count <= 10)
        #expect(found.looks.allSatisfy { $0.holds == ($0.revision >= first) })
      }
      let never = try made.journal.bisect { _ in false }
      #expect(never.revision == nil && never.looks.count == 1)
      // Each version is the one of its revision.
      _ = try made.journal.bisect { version in
        #expect(version.state.records == made.states[version.revision].records)
        return version.revision > 77
      }
    }
  }

  @Test func anEntityWithAVeryLongHistoryIsFoundThroughASnapshot() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Counter.journal"), options: JournalOptions(layers: .manual))
      try journal.commit { try $0.addItem(kind: "counter", attributes: ["name": .string("c")]) }
      for number in 1...400 {
        try journal.commit { try $0.updateItem(1, set: ["n\(number % 7)": .integer(Int64(number))]) }
        if number == 200 { try journal.takeSnapshot() }
      }
      for revision in [1, 70, 200, 201, 202, 300, 401] {
        let row = try journal.entity(.item(1), asOf: .revision(revision))
        #expect(row?.record == (try journal.state(asOf: .revision(revision)).record(of: .item(1))))
        #expect(row?.created == 1 && row?.modified == revision)
      }
      try journal.close()
    }
  }
}
