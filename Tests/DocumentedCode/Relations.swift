// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

/// The program of Documentation/Relations.md.
func relations() throws {
  struct Company: CatalogItem {
    static let kind = "company"
    var name: String
  }

  struct Person: CatalogItem {
    static let kind = "person"
    static let rules: [Rule] = [.reference(\.company, onDelete: .deny)]
    var name: String
    var company: ItemID<Company>?
  }

  struct Call: CatalogItem {
    static let kind = "call"
    static let rules: [Rule] = [.reference(\.person, onDelete: .cascade)]
    var person: ItemID<Person>
    var text: String
  }

  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Contacts.journal"))
  try journal.declare(Person.self, Call.self)
  let (acme, bob) = try journal.commit(by: "ana", note: "first contacts") { draft in
    let acme = try draft.insert(Company(name: "Acme"))
    let bob = try draft.insert(Person(name: "Bob", company: acme))
    try draft.insert(Call(person: bob, text: "asked for a price"))
    return (acme, bob)
  }.value
  do {
    try journal.commit(by: "ana") { try $0.delete(acme) }
  } catch let error as JournalError where error.code == .rejected {
    print(error.message)
  }
  let staff = try journal.state.items(Person.self, referringTo: acme, by: \.company)
  print(try staff.map { try $0.value.name })

  try journal.commit(by: "ana", note: "left") { try $0.delete(bob) }  // With his calls.
  print(journal.state.items(Call.self).count)
  if let plan = try journal.planUndo(by: "ana") { try journal.commit(plan, by: "ana") }
  print(journal.state.items(Call.self).count)
}
