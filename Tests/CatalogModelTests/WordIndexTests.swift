import CBOR
import Foundation
import InMemoryJournals
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// Where indexes of words are, and where they are not.
@Suite struct WordIndexTests {
  @Test func aLargeCatalogIsSearchedInMemoryAfterItsIndexesWereBuilt() throws {
    var history = CatalogHistory()
    func insert(_ count: Int) throws {
      try history.commit { draft in
        for number in 0..<count { try draft.insert(Memo(title: "Soup \(number % 10)", lines: ["x"])) }
      }
    }
    func search(_ pattern: String) throws -> (count: Int, recordCount: Int) {
      let found = try history.state.items(Memo.self).matching(\.title, pattern)
      return (found.count, found.explain().recordCount)
    }
    try insert(5_000)
    var reports: [Int] = []
    try history.state.buildIndexes(of: Memo.self) { done, all in
      reports.append(done)
      #expect(all == 10_000)
    }
    #expect(reports == reports.sorted() && reports.last == 10_000)
    #expect(try search("3") == (500, 0))
    // The index follows changes, whose records are read.
    try history.commit { draft in
      for item in try draft.state.items(Memo.self).matching(\.title, "3").prefix(2) {
        try draft.update(item.id) { $0.title = "Stew 33" }
      }
      let id = try #require(try draft.state.items(Memo.self).matching(\.title, "4").ids.first)
      try draft.delete(id)
    }
    #expect(try search("3") == (498, 0))
    #expect(try search("33") == (2, 2))
    #expect(try search("4") == (499, 0))
    #expect(try search("3*") == (500, 2))
    // After many more changes, it is built anew in the background. Until then, and afterwards, the answer is right.
    try insert(6_000)
    #expect(try search("3").count == 1_098)
    try history.state.buildIndexes(of: Memo.self)
    #expect(try search("3") == (1_098, 0))
  }

  @Test func whatIsErasedIsInNoIndexOfWords() throws {
    try withTemporaryFolder { folder in
      var notes = try RandomNotes(in: folder.url)
      let id = try notes.journal.commit { try $0.insert(Memo(title: "A DONAUDAMPFSCHIFF")) }.value
      try notes.journal.commit { try $0.update(id) { $0.title = "Nothing" } }
      for number in 0..<60 { try notes.journal.commit { _ = try $0.addItem(kind: "n\(number)") } }
      notes.journal.waitForLayers()
      #expect(try notes.journal.everMatching(\Memo.title, "donaudampfschiff").map(\.id) == [id])
      try notes.journal.close()
      // Only an index has the word in this form.
      let word = Array("dampfschiff".utf8)
      #expect(try notes.files(with: word) > 0)
      notes.journal = try CatalogJournal.open(at: notes.url, options: notes.options)
      let (journal, state) = (notes.journal, notes.journal.state)
      #expect(try state.items(Memo.self).matching(\.title, "nothing").ids == [id])
      try journal.erase([id.entity], reason: "by law")
      func expectNothing() throws {
        #expect(try notes.journal.everMatching(\Memo.title, "donaudampfschiff").isEmpty)
        #expect(try notes.journal.state.items(Memo.self).matching(\.title, "nothing").isEmpty)
      }
      try expectNothing()
      try notes.grow(60)
      notes.journal.waitForLayers()
      try expectNothing()
      try notes.reopen()
      try expectNothing()
      try notes.journal.close()
      #expect(try notes.files(with: word) == 0)
    }
  }

