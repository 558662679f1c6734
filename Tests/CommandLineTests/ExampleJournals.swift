import CatalogModel
import Foundation

// The journals of the terminal sessions on two pages.

/// The books of Documentation/AuditAndRestore.md.
func makeAuditedBooks(at url: URL) throws -> CatalogJournal {
  func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
  let journal = try CatalogJournal.create(at: url)
  try journal.commit(by: "ana", note: "moving in", date: date("2026-08-01T10:00:00Z")) { draft in
    let shelf = try draft.addCategory(name: "Novels", color: Catalog.Color(hex: "#2255AA"))
    try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Dun", "stars": 3])
    try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Emma"])
  }
  try journal.commit(by: "bob", note: "spelling", date: date("2026-08-02T09:00:00Z")) { draft in
    try draft.updateItem(1, set: ["title": "Dune", "stars": 5])
  }
  try journal.commit(by: "bob", note: "tidy up", date: date("2026-08-04T16:20:00Z")) { draft in
    try draft.deleteItem(2)
    try draft.deleteCategory(1)
  }
  try journal.commit(by: "eve", note: "new arrivals", date: date("2026-08-05T08:00:00Z")) { draft in
    try draft.addItem(kind: "book", attributes: ["title": "Solaris"])
    try draft.updateItem(1, set: ["stars": 4])
  }
  return journal
}

/// The shop of Documentation/AuditAndRestore.md.
func makeShop(at url: URL) throws -> CatalogJournal {
  func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
  let journal = try CatalogJournal.create(at: url)
  try journal.commit(by: "till 1", note: "opening", date: date("2026-08-06T08:00:00Z")) { draft in
    try draft.addItem(kind: "order", attributes: ["title": "2 × Dune"])
  }
  try journal.commit(by: "till 2", note: "paid in cash", date: date("2026-08-06T08:05:00Z")) { draft in
    try draft.updateItem(1, set: ["paid": true])
  }
  return journal
}

/// The books of Documentation/Copies.md.
func makeCopiedBooks(at url: URL) throws -> CatalogJournal {
  func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
  let journal = try CatalogJournal.create(at: url)
  let cover = try journal.blobs.add(Data("<svg/>".utf8))
  try journal.commit(by: "ana", note: "moving in", date: date("2026-08-01T10:00:00Z")) { draft in
    try draft.addItem(kind: "book", attributes: ["title": "Dun"])
    try draft.addItem(kind: "book", attributes: ["title": "Emma"])
    try draft.addImage(to: 1, name: "cover.svg", mediaType: "image/svg+xml", blob: cover)
  }
  try journal.commit(by: "bob", note: "spelling", date: date("2026-08-02T09:00:00Z")) { draft in
    try draft.updateItem(1, set: ["title": "Dune"])
  }
  return journal
}
