import CatalogModel

/// The kinds and categories that items had when the entries of a log were made.
final class Memberships {
  struct Membership {
    private(set) var kind: String?
    private(set) var category: CategoryID?

    init(_ record: EntityRecord) {
      set(.field(ItemField.kind), record[field: ItemField.kind])
      set(.field(ItemField.category), record[field: ItemField.category])
    }

    fileprivate mutating func set(_ key: FieldKey, _ value: FieldValue?) {
      switch key {
      case .field(ItemField.kind): kind = value?.string
      case .field(ItemField.category): category = value?.integer.map { CategoryID($0) }
      default: break
      }
    }
  }

  private let labels: Labels
  private var past = PastValues<Membership>()

  init(_ labels: Labels) { self.labels = labels }

  /// An item before and after an event: one value if both are the same, none if its content was erased.
  func around(_ event: JournalEvent, in revision: Revision) throws -> [Membership] {
    let entity = event.entity
    switch event.change {
    case .erased: return []
    case .add(let record):
      let added = Membership(record)
      past.note(added, of: entity, in: revision...revision)
      return [added]
    case .update(let changes) where changes.changeFields:
      guard let after = try labels.record(of: event, in: revision).map(Membership.init) else { return [] }
      var before = after
      for part in try labels.journal().parts(changedBy: event) { before.set(part.key, part.old) }
      return [before, after]
    case .update, .delete:
      let range = event.range(in: revision)
      let known = past.value(of: entity, at: revision) ?? past.value(of: entity, at: range.lowerBound)
      guard let membership = try known ?? labels.record(of: event, in: revision).map(Membership.init) else {
        return []
      }
      past.note(membership, of: entity, in: range)
      return [membership]
    }
  }
}