  @Test func layersWithOtherIndexesThanTheAppDeclaresAreUsedAsFarAsPossible() throws {
    try withTemporaryFolder { folder in
      var notes = try RandomNotes(in: folder.url)
      try notes.grow(100)
      for turn in 0..<3 {
        notes.journal.waitForLayers()
        try notes.reopen()
        // Another app, or another version of the app, declares the index of one property.
        let state = notes.journal.state
        if turn > 0 { _ = try state.items(LineMemo.self).matching(\.lines, "soup").count }
        let titles = try state.items(LineMemo.self).matching(\.title, "soup")
        #expect(
          try titles.ids.map(\.number) == state.items(Memo.self).matching(\.title, "soup").ids.map(\.number))
        try notes.grow(60)
        try notes.compare(notes.journal.state)
        try notes.compareEver()
      }
      #expect(try notes.journal.verify(.deep).problems.map(\.description) == [])
      try notes.journal.close()
    }
  }

  @Test func aLayerWithoutDeclaredIndexesOfWordsHasNoneOfTheirBytes() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Plain.journal")
      let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .often(40)))
      for number in 0..<90 { try journal.commit { _ = try $0.insert(Memo(title: "\(number)")) } }
      #expect(try journal.state.items(ScannedMemo.self).matching(\.title, "7").count == 1)
      journal.waitForLayers()
      #expect(!journal.chain.layers.isEmpty && journal.chain.layers.allSatisfy { $0.indexes.isEmpty })
      try journal.close()
      let files = try FileManager.default.contentsOfDirectory(
        at: url.appending(path: "snapshots"), includingPropertiesForKeys: nil)
      #expect(try files.allSatisfy { try Data(contentsOf: $0).range(of: Data("wordIndexes".utf8)) == nil })
    }
  }

  @Test func aLayerThatIsNotWantedAnyMoreEndsWhileItsWordsAreMade() throws {
    let journal = try CatalogJournal.inMemory()
    let count = 260
    for number in 0..<count {
      let title = "\(number) " + String(repeating: "x", count: 300)
      try journal.commit { _ = try $0.insert(Memo(title: title)) }
    }
    let calls = Lock(0)
    func write(callLimit: Int) throws {
      calls.withLock { $0 = 0 }
      let source = try WholeState(journal.state, revision: count)
      try journal.writeLayer([source], [(after: 0, through: count)]) { () throws(JournalError) in
        let isWanted = calls.withLock { calls in
          calls += 1
          return calls <= callLimit
        }
        if !isWanted { throw JournalError(.closed, "not wanted") }
      }
    }
    try write(callLimit: .max)
    // For each 64 entries, 64 KiB of records, and 256 versions and 256 words of the merged index.
    let most = calls.withLock { $0 }
    #expect(most >= 5 + 1 + 2 + 2)
    for limit in 0..<most {
      let error = #expect(throws: JournalError.self) { try write(callLimit: limit) }
      #expect(error?.code == .closed)
    }
    try journal.close()
  }

  @Test func onlyTheEntriesOfSourcesWithoutAnIndexAreReadForIt() throws {
    let journal = try CatalogJournal.inMemory()
    var states: [Catalog] = []
    for number in 1...12 {
      try journal.commit { _ = try $0.insert(Memo(title: "\(number)")) }
      states.append(journal.state)
    }
    let sources = try [4, 8, 12].map { try WholeState(states[$0 - 1], revision: $0) }
    let indexed = SourceWithWords(source: sources[0], segment: try sources[0].scannedWords(Memo.titles))
    let entries: [LayerHistory.Entries] = [(0, 4), (4, 8), (8, 12)]
    let expected = try journal.writeLayer([indexed, indexed, indexed], entries)
    #expect(expected.read == [])
    let first = try journal.writeLayer([indexed, sources[1], sources[2]], entries)
    #expect(first.read == [5, 6, 7, 8, 9, 10, 11, 12])
    let whole = try journal.writeLayer(sources, entries)
    #expect(whole.read == Array(1...12))
    #expect(first.bytes == whole.bytes)
    try journal.close()
  }

  @Test func readingAWholeIndexOfWordsEndsWhenItIsCancelled() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 0..<600 { try draft.insert(Memo(title: "\(number)")) }
    }
    let segment = try WholeState(history.state, revision: 1).scannedWords(Memo.titles)
    func checkCount(limit: Int) throws -> Int {
      var count = 0
      try segment.readAll {
        count += 1
        return count > limit
      }
      return count
    }
    #expect(try checkCount(limit: .max) == 2 + 600)
    for limit in [0, 1, 2, 300] { #expect(try checkCount(limit: limit) == limit + 1) }
  }

  @Test func searchesOfAllVersionsReadOnlyEntriesThatAreNewSinceTheLastOne() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Notes.journal")
      let journal = try CatalogJournal.create(at: url)
      let follower = try CatalogJournal.open(at: url, mode: .follow)
      func read(_ journal: CatalogJournal) throws -> (scanned: Int, indexed: Set<PastHit>) {
        var scanned = 0
        var indexed: Set<PastHit> = []
        _ = try journal.pastVersions(of: Memo.titles.scope, [Memo.titles]) { words in
          let hits = try words.hits(ofAll: [(Array("soup".utf8), false)])
          indexed.formUnion(hits)
          return hits
        } scanned: { _ in
          scanned += 1
          return false
        }
        return (scanned, indexed)
      }
      let first = try journal.commit { try $0.insert(Memo(title: "Soup")) }.value
      let second = try journal.commit { try $0.insert(Memo(title: "Soup")) }.value
      try follower.catchUp()
      for journal in [journal, follower] { #expect(try read(journal).scanned == 2) }
      for number in 1...30 {
        try journal.commit { draft in
          try draft.update(second) { $0.title = number % 2 == 0 ? "Soup \(number)" : "Stew" }
          try draft.addItem(kind: "other", attributes: ["title": "soup"])
        }
        try journal.commit { _ = try $0.insert(Memo(title: "Pie")) }
        try follower.catchUp()
        for journal in [journal, follower] {
          let (scanned, indexed) = try read(journal)
          #expect(scanned == 2 && indexed.count == 2 + (number - 1) / 2)
          #expect(try journal.everMatching(\Memo.title, "soup").count == 2)
        }
      }
      // Many entries at once are replayed.
      for _ in 0..<100 { try journal.commit { try $0.update(first) { $0.title += " soup" } } }
      #expect(try read(journal).scanned == 100)
      #expect(try read(journal).scanned == 0)
      #expect(try read(journal).indexed.count == 2 + 15 + 100)
      try journal.erase([first.entity], reason: "by law")
      try follower.catchUp()
      for journal in [journal, follower] {
        #expect(try read(journal).indexed.allSatisfy { $0.number == second.number })
        #expect(try read(journal).indexed.count == 1 + 15)
        #expect(try journal.everMatching(\Memo.title, "soup").map(\.id) == [second])
      }
      try follower.close()
      try journal.close()
    }
  }

  @Test func closingEndsASearchOfAllVersions() throws {
    let journal = try CatalogJournal.inMemory()
    for number in 0..<300 { try journal.commit { _ = try $0.insert(Memo(title: "\(number)")) } }
    let closed = DispatchSemaphore(value: 0)
    var count = 0
    let error = #expect(throws: JournalError.self) {
      try journal.pastVersions(of: Memo.titles.scope, [Memo.titles]) { _ in
        []
      } scanned: { _ in
        count += 1
        if count == 1 {
          Thread.detachNewThread {
            try? journal.close()
            closed.signal()
          }
          while !journal.current.isClosing { Thread.sleep(forTimeInterval: 0.001) }
        }
        return true
      }
    }
    #expect(error?.code == .closed)
    #expect(count == 64)
    closed.wait()
  }

  @Test func anIndexThatSaysAnotherVersionIsNewestDoesNotAgreeWithItsEntities() throws {
    var history = CatalogHistory()
    try history.commit { draft in for title in ["one", "one two"] { try draft.insert(Memo(title: title)) } }
    func segment(newest: Int, texts: ClosedRange<Int> = 1...2) throws -> TextSegment {
      var collector = TextCollector(Memo.titles)
      for number in texts {
        let row = try #require(history.state.itemTable[number])
        collector.append(number, 1, row.record, isNewest: number <= newest)
      }
      return collector.finish().segment
    }
    let right = try segment(newest: 2)
    #expect(try right.agrees(with: segment(newest: 2)))
    #expect(try !right.agrees(with: segment(newest: 1)))
    #expect(try !right.agrees(with: segment(newest: 2, texts: 1...1)))
    // A version that no checkpoint shows may be in an index too.
    #expect(try segment(newest: 1).agrees(with: segment(newest: 1, texts: 1...1)))
    #expect(try !segment(newest: 1, texts: 1...1).agrees(with: segment(newest: 1)))
  }

  @Test(.timeLimit(.minutes(60))) func aWatchedSearchKeepsItsOrder() async throws {
    let journal = try CatalogJournal.inMemory()
    let insert: @Sendable (inout Draft<Catalog>) throws -> Void = { draft in
      for title in ["soup", "a soup of the day", "stew"] { try draft.insert(Memo(title: title)) }
    }
    try await journal.commit(insert)
    var updates = journal.updates { try $0.items(Memo.self).matching(\.title, "soup") }.makeAsyncIterator()
    #expect(try #require(await updates.next()).items.map(\.id.number) == [1, 2])
    try await journal.commit { _ = try $0.insert(Memo(title: "soup soup")) }
    let found = try #require(try await updates.next()).items
    #expect(found.ids == (try journal.state.items(Memo.self).matching(\.title, "soup").ids))
    #expect(found.count == 3)
    try journal.close()
  }
}

