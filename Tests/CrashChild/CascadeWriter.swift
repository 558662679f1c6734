import CatalogModel
import Foundation
import LogbookModel
import TestSupport

private struct Firm: CatalogItem {
  static let kind = "firm"
  var name: String
}

private struct Clerk: CatalogItem {
  static let kind = "clerk"
  static let rules: [Rule] = [.reference(\.firm, onDelete: .cascade), .unique(\.badge)]
  var firm: ItemID<Firm>
  var badge: Int
}

private struct Desk: CatalogItem {
  static let kind = "desk"
  static let rules: [Rule] = [.reference(\.clerk, onDelete: .nullify)]
  var clerk: ItemID<Clerk>?
}

/// Adds firms with clerks, deletes them by cascade and undoes that, forever. After each commit it prints the revision.
struct CascadeWriter {
  let journal: CatalogJournal
  var random: SeededGenerator

  init(_ url: URL, seed: UInt64) throws {
    journal = try CatalogJournal.openOrCreate(at: url, options: JournalOptions(layers: .many))
    random = SeededGenerator(seed: seed)
    try journal.declare(Clerk.self, Desk.self)
    say("\(journal.head.revision)")
  }

  mutating func run() throws {
    while true {
      let firms = journal.state.items(ofKind: Firm.kind).map { ItemID<Firm>($0.id.number) }
      if firms.count < 3 || random.chance(1, in: 3) {
        let count = Int.random(in: 1...60, using: &random)
        let commit = try journal.commit(by: "ana") { draft in
          let firm = try draft.insert(Firm(name: "Acme"))
          for _ in 1...count {
            let clerk = try draft.insert(
              Clerk(firm: firm, badge: draft.state.itemCount + draft.revision << 20))
            try draft.insert(Desk(clerk: clerk))
          }
        }
        say("\(commit.revision)")
      } else {
        let firm = firms.randomElement(using: &random)!
        say("\(try journal.commit(by: "bob") { try $0.delete(firm) }.revision)")
        guard random.chance(1, in: 2), let undo = try journal.planUndo(by: "bob") else { continue }
        say("\(try journal.commit(undo, by: "bob").revision)")
      }
    }
  }
}
