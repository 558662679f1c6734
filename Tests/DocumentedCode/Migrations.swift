// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

let migrations = [
  // A rename.
  Migration("fullName is name") { try $0.renameAttribute("fullName", to: "name", ofKind: "person") },
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

struct OldPerson: CatalogItem {
  static let kind = "person"
  var fullName: String
  var age: String?
}

struct Person: CatalogItem {
  static let kind = "person"
  var first: String
  var last: String
  var age: Int?

  init(_ old: OldPerson) {
    let words = old.fullName.split(separator: " ", maxSplits: 1).map(String.init)
    (first, last, age) = (words.first ?? "", words.count > 1 ? words[1] : "", old.age.flatMap { Int($0) })
  }
}

/// The program of Documentation/Migrations.md.
func runMigrations() throws {
  let url = URL(filePath: "People.journal")
  // Last year's app.
  let old = try CatalogJournal.openOrCreate(at: url)
  try old.commit(by: "ana") { try $0.insert(OldPerson(fullName: "Ada Lovelace", age: "36")) }
  try old.close()

  let journal = try CatalogJournal.openOrCreate(at: url)
  try journal.migrate(migrations)
  print(try journal.state.items(Person.self).values.map { "\($0.first), \($0.last)" })
  let past = try journal.state(asOf: .revision(1)).items(OldPerson.self).values.map(Person.init)
  print(past.map(\.last))
}
