// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance

struct Company: CatalogItem {
  static let kind = "company"
  static let rules: [Rule] = [.unique(\.name, ignoringCase: true)]
  var name: String
}

struct Contact: CatalogItem {
  static let kind = "contact"
  static let rules: [Rule] = [.unique(\.email), .reference(\.company, onDelete: .nullify)]
  var name: String
  var email: String?
  var company: ItemID<Company>?
}

struct Deal: CatalogItem {
  static let kind = "deal"
  static let indexes = [Index(\Deal.stage), Index(\.value)]
  static let rules: [Rule] = [.reference(\.company, onDelete: .deny), .reference(\.contact, onDelete: .nullify)]
  enum Stage: String, Codable, QueryValue { case lead, won }
  var title: String
  var stage = Stage.lead
  var value: Decimal
  var closes: Date?
  var company: ItemID<Company>
  var contact: ItemID<Contact>?
}

struct Note: CatalogItem {
  static let kind = "note"
  static let rules: [Rule] = [.reference(\.contact, onDelete: .cascade)]
  var text: String
  var contact: ItemID<Contact>
}

struct OldCompany: Codable { var id: Int64; var name: String }
struct OldContact: Codable { var name: String; var email: String?; var companyId: Int64? }

func move(_ companies: [OldCompany], _ contacts: [OldContact], to journal: CatalogJournal) throws {
  try journal.commit(by: "import", note: "from the old database") { draft in
    var ids: [Int64: ItemID<Company>] = [:]
    for old in companies { ids[old.id] = try draft.insert(Company(name: old.name)) }
    for old in contacts {
      let company = old.companyId.flatMap { ids[$0] }
      try draft.insert(Contact(name: old.name, email: old.email, company: company))
    }
  }
}

