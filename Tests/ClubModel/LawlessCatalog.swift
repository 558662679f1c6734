import CatalogModel
package import Foundation
package import TestSupport

/// A catalog of a program that checks no rules.
private struct LawlessCatalog: EventSourced {
  static let schema = Catalog.schema
  static let kindNames = Catalog.kindNames
  var catalog = Catalog()
  func record(of entity: EntityKey) -> EntityRecord? { catalog.record(of: entity) }
  func revision(of entity: EntityKey) -> Revision { catalog.revision(of: entity) }
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    try catalog.apply(event, at: revision)
  }
}

extension Club {
  /// Commits a random change that breaks a rule to the closed journal of this club.
  package func forge(at url: URL, _ random: inout SeededGenerator) throws {
    let journal = try Journal<LawlessCatalog>.open(at: url)
    defer { try? journal.close() }
    let new = EntityKey.item(highest + 1)
    func record(_ kind: String, _ attributes: [String: FieldValue]) -> EntityRecord {
      EntityRecord(attributes, fields: [0: .string(kind)])
    }
    try journal.commit(by: "forger") { draft in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: try draft.add(new, record("team", [:]))
      case 1: try draft.add(new, record("member", ["mentor": .integer(Int64(highest + 2))]))
      case 2:
        for number in 1...2 { try draft.add(.item(highest + number), record("team", ["name": "twin"])) }
      default:
        try draft.add(new, record("team", ["name": "new"]))
        try draft.add(
          .item(highest + 2), record("team", ["name": "part", "parent": .integer(Int64(highest + 1))]))
        try draft.delete(new)
      }
    }
  }
}
