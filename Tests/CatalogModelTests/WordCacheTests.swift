import CBOR
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// When a search uses an index of words that exists, and when all texts are read.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct WordCacheTests {
  /// So many items that no search waits for an index. Without one, a search reads all records.
  private static func history() throws -> CatalogHistory {
    var history = CatalogHistory()
    try history.insert("Soup", 5_000)
    try history.state.buildIndexes(of: SortedMemo.self)
    return history
  }

  @Test func twoStatesThatAreSearchedInTurnsKeepTheirIndexes() throws {
    var history = try Self.history()
    let old = history.state
    // No index is updated over so many changes.
    try history.insert("Stew", 6_000)
    try history.state.buildIndexes(of: SortedMemo.self)
    for _ in 0..<3 {
      for state in [old, history.state, history.state] {
        #expect(try state.items(SortedMemo.self).matching(\.title, "soup").explain().recordCount == 0)
      }
      try history.insert("Stew", 1)
    }
  }

  @Test func anIndexFromWhichMuchHasChangedIsUsedUntilItIsBuiltAnew() throws {
    var history = try Self.history()
    func recordCount(_ pattern: String) throws -> Int {
      try history.state.items(SortedMemo.self).matching(\.title, pattern).explain().recordCount
    }
    for _ in 0..<3 {
      try history.insert("Stew", 2_000)
      #expect(try recordCount("soup") == 0)
    }
    try history.state.buildIndexes(of: SortedMemo.self)
    // An index that was not built anew would need the records of what was added.
    #expect(try recordCount("stew") == 0)
  }

  @Test func theFirstPageOfASortedSearchReadsNoMoreThanThatPage() throws {
    let memos = try Self.history().state.items(SortedMemo.self)
    let page = try memos.matching(\.title, "soup").sorted(by: \.title).prefix(3).explain()
    #expect(page.lineCount == 3 && page.recordCount == 3 && !page.isSorted)
  }

  @Test func aJoinKeepsTheIndexesOfWordsInLaterLayers() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      let options = JournalOptions(layers: .often(40))
      func write(_ journal: CatalogJournal) throws {
        for number in 0..<90 {
          try journal.commit { draft in
            let book = try draft.insert(Book(title: "\(number)"))
            _ = try draft.insert(Chapter(text: "soup", book: book))
          }
        }
        journal.waitForLayers()
        let layers = journal.chain.layers
        #expect(!layers.isEmpty && layers.allSatisfy { $0.indexes.contains { $0.content == .words } })
      }
      var journal = try CatalogJournal.create(at: url, options: options)
      // The first query declares the indexes.
      #expect(journal.state.items(Chapter.self).isEmpty)
      try write(journal)
      try journal.close()
      journal = try CatalogJournal.open(at: url, options: options)
      let books = try journal.state.items(Book.self).including(Chapter.self, by: \.book)
      #expect(books.count == 90 && books.allSatisfy { $0.included.count == 1 })
      try write(journal)
      try journal.close()
    }
  }

  /// Two threads scan a table this long.
  @Test func inALongTableAScanFindsTheSameInTheSameOrderAsAnIndex() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 0..<18_000 {
        if number % 50 == 0 {
          _ = try draft.addItem(kind: "other", attributes: ["title": "Soup"])
        } else {
          let words = ["soup", "of", "the", "day"].prefix(1 + number % 4)
          _ = try draft.insert(Memo(title: (words + words.prefix(number % 3)).joined(separator: " ")))
        }
      }
    }
    try history.commit { draft in
      for number in stride(from: 1, through: 9_000, by: 77) {
        if let item = draft.state.item(ItemID<Memo>(number)) { try draft.delete(item.id) }
      }
    }
    try history.state.buildIndexes(of: Memo.self)
    for pattern in ["soup", "da* of", "\"soup of\" \"day soup\""] {
      for anyWord in [false, true] {
        let scanned = try history.state.items(ScannedMemo.self).matching(\.title, pattern, anyWord: anyWord)
        let found = try history.state.items(Memo.self).matching(\.title, pattern, anyWord: anyWord)
        #expect(scanned.explain().recordCount >= 17_000 && !found.isEmpty)
        #expect(scanned.ids.map(\.number) == found.ids.map(\.number), "\(pattern) \(anyWord)")
      }
    }
  }
}

extension CatalogHistory {
  fileprivate mutating func insert(_ title: String, _ count: Int) throws {
    try commit { draft in
      for _ in 0..<count { _ = try draft.insert(Memo(title: title)) }
    }
  }
}

private struct SortedMemo: CatalogItem {
  static let kind = Memo.kind
  static let indexes = [Index(\SortedMemo.title, .text), Index(\.title)]
  var title: String
}

private struct Book: CatalogItem {
  static let kind = "book"
  var title: String
}

private struct Chapter: CatalogItem {
  static let kind = "chapter"
  static let indexes = [Index(\Chapter.text, .text), Index(\.book)]
  var text: String
  var book: ItemID<Book>
}
