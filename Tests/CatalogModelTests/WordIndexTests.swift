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
    for number in 0..<10 { try journal.commit { _ = try $0.insert(Memo(title: "\(number)")) } }
    let (state, head, chain) = (journal.state, journal.head, journal.chain)
    let (parts, shape) = (try #require(state.parts), try #require(StateShape(Catalog.self)))
    let calls = Lock(0)
    func header(isWanted: Bool) -> LayerHeader {
      LayerHeader(
        journal: journal.id, shape: shape, head: head, start: .start(shape),
        checkpoints: [LayerCheckpoint(revision: head.revision, eventCount: 10, parts)],
        indexes: [Memo.titles],
        history: LayerHistory { kinds, body throws(JournalError) in
          try chain.forEachVersion(Catalog.self, of: kinds, after: 0, through: head.revision, body)
        } checkIsWanted: { () throws(JournalError) in
          calls.withLock { $0 += 1 }
          if !isWanted { throw JournalError(.closed, "not wanted") }
        })
    }
    func write(isWanted: Bool) throws {
      let source = WholeState(parts: parts, revision: head.revision)
      _ = try unsafe LayerWriter.write([source], header(isWanted: isWanted)) { _ in }
    }
    try write(isWanted: true)
    #expect(calls.withLock { $0 } > 10)
    let error = #expect(throws: JournalError.self) { try write(isWanted: false) }
    #expect(error?.code == .closed)
    try journal.close()
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
    IndexScope(itemsOfKind: kind), AttributePath(["title"]), isOfWords: true)
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
