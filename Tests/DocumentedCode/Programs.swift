// Kept as the pages show it.
// swift-format-ignore-file
import CatalogModel
import Foundation

/// The program on the first screen of README.md.
func readme() throws {
  struct Book: Codable { var title: String; var stars: Int? }

  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Books.journal"))
  let dune = try journal.commit(by: "ana", note: "a present") { draft in
    try draft.addItem(kind: "book", encoding: Book(title: "Dun"))
  }.value
  try journal.commit(by: "bob", note: "spelling") { draft in
    try draft.updateItem(dune, as: Book.self) { book in (book.title, book.stars) = ("Dune", 5) }
  }
  print(try journal.state(asOf: .head(back: 1)).item(dune)!.decode(Book.self).title)  // Dun
  try journal.commit(by: "eve", note: "tidy up") { draft in try draft.deleteItem(dune) }
}

/// The program of Documentation/GettingStarted.md.
func gettingStarted() throws {
  struct Book: Codable {
    var title: String
    var stars: Int?
    var read: Date?
  }

  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Books.journal"))

  // One commit, several changes: all of them or none. `value` is what the body returned.
  let first = try journal.commit(by: "ana", note: "moving in") { draft in
    let shelf = try draft.addCategory(name: "Science fiction", color: Catalog.Color(hex: "#2255AA"))
    return (shelf, try draft.addItem(kind: "book", category: shelf, encoding: Book(title: "Dun")))
  }
  let (shelf, dune) = first.value

  // Change an item as your own type: only what differs is recorded, and attributes that the type does not know stay.
  try journal.commit(by: "bob", note: "read it in one night") { draft in
    try draft.updateItem(dune, as: Book.self) { book in
      book.title = "Dune"
      book.stars = 5
      book.read = Date()
    }
  }

  // Store the bytes first; a commit then attaches them to an item.
  let blob = try journal.blobs.add(Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8))
  try journal.commit(by: "ana", note: "a cover") { draft in
    try draft.addImage(to: dune, name: "cover.svg", mediaType: "image/svg+xml", blob: blob)
  }

  // Eve has not seen Bob's change. Her commit fails with a conflict, and nothing is written.
  do {
    try journal.commit(by: "eve", expecting: [.entity(.item(dune), at: first.revision)]) { draft in
      try draft.deleteItem(dune)
    }
  } catch let error as JournalError where error.code == .conflict {
    print("eve:", error.message)
  }

  // A past state, and how it became the present one.
  let before = try journal.state(asOf: .revision(first.revision))
  print("then:", try before.items(in: shelf).map { try $0.decode(Book.self).title })
  print("now: ", try journal.state.items(in: shelf).map { try $0.decode(Book.self).title })
  for change in try journal.history(of: .item(dune)) {
    print("entry \(change.revision), \(change.author): \(change.event.operation), \(change.note)")
  }
  try journal.close()
}