extension Memo {
  fileprivate static let titles = IndexDefinition(
    IndexScope(itemsOfKind: kind), AttributePath(["title"]), .words)
}

/// A source of a layer that has an index of words.
private struct SourceWithWords: LayerSource {
  let source: WholeState
  let segment: TextSegment

  func versions(_ kind: Int) -> VersionCursor { source.versions(kind) }
  func rows(_ kind: Int) -> RowReader { source.rows(kind) }
  func lines(_ index: Int) -> LineCursor { source.lines(index) }
  func texts(_ list: Int) -> [String] { source.texts(list) }
  func words(_ definition: IndexDefinition) -> TextSegment? { segment }
}

extension WholeState {
  fileprivate init(_ state: Catalog, revision: Revision) throws {
    self.init(parts: try #require(state.parts), revision: revision)
  }
}

extension CatalogJournal {
  /// Writes a layer of all entries with an index of titles, and returns its bytes and whose versions were read for the
  /// index.
  /// - Parameter entries: the entries of each source.
  @discardableResult
  fileprivate func writeLayer(
    _ sources: [any LayerSource], _ entries: [LayerHistory.Entries],
    checkIsWanted: @escaping @Sendable () throws(JournalError) -> Void = {}
  ) throws -> (bytes: [UInt8], read: [Revision]) {
    let (parts, shape) = (try #require(state.parts), try #require(StateShape(Catalog.self)))
    let read = Lock<[Revision]>([])
    let header = LayerHeader(
      journal: id, shape: shape, head: head, start: .start(shape),
      checkpoints: [LayerCheckpoint(revision: head.revision, eventCount: head.revision, parts)],
      indexes: [Memo.titles],
      history: LayerHistory(
        entries: entries,
        forEachVersion: { [chain] kinds, entries, body throws(JournalError) in
          try chain.forEachVersion(
            Catalog.self, of: kinds, after: entries.after, through: entries.through,
            checkIsWanted: checkIsWanted
          ) { kind, number, revision, record throws(JournalError) in
            read.withLock { $0.append(revision) }
            try body(kind, number, revision, record)
          }
        }, checkIsWanted: checkIsWanted))
    var bytes: [UInt8] = []
    _ = try unsafe LayerWriter.write(sources, header) { unsafe bytes.append(contentsOf: $0) }
    return (bytes, read.withLock { $0 })
  }
}

/// The same items with another index.
private struct LineMemo: CatalogItem {
  static let kind = Memo.kind
  static let indexes = [Index(\LineMemo.lines, .text), Index(\.title)]
  var title: String
  var lines: [String]
}

extension RandomNotes {
  /// How many files of the journal contain these bytes.
  fileprivate func files(with bytes: [UInt8]) throws -> Int {
    try FileManager.default.subpathsOfDirectory(atPath: url.path).count { name in
      let contents = try? Data(contentsOf: url.appending(path: name))
      return contents?.range(of: Data(bytes)) != nil
    }
  }
}
