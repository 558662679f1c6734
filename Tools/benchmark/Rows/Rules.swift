import CatalogModel
import Foundation

/// An order with eight properties. Five refer to other orders, and two are unique keys.
private protocol Order: CatalogItem {
  var number: Int { get set }
  init(_ number: Int, among count: Int, _ random: inout SeededGenerator)
}

private struct FreeOrder: Order {
  static let kind = "order"
  var number: Int
  var code: String
  var links: [Int]
  var first: Int
  var second: Int
  var third: Int
  var fourth: Int
  var note: String

  init(_ number: Int, among count: Int, _ random: inout SeededGenerator) {
    func other() -> Int { .random(in: 1...max(1, count), using: &random) }
    (self.number, code, note) = (number, "A\(number)", "as agreed on the telephone")
    (links, first, second, third, fourth) = ([other()], other(), other(), other(), other())
  }
}

private struct RuledOrder: Order {
  static let kind = "order"
  static let rules: [Rule] = [
    .reference(\.links, onDelete: .nullify), .reference(\.first, onDelete: .deny),
    .reference(\.second, onDelete: .deny), .reference(\.third, onDelete: .deny),
    .reference(\.fourth, onDelete: .deny), .unique(\.number), .unique(\.code),
  ]
  var number: Int
  var code: String
  var links: [ItemID<RuledOrder>]
  var first: ItemID<RuledOrder>
  var second: ItemID<RuledOrder>
  var third: ItemID<RuledOrder>
  var fourth: ItemID<RuledOrder>
  var note: String

  init(_ number: Int, among count: Int, _ random: inout SeededGenerator) {
    func other() -> ItemID<RuledOrder> { ItemID(.random(in: 1...max(1, count), using: &random)) }
    (self.number, code, note) = (number, "A\(number)", "as agreed on the telephone")
    (links, first, second, third, fourth) = ([other()], other(), other(), other(), other())
  }
}

private struct Employee: CatalogItem {
  static let kind = "employee"
  static let rules: [Rule] = [.reference(\.company, onDelete: .cascade)]
  var name: String
  var company: ItemID<Company>?
}

private struct Company: CatalogItem {
  static let kind = "company"
  var name: String
}

/// Measures durable commits that add one item to many, with and without five references and two unique keys.
func commitsUnderRules(_ bench: Workbench) async throws {
  let (size, count) = (bench.largeSize, bench.isQuick ? 500 : 4_000)
  func journal<Model: Order>(_ type: Model.Type, _ name: String) async throws -> CatalogJournal {
    let journal = try CatalogJournal.create(at: bench.path(name))
    try journal.declare(type)
    var random = SeededGenerator(seed: bench.seed)
    for start in stride(from: 0, to: size, by: 10_000) {
      bench.show("\(name): \(start) of \(size) items")
      try await journal.commit { draft in
        for number in start..<min(start + 10_000, size) {
          try draft.insert(Model(number, among: number, &random))
        }
      }
    }
    return journal
  }
  let (ruled, free) = (
    try await journal(RuledOrder.self, "ruled"), try await journal(FreeOrder.self, "free")
  )
  var next = size
  func contestant<Model: Order>(_ journal: CatalogJournal, _: Model.Type) -> () async throws -> Double {
    {
      var random = SeededGenerator(seed: bench.seed &+ UInt64(next))
      let orders = (next..<next + count).map { Model($0, among: size, &random) }
      next += count
      return try timed { for order in orders { try journal.commit { try $0.insert(order) } } }
    }
  }
  var race = Race(bench, "durable commits into \(size) items", operations: count)
  race.add("5 references, 2 unique keys", contestant(ruled, RuledOrder.self))
  race.add("without rules", contestant(free, FreeOrder.self))
  try await race.report(.duration, .against(1, atMost: 1.3))
  try ruled.close()
  try free.close()
}

/// Deleting an item with all that refer to it, and undoing that, against the same events in a journal without rules: two
/// commits that delete and add the same records.
func cascades(_ bench: Workbench) async throws {
  let count = bench.isQuick ? 1_000 : 10_000
  func journal(_ name: String, isRuled: Bool) async throws -> CatalogJournal {
    let journal = try CatalogJournal.create(at: bench.path(name))
    if isRuled { try journal.declare(Employee.self) }
    try await journal.commit { draft in
      let company = try draft.insert(Company(name: "Acme"))
      for number in 0..<count {
        try draft.addItem(
          kind: Employee.kind,
          attributes: [
            "name": .string("employee \(number)"), "company": .integer(Int64(company.number)),
          ])
      }
    }
    return journal
  }
  let (ruled, plain) = (
    try await journal("cascade", isRuled: true), try await journal("plain", isRuled: false)
  )
  var race = Race(bench, "deleting an item with \(count) that refer to it, and undoing it")
  race.add("cascade and undo") {
    try timed {
      try ruled.commit(by: "ana") { try $0.delete(ItemID<Company>(1)) }
      guard let plan = try ruled.planUndo(by: "ana"), plan.changes.count == count + 1 else {
        throw PeerFailure("the undo does not bring back all")
      }
      try ruled.commit(plan, by: "ana")
    }
  }
  race.add("deletes and adds") {
    let items = plain.state.items.map { (id: $0.id, record: plain.state.record(of: $0.id.entity)!) }
    return try timed {
      try plain.commit(by: "ana") { draft in for item in items { try draft.deleteItem(item.id) } }
      try plain.commit(by: "ana") { draft in for item in items { try draft.add(item.id.entity, item.record) }
      }
    }
  }
  try await race.report(.duration, .against(1, atMost: 1.5))
  try ruled.close()
  try plain.close()
}