/// The program of Documentation/Comparison.md.
func comparison() async throws {
  let october = try Date("2026-10-01T00:00:00Z", strategy: .iso8601)
  let autumn = october..<october + 92 * 86_400

  // 2. Open.
  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "CRM.journal"))
  try journal.declare(Company.self, Contact.self, Deal.self, Note.self)
  // 3. Insert.
  let (acme, bob, bolts) = try await journal.commit(by: "ana", note: "a first customer") { draft in
    let acme = try draft.insert(Company(name: "Acme"))
    let bob = try draft.insert(Contact(name: "Bob", email: "bob@acme.com", company: acme))
    try draft.insert(Note(text: "likes tea", contact: bob))
    return (acme, bob, try draft.insert(Deal(title: "Bolts", value: 500, company: acme, contact: bob)))
  }.value
  // 4. Update.
  try await journal.commit(by: "bob", note: "signed") { try $0.update(bolts) { $0.stage = .won } }
  // 5. Upsert.
  let robert = Contact(name: "Robert", email: "bob@acme.com", company: acme)
  try await journal.commit(by: "ana") { try $0.upsert(robert, by: \.email) }
  // 6. Import in bulk.
  try await journal.withPipeline { pipeline in
    for number in 1...3 {
      let deal = Deal(title: "Nuts \(number)", value: 100, closes: october, company: acme)
      try await pipeline.commit(by: "import") { try $0.insert(deal) }
    }
  }
  // 7. Roll back.
  do {
    try await journal.commit(by: "eve") { draft in
      try draft.delete(bolts)
      throw CancellationError()
    }
  } catch is CancellationError {}
  // 8. Write from several tasks.
  try await withThrowingTaskGroup(of: Void.self) { group in
    for name in ["Bolt", "Core"] {
      group.addTask { try await journal.commit(by: name) { try $0.insert(Company(name: name)) } }
    }
    try await group.waitForAll()
  }

  let state = journal.state
  let deals = state.items(Deal.self)
  // 9. Fetch by ID.
  print(try state.value(of: bob)?.name ?? "none")
  // 10. Filter by an enum and a text.
  print(try deals.filter(\.stage == .won && .prefix(\.title, "B")).map(\.title))
  // 11. Filter by an optional date.
  print(try deals.filter(autumn ~= \.closes || \.closes == nil).count)
  // 12. Sort by two keys, and take a page.
  print(try deals.sorted(by: .descending(\.value), .ascending(\.title)).dropFirst(2).prefix(2).map(\.title))
  // 13. Count.
  print(try deals.filter(\.value > 100).count)
  // 14. Sum by group.
  for (stage, (count, total)) in try deals.grouped(by: \.stage, .count, .sum(\.value)) {
    print(stage, count, total)
  }
  // 15. Follow a reference.
  for (deal, contact) in try deals.including(\.contact) {
    print(try deal.title, try contact?.name ?? "nobody")
  }
  // 16. Follow it back.
  for (company, deals) in try state.items(Company.self).sorted(by: \.name).including(Deal.self, by: \.company) {
    print(try company.name, deals.count)
  }

  // 17. Validate.
  journal.addCheck(of: Deal.self) { _, deal, _ in
    if let deal, deal.value < 0 { throw JournalError(.rejected, "a value is not negative") }
  }
  let wrong: [(inout Draft<Catalog>) throws -> Void] = [
    { try $0.update(bolts) { $0.value = -1 } },
    { try $0.insert(Company(name: "ACME")) },  // 18. A unique key.
    { try $0.delete(acme) },  // 19. Deny.
  ]
  for change in wrong {
    do {
      try await journal.commit(by: "eve", change)
    } catch let error as JournalError where error.code == .rejected {  // 20. Errors.
      print(error.message)
    }
  }
  // 21. Cascade, nullify.
  try await journal.commit(by: "ana", note: "left") { try $0.delete(bob) }
  print(journal.state.items(Note.self).count, try journal.state.value(of: bolts)?.contact ?? 0)
  // 22. Two writers: Ana's form does not show Bob's change.
  let seen = journal.state.item(bolts)?.modified ?? 0
  try await journal.commit(by: "bob") { try $0.update(bolts) { $0.value = 450 } }
  do {
    try await journal.commit(by: "ana", expecting: [.entity(bolts.entity, at: seen)]) { draft in
      try draft.update(bolts) { $0.value = 480 }
    }
  } catch let error as JournalError where error.code == .conflict {
    print(error.message)
  }

  // 24. Observe a query.
  for try await update in journal.updates(of: { try $0.items(Deal.self).filter(\.stage == .won) }) {
    print(update.items.count)
    break
  }
  // 25. Observe a value.
  for try await total in journal.observe({ try $0.items(Deal.self).sum(\.value) }) {
    print(total)
    break
  }
  // 26. A list in SwiftUI.
  let live = try await LiveQuery(journal) { try $0.items(Deal.self).sorted(by: \.title) }
  print(await live.items.count)
  // 27. Read in the background.
  print(try await journal.read { try $0.state(asOf: .revision(2)).items(Deal.self).count })

  // 28. Undo. `planRedo` redoes.
  if let plan = try journal.planUndo(by: "ana") { try await journal.commit(plan, by: "ana") }
  print(try journal.state.value(of: bob)?.name ?? "none")
  // 29. The history of an item, and who changed it.
  for change in try journal.history(of: bolts.entity) {
    print(change.author, try change.after?.decode(Deal.self).value ?? 0)
  }
  // 30. The state at a date, revision or tag.
  print(try journal.state(asOf: .revision(2)).items(Deal.self).map(\.stage.rawValue))

  // 31. Search by words, now and ever.
  print(try journal.state.items(Deal.self).matching(\.title, "bolt*").map(\.title))
  print(try journal.everMatching(\Deal.title, "bolts").map { ($0.id, $0.first.author) })

  // 32. Back up and export.
  try journal.backup(to: URL(filePath: "CRM.backup"))
  print(try JSONEncoder().encode(journal.state.items(Contact.self).values).count, "bytes")
  // 33. A journal for a test.
  let test = try CatalogJournal.inMemory()
  try test.declare(Company.self, Contact.self)
  try move([OldCompany(id: 7, name: "Acme")], [OldContact(name: "Bob", companyId: 7)], to: test)
  print(try test.state.items(Contact.self).first?.company ?? 0)
}
