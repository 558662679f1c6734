import CatalogModel
import Foundation
import TestSupport
import Testing

/// After a pruning, the state at the point and everything after it are as they were, and questions about what came before
/// get the answer that it was pruned.
@Suite struct PruneTests {

  /// A journal and a copy of it that was pruned at a random point.
  private struct Pair {
    let original: RandomJournal
    let url: URL
    let point: Revision
    let report: PruningReport

    init(_ folder: TemporaryFolder, commits: Int, using random: inout SeededGenerator) throws {
      var journal = try RandomJournal(folder, commits: commits, using: &random)
      while journal.newest == 0 { try journal.commit(using: &random) }
      original = journal
      url = folder.url.appending(path: "Pruned.journal")
      try original.journal.backup(to: url, sharesImages: false)
      if random.chance(1, in: 2) {
        let journal = try CatalogJournal.open(at: url)
        try journal.takeSnapshot()
        try journal.close()
      }
      point = Int.random(in: 1...original.newest, using: &random)
      report = try CatalogJournal.prune(before: .revision(point), at: url, reason: "room", by: "eve")
    }
  }

  private func digest(_ state: Catalog) -> ContentDigest? { StateDigest.digest(of: state) }

  @Test func theStateAtThePointAndAllAfterItAreTheOriginals() throws {
    var random = SeededGenerator()
    for _ in 0..<(TestLength.isLong ? 400 : 50) {
      try withTemporaryFolder(inMemory: true) { folder in
        let pair = try Pair(folder, commits: Int.random(in: 1...14, using: &random), using: &random)
        let (original, point, newest) = (pair.original.journal, pair.point, pair.original.newest)
        #expect(pair.report.base == (try original.version(asOf: .revision(point)).head))
        #expect(pair.report.entryCount == point)
        let journal = try CatalogJournal.open(at: pair.url)
        #expect(journal.base == pair.report.base)
        #expect(journal.head == pair.report.head)
        #expect(journal.head.revision == newest + 1)
        for revision in point...newest {
          let state = try journal.state(asOf: .revision(revision))
          #expect(digest(state) == digest(pair.original.states[revision]), "revision \(revision) of \(point)")
          #expect(state.json == pair.original.states[revision].json)
          #expect(
            try journal.version(replayedTo: .revision(revision)).head
              == original.version(asOf: .revision(revision)).head)
        }
        var revisions: [Revision] = []
        let cursor = journal.entries()
        while let entry = try cursor.next() { revisions.append(entry.revision) }
        #expect(revisions == Array(point + 1...newest + 1))
        for revision in point + 1..<max(newest + 1, point + 1) {
          #expect(try journal.entry(at: revision).digest == original.entry(at: revision).digest)
        }
        let entry = try journal.entry(at: newest + 1)
        #expect(entry.note == "room" && entry.author == "eve" && entry.events.isEmpty)
        for revision in 0..<point {
          #expect(isPruned { _ = try journal.state(asOf: .revision(revision)) })
          if revision > 0 { #expect(isPruned { _ = try journal.entry(at: revision) }) }
        }
        try checkHistories(journal, original, point: point, newest: newest, using: &random)
        // Receipts.
        #expect(try journal.fulfils(original.receipt))
        for revision in 0...newest {
          let receipt = try #require(try receipt(of: original, at: revision))
          if (1..<point).contains(revision) {
            #expect(isPruned { _ = try journal.fulfils(receipt) })
          } else {
            #expect(try journal.fulfils(receipt), "revision \(revision) of \(point)")
          }
        }
        let verification = try journal.verify(deep: true)
        #expect(verification.problems.map(\.description) == [])
        #expect(verification.base == pair.report.base)
        #expect(verification.entryCount == newest + 1 - point)
        try journal.close()
        // The pruned journal takes commits and can be pruned again.
        let again = try CatalogJournal.open(at: pair.url, checking: .everything)
        try again.commit { try $0.addItem(kind: "after") }
        try again.takeSnapshot(asOf: .revision(Int.random(in: point...newest, using: &random)))
        try again.takeSnapshot()
        #expect(try again.verify(deep: true).problems.map(\.description) == [])
        let last = again.state
        try again.close()
        try CatalogJournal.prune(before: .head(), at: pair.url)
        let twice = try CatalogJournal.open(at: pair.url, mode: .readOnly)
        #expect(twice.base?.revision == newest + 2)
        #expect(digest(twice.state) == digest(last))
        #expect(try twice.verify(deep: true).problems.map(\.description) == [])
        try twice.close()
      }
    }
  }

  /// What the journal would have given as a receipt when a revision was the newest.
  private func receipt(of journal: CatalogJournal, at revision: Revision) throws -> JournalReceipt? {
    JournalReceipt(
      """
      receipt 1 \(journal.id)
      revision \(revision)
      digest \(try journal.version(asOf: .revision(revision)).digest.hex)
      date 2026-08-01T10:00:00.000000Z

      """)
  }

