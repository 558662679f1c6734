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
  /// Whether the oldest entry comes first.
  private let isForward: Bool
  private var past = PastValues<Membership>()

  init(_ labels: Labels, isForward: Bool) {
    self.labels = labels
    self.isForward = isForward
  }

  /// What an item was before and after an event: one value if both are the same, and none if its content was erased.
  func around(_ event: JournalEvent, in revision: Revision) throws -> [Membership] {
    let range = event.range(in: revision)
    switch event.change {
    case .erased: return []
    case .add(let record):
      let added = Membership(record)
      past.note(added, of: event.entity, in: revision...revision)
      return [added]
    case .update(let changes) where changes.changeFields:
      guard let moved = try move(by: changes, event, revision) else { return [] }
      // The next event of the item begins or ends with this.
      past.note(
        isForward ? moved.after : moved.before, of: event.entity,
        in: isForward ? revision...revision : range.lowerBound...max(range.lowerBound, revision - 1))
      return [moved.before, moved.after]
    case .update, .delete:
      let known =
        past.value(of: event.entity, at: revision) ?? past.value(of: event.entity, at: range.lowerBound)
      guard let membership = try known ?? labels.record(of: event, in: revision).map(Membership.init) else {
        return []
      }
      past.note(membership, of: event.entity, in: range)
      return [membership]
    }
  }

  /// What an item was before and after an update that may have changed it.
  private func move(
    by changes: RecordChanges, _ event: JournalEvent, _ revision: Revision
  ) throws -> (before: Membership, after: Membership)? {
    if let before = past.value(of: event.entity, at: event.previous) {
      var after = before
      changes.visit { after.set($0, $1) }
      return (before, after)
    }
    let known = past.value(of: event.entity, at: revision)
    guard let after = try known ?? labels.record(of: event, in: revision).map(Membership.init) else {
      return nil
    }
    var before = after
    for part in try labels.journal().parts(changedBy: event) { before.set(part.key, part.old) }
    return (before, after)
  }
}
