import CatalogModel
import EntitySearch
import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import TestSupport
import Testing

/// After a pruning, the state at the point and everything after it are as they were. Questions about earlier
/// revisions get the answer that they were pruned.
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

  @Test func afterAPruningTheStateAtThePointAndAllLaterOnesAreUnchanged() throws {
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
        // Nothing below the base is left to check.
        #expect(journal.health.checkedRevision >= point)
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
        // A receipt of a revision that was pruned can't be checked.
        #expect(try journal.contains(original.receipt))
        for revision in 0...newest {
          let receipt = try #require(try receipt(of: original, at: revision))
          if (1..<point).contains(revision) {
            #expect(isPruned { _ = try journal.contains(receipt) })
          } else {
            #expect(try journal.contains(receipt), "revision \(revision) of \(point)")
          }
        }
        let verification = try journal.verify(.deep)
        #expect(verification.problems.map(\.description) == [])
        #expect(verification.base == pair.report.base)
        #expect(verification.entryCount == newest + 1 - point)
        try journal.close()
        // The pruned journal takes commits and can be pruned again.
        let again = try CatalogJournal.open(at: pair.url, checking: .everything)
        try again.commit { try $0.addItem(kind: "after") }
        try again.takeSnapshot(asOf: .revision(Int.random(in: point...newest, using: &random)))
        try again.takeSnapshot()
        #expect(try again.verify(.deep).problems.map(\.description) == [])
        let last = again.state
        try again.close()
        try CatalogJournal.prune(before: .head(), at: pair.url)
        let twice = try CatalogJournal.open(at: pair.url, mode: .readOnly)
        #expect(twice.base?.revision == newest + 2)
        #expect(digest(twice.state) == digest(last))
        #expect(try twice.verify(.deep).problems.map(\.description) == [])
        try twice.close()
      }
    }
  }

  /// The receipt that the journal would have given when a revision was the newest.
  private func receipt(of journal: CatalogJournal, at revision: Revision) throws -> JournalReceipt? {
    JournalReceipt(
      """
      receipt 1 \(journal.id)
      revision \(revision)
      digest \(try journal.version(asOf: .revision(revision)).digest.hex)
      date 2026-08-01T10:00:00.000000Z

      """)
  }

  /// Whether `body` throws an error that says that the history was pruned.
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
    // Entities that were deleted up to the point have lost their last records.
    func deleted(_ journal: CatalogJournal, asOf revision: Revision) throws -> [EntityKey] {
      var found: [EntityKey] = []
      try journal.find(EntityQuery(), asOf: .revision(revision), deleted: true) { entity in
        if entity.deleted ?? 0 > point { found.append(entity.entity) }
        return true
      }
      return found
    }
    for revision in Set([point, newest]) {
      #expect(try deleted(journal, asOf: revision) == deleted(original, asOf: revision))
    }
    for number in 1...12 {
      for entity in [EntityKey.item(number), .category(number), .image(number)] {
        let whole = try original.history(of: entity)
        let history = try journal.history(of: entity)
        let known = history.filter { !$0.isPruned }
        let part = try journal.history(of: entity, limit: 2)
        #expect(part.map(\.revision) == history.prefix(2).map(\.revision))
        #expect(part.map(\.before) == history.prefix(2).map(\.before))
        var parts: [EntityChange] = []
        var next = history.isEmpty ? 0 : journal.head.revision
        while next > 0 {
          parts += try journal.history(of: entity, asOf: .revision(next), limit: 1)
          next = try #require(parts.last).previous
        }
        #expect(parts.map(\.revision) == history.map(\.revision))
        #expect(parts.map(\.isPruned) == history.map(\.isPruned))
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
        try CatalogJournal.create(at: url("Restored"), fromBackup: url("File"))
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
          let verification = try copy.verify(.deep)
          #expect(verification.problems.map(\.description) == [], "\(name)")
          #expect(verification.isBaseProven, "\(name)")
          try copy.close()
          #expect(try CatalogJournal.collectGarbage(at: url(name), isDryRun: true).imageCount == 0)
        }
        #expect(try CatalogJournal.diagnose(pair.url).isSound)
      }
    }
  }

  /// A base counted only with the FORMAT of its folder, and there is no entry 1 that could prove a rebuilt one.
  @Test func aPrunedJournalWhoseFormatIsLostOrAlteredIsSalvaged() throws {
    var random = SeededGenerator()
    try withTemporaryFolder(inMemory: true) { folder in
      let pair = try Pair(folder, commits: 12, using: &random)
      func url(_ name: String) -> URL { folder.url.appending(path: name) }
      let file = pair.url.appending(path: "FORMAT")
      let format = try Data(contentsOf: file)
      func check(_ sources: [URL], _ what: String) throws {
        let saved = url("Saved.journal")
        let report = try CatalogJournal.salvage(sources, to: saved)
        #expect(report.isWhole && report.isBaseProven, "\(what)")
        #expect(report.head == pair.report.head && report.base == pair.report.base, "\(what)")
        #expect(report.problems.contains { $0.path?.hasSuffix("Pruned.journal/FORMAT") == true }, "\(what)")
        #expect(try Data(contentsOf: saved.appending(path: "FORMAT")) == format, "\(what)")
        let journal = try CatalogJournal.open(at: saved)
        for revision in pair.point...pair.original.newest {
          let state = try journal.state(asOf: .revision(revision))
          #expect(digest(state) == digest(pair.original.states[revision]), "\(what)")
        }
        #expect(try journal.verify(.deep).problems.map(\.description) == [], "\(what)")
        try journal.close()
        try FileManager.default.removeItem(at: saved)
      }
      // A copy with FORMAT serves, whatever else it lacks.
      for part in ["entries/BASE", "entries"] {
        try FileManager.default.copyItem(at: pair.url, to: url("Copy.journal"))
        try FileManager.default.removeItem(at: url("Copy.journal/\(part)"))
        try FileManager.default.removeItem(at: file)
        try check([pair.url, url("Copy.journal")], "a copy without \(part)")
        try FileManager.default.removeItem(at: url("Copy.journal"))
        try format.write(to: file)
      }
      let step = TestLength.isLong ? 1 : 9
      for index in stride(from: Int.random(in: 0..<step, using: &random), to: format.count, by: step) {
        var altered = format
        altered[index] ^= 1
        try altered.write(to: file)
        try check([pair.url], "byte \(index)")
      }
      try FileManager.default.removeItem(at: file)
      try check([pair.url], "without FORMAT")
      let opened = try CatalogJournal.openUpToDamage(at: pair.url)
      #expect(
        opened.head == pair.report.head && opened.base == pair.report.base && opened.health.damage == nil)
      #expect(digest(opened.state) == digest(pair.original.states[pair.original.newest]))
      try opened.close()
    }
  }

  @Test func openingPrunesWhatIsOlderThanTheRetention() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Books.journal")
      let options = JournalOptions(retention: .days(100))
      func day(_ day: Double) -> Date { Date(timeIntervalSinceNow: (day - 1000) * 86_400) }
      let journal = try CatalogJournal.create(at: url, options: options)
      for number in 0...60 {
        try journal.commit(by: "ana", note: "day \(number * 10)", date: day(Double(number * 10))) {
          try $0.addItem(kind: "book")
        }
      }
      try journal.close()
      // The newest entry is 400 days old. The retention counts back from it and not from today.
      for mode in [CatalogJournal.Mode.readOnly, .follow] {
        let look = try CatalogJournal.open(at: url, mode: mode, options: options)
        #expect(look.base == nil)
        try look.close()
      }
      var again = try CatalogJournal.open(at: url, options: options)
      again.waitForRetention()
      #expect(again.base?.revision == 51)
      #expect(again.state.itemCount == 61)
      #expect(try again.entry(at: again.head.revision).note.contains("100 days"))
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
      // An opening does not prune again for a few entries.
      again = try CatalogJournal.open(at: url, options: options)
      again.waitForRetention()
      #expect(again.head.revision == 62)
      try again.close()
    }
  }

  /// A journal whose launches prune to a hundred days, and have clocks of their own.
  private struct Launches {
    let url: URL
    let origin: Date

    init(in folder: TemporaryFolder, daysAgo: Double) throws {
      url = folder.url.appending(path: "Books.journal")
      origin = Date(timeIntervalSinceNow: -daysAgo * 86_400)
      try CatalogJournal.create(at: url).close()
    }

    /// Opens the journal, which may prune, and commits at these days after the origin.
    /// - Returns: the revision that history begins after, nil if nothing was pruned.
    func commit(_ days: [Double]) throws -> Revision? {
      let journal = try CatalogJournal.open(at: url, options: JournalOptions(retention: .days(100)))
      journal.waitForRetention()
      for day in days {
        try journal.commit(date: origin.addingTimeInterval(day * 86_400)) { try $0.addItem(kind: "book") }
      }
      try journal.close()
      return journal.base?.revision
    }
  }

  /// Two commits of one launch with a wrong clock used to remove all history at the next launch.
  @Test func aClockThatIsFarAheadForAWhileRemovesNoHistoryOfThePeriod() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let launches = try Launches(in: folder, daysAgo: 1000)
      #expect(try launches.commit(stride(from: 0, through: 200, by: 5).map { $0 }) == nil)
      // The clock is ahead in two launches, right in between, and further ahead in another one.
      #expect(try launches.commit([900, 900.1]) == 21)
      #expect(try launches.commit([900.2]) == 21)
      #expect(try launches.commit([201, 206, 950]) == 21)
      #expect(try launches.commit([]) == 21)
      // It was right all the time, and nothing was committed for long.
      #expect(try launches.commit([951, 953]) == 21)
      #expect(try launches.commit([955, 956]) == 21)
      let base = try #require(try launches.commit([]))
      #expect(base > 40)
    }
  }

  /// Two launches with clocks that were wrong in different ways used to remove the history of the whole period.
  @Test func clocksThatAreWrongInDifferentWaysRemoveNoHistoryOfThePeriod() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let launches = try Launches(in: folder, daysAgo: 3000)
      #expect(try launches.commit(stride(from: 0, through: 200, by: 5).map { $0 }) == nil)
      // The entries of days 0 to 95 are pruned.
      for day in [900.0, 950, 1200, 1201, 1800] { #expect(try launches.commit([day]) == 21, "\(day)") }
      #expect(try launches.commit([]) == 21)
      // So many gaps in a row mean that the journal is rarely used.
      for day in stride(from: 1850.0, through: 2100, by: 50) { _ = try launches.commit([day]) }
      let base = try #require(try launches.commit([]))
      #expect(base > 40)
    }
  }

  /// Makes a journal of 61 entries of the last 600 days, most of which a retention of a hundred days prunes. They are
  /// in one table, because LevelDB would merge several tables in the background and so read what is damaged.
  private func makeOldJournal(at url: URL) throws {
    let options = JournalOptions(layers: .manual)
    let journal = try CatalogJournal.create(at: url, options: options)
    for number in 0...60 {
      let date = Date(timeIntervalSinceNow: (Double(number) - 60) * 10 * 86_400)
      try journal.commit(by: "ana", date: date) { draft in
        try draft.addItem(
          kind: "book", attributes: ["text": .string(String(repeating: "\(number) ", count: 20_000))])
      }
    }
    // Opening then reads only what came after the snapshot.
    try journal.takeSnapshot()
    try journal.close()
    try CatalogJournal.open(at: url, options: options).close()
  }

  /// Opens a journal with a retention that can't be carried out, and expects a journal with all of its history, and a
  /// notice.
  private func expectAllHistory(
    at url: URL, _ options: JournalOptions, code: JournalError.Code, _ place: String
  ) throws {
    var options = options
    options.retention = .days(100)
    options.layers = .manual
    let notices = Lock<[JournalNotice]>([])
    options.log = { notice in notices.withLock { $0.append(notice) } }
    let journal = try CatalogJournal.open(at: url, options: options)
    journal.waitForRetention()
    #expect(journal.base == nil && journal.state.itemCount >= 61, "\(place)")
    let said = notices.withLock { $0 }.filter { $0.message.contains("history could not be pruned") }
    #expect(said.map(\.level) == [.warning], "\(place)")
    #expect(said.first?.cause?.code == code, "\(place): \(said)")
    try journal.commit { try $0.addItem(kind: "film") }
    try journal.close()
    // If a failing drive kept files from being removed, the next opening removes them.
    try CatalogJournal.open(at: url, options: JournalOptions(layers: .manual)).close()
    let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
    #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"], "\(place)")
  }

  @Test func ifARetentionMeetsAFullOrFailingDriveTheJournalOpensWithAllHistory() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Books.journal")
      try makeOldJournal(at: url)
      for number in [ENOSPC, EIO] {
        // The drive fails from the first operation on, or while the new log is written.
        for first in [0, 9] {
          let seen = Lock(0)
          var options = JournalOptions()
          options.fileHook = { operation in
            guard operation.path.contains("entries.new") else { return .proceed }
            let count = seen.withLock { seen in
              seen += 1
              return seen
            }
            return count > first ? .fail(number) : .proceed
          }
          try expectAllHistory(at: url, options, code: .io, "error \(number) from \(first) on")
        }
      }
      var options = JournalOptions(layers: .manual)
      options.retention = .days(100)
      let journal = try CatalogJournal.open(at: url, options: options)
      journal.waitForRetention()
      #expect(journal.base != nil && journal.state.itemCount == 65)
      #expect(try journal.verify(.deep).isSound)
      try journal.close()
    }
  }

  @Test func ifARetentionCanNotReadOldEntriesTheJournalOpensWithAllHistory() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let whole = folder.url.appending(path: "Books.journal")
      try makeOldJournal(at: whole)
      let table = try #require(try entryTables(of: whole).first).lastPathComponent
      let url = folder.url.appending(path: "Damaged.journal")
      try FileManager.default.copyItem(at: whole, to: url)
      let path = url.appending(path: "entries/\(table)")
      var bytes = try Data(contentsOf: path)
      // The damage is in an entry that is to be pruned, but not in the first block, which opening reads to learn
      // where the table begins.
      let offset = bytes.count / 4
      bytes[offset] ^= 1
      try bytes.write(to: path)
      try expectAllHistory(at: url, JournalOptions(), code: .damaged, "byte \(offset)")
    }
  }

  /// The next opening, even a read-only one by a verb, must not pay for the pruning.
  @Test(arguments: [5_000, 20_000]) func afterAPruningOrAnErasureOpeningReplaysAsLittleAsBefore(
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
        #expect(journal.state.item(EntityID(count))?.attributes["title"] == .string("\(count)"))
        return try journal.statistics().replayedEventCount
      }
      let policy = LayerPolicy.automatic
      let limit = policy.eventCount * policy.additionsPerEvent
      #expect(try replayedCount() <= limit)
      try CatalogJournal.prune(before: .head(back: 3), at: url)
      #expect(try replayedCount() <= limit)
      try CatalogJournal.erase([.item(1)], at: url, reason: "by law")
      #expect(try replayedCount() <= limit)
      let again = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
    }
  }

  @Test func aCopyOfAPrunedJournalAndACopyOfThatHaveProvenBases() throws {
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
      #expect(try fork.verify(.deep).isBaseProven)
      try fork.copy(to: url("Fork of fork"), through: .revision(3))
      try fork.close()
      let second = try CatalogJournal.open(at: url("Fork of fork"))
      #expect(try second.entry(at: 4).metadata["journal.vouchedBy"] == "5 \(entry.digest.hex)")
      #expect(try second.verify(.deep).isBaseProven)
      try second.close()
    }
  }

  /// An erasure keeps the digests of all entries, so the base from before it still fits the log. Restored from an older
  /// backup, it gave the erased item again.
  @Test(arguments: [false, true]) func aBaseFromBeforeAnErasureIsRefused(hasLayers: Bool) throws {
    try withTemporaryFolder { folder in
      func url(_ name: String) -> URL { folder.url.appending(path: name) }
      let journal = try CatalogJournal.create(at: url("J"))
      for number in 1...6 {
        try journal.commit { draft in
          _ = try draft.addItem(kind: "find", attributes: ["name": .string("find \(number)")])
        }
      }
      try journal.close()
      try CatalogJournal.prune(before: .revision(4), at: url("J"), reason: "room")
      let pruned = try CatalogJournal.open(at: url("J"))
      try pruned.backup(to: url("Backup"), sharesImages: false)
      if hasLayers { try pruned.takeSnapshot() }
      try pruned.close()
      try CatalogJournal.erase([.item(2)], at: url("J"), reason: "by law")
      // The newest erasure is of an entity that is not in the base.
      try CatalogJournal.erase([.item(6)], at: url("J"), reason: "by law")
      let erased = try CatalogJournal.open(at: url("J"))
      if hasLayers { try erased.takeSnapshot() }
      let verification = try erased.verify(.deep)
      #expect(verification.isSound && verification.isBaseProven)
      try erased.close()

      // Salvage takes the newer base, in whatever order the copies are named.
      for (index, names) in [["J", "Backup"], ["Backup", "J"]].enumerated() {
        let report = try CatalogJournal.salvage(names.map(url), to: url("Salvaged \(index)"))
        #expect(report.isWhole && report.isBaseProven)
        let salvaged = try CatalogJournal.open(at: url("Salvaged \(index)"))
        #expect(salvaged.state.isErased(.item(2)) && salvaged.state.isErased(.item(6)))
        #expect(try salvaged.verify(.deep).problems.map(\.description) == [])
        try salvaged.close()
      }

      let base = url("J").appending(path: "entries/BASE")
      let right = try Data(contentsOf: base)
      try FileManager.default.removeItem(at: base)
      try FileManager.default.copyItem(at: url("Backup").appending(path: "entries/BASE"), to: base)
      for mode in [CatalogJournal.Mode.readOnly, .readWrite, .follow] {
        let error = #expect(throws: JournalError.self) { try CatalogJournal.open(at: url("J"), mode: mode) }
        #expect(error?.code == .damaged && error?.path?.hasSuffix("entries/BASE") == true)
        #expect(error?.message.contains("from before the erasure of entry 9") == true, "\(error as Any)")
      }
      #expect(try !CatalogJournal.diagnose(url("J")).isSound)
      // No journal with the erased content is made.
      let error = #expect(throws: JournalError.self) {
        try CatalogJournal.salvage([url("J"), url("Backup")], to: url("Wrong"))
      }
      #expect(error?.code == .damaged && !FileManager.default.fileExists(atPath: url("Wrong").path))
      try right.write(to: base)
      let again = try CatalogJournal.open(at: url("J"))
      #expect(again.state.isErased(.item(2)))
      try again.close()
    }
  }

  @Test func pruningErasingAndCollectingAskTheProcessToCloseTheJournalFirst() throws {
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