  /// Whether the answer is that the history is gone, in words.
  private func isPruned(_ body: () throws -> Void) -> Bool {
    do { try body() } catch let error as JournalError {
      return error.code == .pruned && error.message.contains("was pruned")
    } catch {}
    return false
  }

  private func checkHistories(
    _ journal: CatalogJournal, _ original: CatalogJournal, point: Revision, newest: Revision,
    using random: inout SeededGenerator
  ) throws {
    let past = try original.state(asOf: .revision(point))
    for number in 1...12 {
      for entity in [EntityKey.item(number), .category(number), .image(number)] {
        let whole = try original.history(of: entity)
        let history = try journal.history(of: entity)
        let known = history.filter { !$0.isPruned }
        #expect(known.map(\.revision) == whole.map(\.revision).filter { $0 > point })
        for (change, was) in zip(known, whole) {
          #expect(change.event == was.event && change.before == was.before && change.after == was.after)
        }
        let lost = whole.contains { $0.revision <= point }
        #expect(history.count == known.count + (lost ? 1 : 0))
        if let change = history.last, change.isPruned {
          #expect(change.revision == point && change.after == past.record(of: entity) && change.before == nil)
        }
        let revision = Int.random(in: point...newest, using: &random)
        #expect(
          try journal.entity(entity, asOf: .revision(revision))
            == original.entity(entity, asOf: .revision(revision)))
        let blame = try journal.blame(entity)
        let wasBlamed = try original.blame(entity)
        #expect(blame?.map(\.key) == wasBlamed?.map(\.key) && blame?.map(\.value) == wasBlamed?.map(\.value))
        for (line, was) in zip(blame ?? [], wasBlamed ?? []) {
          #expect(line.revision == max(was.revision, point) && line.isPruned == (was.revision <= point))
        }
      }
    }
    let (from, to) = (
      RevisionSelector.revision(Int.random(in: point...newest, using: &random)),
      RevisionSelector.revision(Int.random(in: point...newest, using: &random))
    )
    #expect(try journal.diff(from: from, to: to) == original.diff(from: from, to: to))
    let since = Int.random(in: point...newest, using: &random)
    #expect(try journal.bisect { $0.revision >= since }.revision == since)
    for author in RandomJournal.authors {
      let (plan, wasPlan) = (try journal.planUndo(by: author), try original.planUndo(by: author))
      if case .undo(let revision)? = wasPlan?.action, revision > point {
        #expect(plan?.changes == wasPlan?.changes && plan?.conflicts == wasPlan?.conflicts)
      } else {
        #expect(plan == nil)
      }
    }
  }

  @Test func copiesOfAPrunedJournalBeginWhereItDoes() throws {
    var random = SeededGenerator()
    for _ in 0..<(TestLength.isLong ? 40 : 4) {
      try withTemporaryFolder(inMemory: true) { folder in
        let pair = try Pair(folder, commits: 12, using: &random)
        func url(_ name: String) -> URL { folder.url.appending(path: name) }
        let journal = try CatalogJournal.open(at: pair.url)
        try journal.backup(to: url("Backup"))
        try journal.backup(toFile: url("File"))
        try CatalogJournal.restore(backupFile: url("File"), to: url("Restored"))
        try journal.copy(to: url("Fork"), through: .revision(pair.point))
        try journal.commit { try $0.addItem(kind: "after") }
        #expect(try journal.backup(to: url("Backup")).entryCount == 1)
        try journal.close()
        let salvaged = try CatalogJournal.salvage([pair.url], to: url("Salvaged"))
        #expect(salvaged.isWhole && salvaged.head.revision == pair.report.head.revision + 1)
        for name in ["Backup", "Restored", "Fork", "Salvaged"] {
          let copy = try CatalogJournal.open(at: url(name))
          #expect(copy.base == pair.report.base, "\(name)")
          #expect(digest(try copy.state(asOf: .start)) == digest(pair.original.states[pair.point]))
          let verification = try copy.verify(deep: true)
          #expect(verification.problems.map(\.description) == [], "\(name)")
          #expect(verification.isBaseProven, "\(name)")
          try copy.close()
          #expect(try CatalogJournal.collectGarbage(at: url(name), isDryRun: true).imageCount == 0)
        }
        #expect(try CatalogJournal.diagnose(pair.url).isSound)
      }
    }
  }

  @Test func retentionPrunesAtAnOpeningWhatIsOlder() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Books.journal")
      var options = JournalOptions(retention: .days(100))
      func day(_ day: Double) -> Date { Date(timeIntervalSinceNow: (day - 1000) * 86_400) }
      let journal = try CatalogJournal.create(at: url, options: options)
      for number in 0...60 {
        try journal.commit(by: "ana", note: "day \(number * 10)", date: day(Double(number * 10))) {
          try $0.addItem(kind: "book")
        }
      }
      try journal.close()
      // The newest entry is 400 days old: what counts are the hundred days before it.
      for mode in [CatalogJournal.Mode.readOnly, .follow] {
        let look = try CatalogJournal.open(at: url, mode: mode, options: options)
        #expect(look.base == nil)
        try look.close()
      }
      var again = try CatalogJournal.open(at: url, options: options)
      #expect(again.base?.revision == 51)
      #expect(again.state.itemCount == 61)
      #expect(try again.entry(at: again.head.revision).note.contains("100 days"))
      #expect(try again.verify(deep: true).problems.map(\.description) == [])
      try again.close()
      // Not at each opening for a few entries.
      again = try CatalogJournal.open(at: url, options: options)
      #expect(again.head.revision == 62)
      // A clock that is far ahead removes nothing by itself.
      options.retention = .years(2)
      try again.commit { try $0.addItem(kind: "book") }
      try again.close()
      again = try CatalogJournal.open(at: url, options: options)
      #expect(again.base?.revision == 51 && again.head.revision == 63)
      try again.close()
    }
  }

  /// The next opening, reading only as a verb does, must not pay for the pruning.
  @Test(arguments: [2000, 8000]) func afterAPruningOrAnErasureOpeningReplaysAsLittleAsBefore(
    count: Int
  ) throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Books.journal")
      let journal = try CatalogJournal.create(at: url)
      for first in stride(from: 1, through: count, by: 100) {
        try journal.commit { draft in
          for number in first..<first + 100 {
            try draft.addItem(kind: "book", attributes: ["title": .string("\(number)")])
          }
        }
      }
      journal.waitForLayers()
      try journal.close()
      func replayedCount() throws -> Int {
        let journal = try CatalogJournal.open(at: url, mode: .readOnly)
        defer { try? journal.close() }
        #expect(journal.state.item(count)?.attributes["title"] == .string("\(count)"))
        return try journal.statistics().replayedEventCount
      }
      let limit = SnapshotPolicy.automatic.eventCount
      #expect(try replayedCount() <= limit)
      try CatalogJournal.prune(before: .head(back: 3), at: url)
      #expect(try replayedCount() <= limit)
      try CatalogJournal.erase([.item(1)], at: url, reason: "by law")
      #expect(try replayedCount() <= limit)
      let again = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(try again.verify(deep: true).problems.map(\.description) == [])
      try again.close()
    }
  }

  @Test func aCopyVouchesForItsBaseEvenOfACopyAndOnlyForWhatIsVouchedFor() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      func url(_ name: String) -> URL { folder.url.appending(path: name) }
      let journal = try CatalogJournal.create(at: url("Books"))
      for number in 1...6 { try journal.commit(note: "\(number)") { try $0.addItem(kind: "book") } }
      let digests = try (1...6).map { try journal.entry(at: $0).digest }
      try journal.close()
      let pruned = try CatalogJournal.prune(before: .revision(2), at: url("Books"))
      let books = try CatalogJournal.open(at: url("Books"))
      try books.copy(to: url("Fork"), through: .revision(4))
      try books.copy(to: url("Whole"))
      try books.close()
      let whole = try CatalogJournal.open(at: url("Whole"), mode: .readOnly)
      #expect(whole.head == pruned.head)
      try whole.close()
      let fork = try CatalogJournal.open(at: url("Fork"))
      #expect(fork.head.revision == 5)
      #expect(try (3...4).map { try fork.entry(at: $0).digest } == Array(digests[2...3]))
      let entry = try fork.entry(at: 5)
      #expect(entry.events.isEmpty)
      #expect(
        entry.metadata == ["journal.vouchedBy": "\(pruned.head.revision) \(pruned.head.digest.hex)"])
      #expect(try fork.verify(deep: true).isBaseProven)
      try fork.copy(to: url("Fork of fork"), through: .revision(3))
      try fork.close()
      let second = try CatalogJournal.open(at: url("Fork of fork"))
      #expect(try second.entry(at: 4).metadata["journal.vouchedBy"] == "5 \(entry.digest.hex)")
      #expect(try second.verify(deep: true).isBaseProven)
      try second.close()
    }
  }

  @Test func whoHasTheJournalOpenIsToldToCloseIt() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      let journal = try CatalogJournal.create(at: url)
      try journal.commit { try $0.addItem(kind: "book") }
      let errors = [
        #expect(throws: JournalError.self) { try CatalogJournal.prune(before: .head(), at: url) },
        #expect(throws: JournalError.self) { try CatalogJournal.erase([.item(1)], at: url, reason: "x") },
        #expect(throws: JournalError.self) { try CatalogJournal.collectGarbage(at: url) },
      ]
      for error in errors {
        #expect(error?.code == .locked)
        #expect(error?.message.contains("close it first, and open it again afterwards") == true)
      }
      try journal.commit { try $0.addItem(kind: "book") }
      try journal.close()
    }
  }
}
