// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

struct Entry: CatalogItem {
  static let kind = "entry"
  static let indexes = [Index(\Entry.title, .text), Index(\.paragraphs, .text)]
  var title: String
  var paragraphs: [String] = []
}

/// The program of Documentation/Search.md.
func search() throws {
  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Entries.journal"))
  let soup = try journal.commit(by: "ana", note: "autumn") { draft in
    try draft.insert(Entry(title: "A stew", paragraphs: ["with tomatoes"]))
    return try draft.insert(Entry(title: "Tomato soup of the day"))
  }.value
  let entries = journal.state.items(Entry.self)

  for entry in try entries.matching(\.title, "tom* \"of the day\"").prefix(20) {
    let title = try entry.title
    print(title, title.ranges(matching: "tom* \"of the day\"").map { title[$0] })
  }
  print(try entries.matching([\.title, \.paragraphs], "TOMATOES soup", anyWord: true).map(\.title))

  try journal.commit(by: "bob", note: "winter") { try $0.delete(soup) }
  print(try journal.state.items(Entry.self).matching(\.title, "soup").count)
  print(try journal.state(asOf: .head(back: 1)).items(Entry.self).matching(\.title, "soup").count)
  for match in try journal.everMatching(\Entry.title, "soup", limit: 20) {
    let isDeleted = journal.state.item(match.id) == nil
    print(match.id, match.first.author, match.last.revision, isDeleted)
  }
}
