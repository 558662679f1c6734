package import CatalogModel

/// What the entries of a journal have touched, read one by one, to tell what taking some of them back must do.
package struct ClubHistory {
  private struct Touch {
    let revision: Revision
    /// Nil if it was an addition or a deletion, which touch all parts.
    let parts: Set<FieldKey>?

    func touches(_ part: FieldKey) -> Bool { parts?.contains(part) ?? true }
  }

  private var touches: [EntityKey: [Touch]] = [:]
  private var newest: Revision = 0
  private var journal: JournalID?

  package init() {}

  /// Reads the entries that are new, or all of another journal.
  package mutating func read(_ journal: CatalogJournal) throws {
    if self.journal != journal.id { (touches, newest, self.journal) = ([:], 0, journal.id) }
    while newest < journal.head.revision {
      newest += 1
      for event in try journal.entry(at: newest).events {
        var parts: Set<FieldKey>?
        if case .update(let changes) = event.change {
          var keys: Set<FieldKey> = []
          changes.visit { key, _ in keys.insert(key) }
          parts = keys
        }
        touches[event.entity, default: []].append(Touch(revision: newest, parts: parts))
      }
    }
  }

  /// The revisions in metadata such as `5-7,9`.
  package static func revisions(_ text: String?) -> Set<Revision> {
    var revisions: Set<Revision> = []
    for part in (text ?? "").split(separator: ",") {
      let ends = part.split(separator: "-").compactMap { Revision($0) }
      revisions.formUnion(ends[0]...ends[ends.count - 1])
    }
    return revisions
  }

  /// What is wrong with the state after some entries were taken back, without losing an edit of other entries.
  /// - Parameters:
  ///   - own: the entries.
  ///   - isExact: whether they must be taken back wholly; false if what later edits need stays.
  ///   - before: the state before that.
  package func problems(
    takingBack own: Set<Revision>, isExact: Bool, in journal: CatalogJournal, from before: Catalog,
    to after: Catalog
  ) throws -> [String] {
    var problems: [String] = []
    for item in 1...max(after.itemTable.highest, 1) {
      let entity = EntityKey.item(item)
      let (was, now) = (before.record(of: entity), after.record(of: entity))
      let touches = touches[entity] ?? []
      guard let first = touches.first(where: { own.contains($0.revision) })?.revision else {
        if was != now { problems.append("item:\(item) was touched by others only, and has changed") }
        continue
      }
      guard isExact else { continue }
      let past = try journal.state(asOf: .revision(first - 1)).record(of: entity)
      let others = touches.filter {
        $0.revision > first && !own.contains($0.revision) && $0.revision <= newest
      }
      let mine = touches.filter { own.contains($0.revision) }
      if others.isEmpty {
        if now != past { problems.append("item:\(item) is not what it was before revision \(first)") }
        continue
      }
      guard let was, let now, let past else {
        if now != was, now != past {
          problems.append("item:\(item) is neither as it was nor as it was before")
        }
        continue
      }
      for part in EntityRecord.differences(from: was, to: now) {
        if !mine.contains(where: { $0.touches(part.key) }) {
          problems.append("\(part.key) of item:\(item) was touched by others only, and has changed")
        } else if now.value(of: part.key) != past.value(of: part.key) {
          problems.append("\(part.key) of item:\(item) has a value that it did not have before \(first)")
        }
      }
      for part in EntityRecord.differences(from: past, to: now)
      where mine.contains(where: { $0.touches(part.key) })
        && !others.contains(where: { $0.touches(part.key) })
      {
        problems.append("\(part.key) of item:\(item) does not have its value from before \(first)")
      }
    }
    return problems
  }

  /// What is wrong with the conflicts of a plan that takes entries back: each is a later entry of others that touched the
  /// entity that it names.
  package func problems(ofConflicts conflicts: [LaterEdit], takingBack own: Set<Revision>) -> [String] {
    conflicts.compactMap { conflict in
      let isThere = touches[conflict.entity]?.contains { touch in
        touch.revision == conflict.revision && conflict.fields.allSatisfy { touch.touches($0) }
      }
      let isLater = conflict.revision > own.min() ?? 0 && !own.contains(conflict.revision)
      return isThere == true && isLater
        ? nil
        : "\(Catalog.name(of: conflict.entity)) \(conflict.fields) of \(conflict.revision) is no edit after \(own.sorted())"
    }
  }

  /// Whether others have made entries since the first of some.
  package func hasOthers(since own: Set<Revision>) -> Bool { (own.min() ?? 0) + own.count <= newest }
}
