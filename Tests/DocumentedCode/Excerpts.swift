// Kept as the pages show it.
// swift-format-ignore-file
import CatalogModel
import Foundation
import JournalServer
import PostgresLog

// The other code blocks of the pages. The test is that they compile.

func auditOfAuditAndRestore(_ journal: CatalogJournal) throws {
  for change in try journal.history(of: .item(1)) {
    for part in change.parts {
      let name = Catalog.name(of: part.key, of: change.event.entity.kind)
      print(change.revision, change.author, name, part.old ?? "none", part.new ?? "none")
    }
  }
  let newest = try journal.history(of: .item(1), limit: 20)
  let blame = try journal.blame(.item(1))
  let yesterday = try journal.diff(from: RevisionSelector("yesterday"))
  let row = try journal.entity(.item(1), asOf: .revision(2))
  _ = (newest, blame, yesterday, row)
}

func restoreOfAuditAndRestore(_ journal: CatalogJournal) throws {
  let plan = try journal.planRestore(of: .entities([.item(2)]), asOf: .revision(2))
  for change in plan.changes { print(change.entity, change.operation) }
  for edit in plan.undoes { print("undoes", edit.author, edit.note) }
  try journal.commit(plan, by: "ana")

  if let undo = try journal.planUndo(by: "ana"), undo.conflicts.isEmpty { try journal.commit(undo, by: "ana") }
}

func followingOfAuditAndRestore(_ url: URL, _ newest: Revision) async throws {
  var lastSeen = newest
  let journal = try CatalogJournal.open(at: url, mode: .follow)
  for try await entry in journal.newEntries(after: lastSeen) {
    print(entry.author, entry.note)
    lastSeen = entry.revision
  }
}

func shared(_ url: URL) throws {
  // Once, for the existing journal. Then on every other machine.
  try CatalogJournal.share(at: url, on: "postgresql://app@db.example.org/books?sslmode=verify-full")
  try CatalogJournal.join("postgresql://app@db.example.org/books?sslmode=verify-full", at: url)

  // At each launch, on all of them.
  let journal = try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
  try journal.close()
}

func sharedImages(_ url: URL) throws {
  let images = SharedImageFolder(URL(filePath: "/mnt/files/books"))
  let options = JournalOptions().sharingThroughPostgres(images: images)
  let journal = try CatalogJournal.open(at: url, options: options)
  try journal.close()
}

func viewer(_ journal: CatalogJournal, _ token: String) throws {
  var options = JournalServer.Options()
  options.isEditable = true
  options.tokens = [token]
  let server = try JournalServer(journal, options: options)
  print("the API:", "http://127.0.0.1:\(server.port)/", "the page:", server.invitation())
  server.stop()
}

func reference(_ url: URL) throws {
  let journal = try CatalogJournal.openOrCreate(at: url)
  let dune = try journal.commit(by: "ana", note: "a present") { draft in
    try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
  }.value
  print(journal.state.item(dune)?["title"] ?? "none")
}
