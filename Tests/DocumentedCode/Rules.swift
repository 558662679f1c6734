// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

struct Company: CatalogItem {
  static let kind = "company"
  static let rules: [Rule] = [.unique(\.name, ignoringCase: true)]
  var name: String
}

struct Person: CatalogItem {
  static let kind = "person"
  static let rules: [Rule] = [.reference(\.company, onDelete: .deny), .unique(\.email), .required(\.name)]
  var name: String
  var email: String?
  var company: ItemID<Company>?
}

/// The program of Documentation/Rules.md.
func rules() throws {
  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Contacts.journal"))
  try journal.declare(Company.self, Person.self)
  let acme = try journal.commit(by: "ana", note: "first contacts") { draft in
    let acme = try draft.insert(Company(name: "Acme"))
    try draft.insert(Person(name: "Bob", email: "bob@example.org", company: acme))
    return acme
  }.value
  do {
    try journal.commit(by: "ana") { try $0.delete(acme) }
  } catch let error as JournalError where error.code == .rejected {
    print(error.message)
  }
  let staff = try journal.state.items(Person.self, referringTo: acme, by: \.company)
  try journal.commit(by: "eve", note: "from the address book") { draft in
    try draft.upsert(Person(name: "Robert", email: "bob@example.org", company: acme), by: \.email)
  }
  print(try staff.map { try $0.value.name }, try journal.state.items(Person.self).values.map(\.name))
}

func readingOfAppBackend(_ journal: CatalogJournal) async throws -> RestorePlan? {
  try await journal.read { try $0.planUndo(by: "ana") }
}

func changedUndoOfRules(_ journal: CatalogJournal) throws {
  guard let plan = try journal.planUndo(by: "ana") else { return }
  try journal.commit(by: "ana") { draft in
    try draft.apply(plan)
    try draft.addItem(kind: "reminder", attributes: ["text": .string("tell Bob")])
  }
}

func checkOfRules(_ journal: CatalogJournal) {
  struct MailChanged: Error, CustomStringConvertible { let description = "an address that was confirmed stays" }
  journal.addCheck(of: Person.self) { before, after, catalog in
    if let before, let after, before.email != nil, before.email != after.email { throw MailChanged() }
  }
}

struct OldPerson: CatalogItem {
  static let kind = "person"
  var fullName: String
  var age: String?
}

let migrations = [
  // A rename.
  Migration("fullName is name") { draft in
    for item in draft.state.items(ofKind: "person") {
      guard let name = item["fullName"] else { continue }
      try draft.updateItem(item.id, set: ["name": name], remove: ["fullName"])
    }
  },
  // A split, which an older app would undo.
  Migration("name is first and last", isBreaking: true) { draft in
    for item in draft.state.items(ofKind: "person") {
      guard let words = item["name"]?.string?.split(separator: " ", maxSplits: 1) else { continue }
      let last = words.count > 1 ? String(words[1]) : ""
      try draft.updateItem(
        item.id, set: ["first": .string(String(words.first ?? "")), "last": .string(last)], remove: ["name"])
    }
  },
  // A change of type.
  Migration("ages are numbers") { draft in
    for item in draft.state.items(ofKind: "person") {
      guard let age = item["age"]?.string, let number = Int64(age) else { continue }
      try draft.updateItem(item.id, set: ["age": .integer(number)])
    }
  },
]
