public import Foundation

/// What a restore, a revert, an undo or a redo would do: a value to look at, to show, and then to commit.
///
/// ```swift
/// let plan = try journal.planRestore(of: .entities([.item(42)]), asOf: .head(back: 1))
/// for change in plan.changes { print(change.entity, change.operation) }
/// try journal.commit(plan, by: "ana")
/// ```
public struct RestorePlan: Sendable {
  /// What a plan is for.
  public enum Action: Hashable, Sendable {
    /// Brings things back to what they were at a revision.
    case restore(asOf: Revision)
    /// Undoes exactly one entry.
    case revert(Revision)
    /// Undoes the newest entry that is still its author's to undo.
    case undo(Revision)
    /// Does an entry again that its author has undone.
    case redo(Revision)
  }

  /// What the plan is for.
  public let action: Action
  /// The revision that it was made over: what comes later is not known to it.
  public let basis: Revision
  /// What would change, in the order of kinds and numbers; empty when all is as it should be already.
  public let changes: [EntityDifference]
  /// The later edits that would be lost by it.
  public let undoes: [LaterEdit]
  /// The later edits that stand in the way of a revert. With any, the plan can't be committed.
  public let conflicts: [LaterEdit]
  /// The note that its entry gets when no other is given.
  public let note: String
  /// What its entry says of itself for machines: `journal.restores`, `journal.reverts`, `journal.undoes` and
  /// `journal.redoes`, each with a revision.
  public let metadata: [String: String]

  /// Whether it was made to cover the whole journal, so that nothing at all may come between.
  let coversEverything: Bool

  /// Whether there is nothing to do.
  public var isEmpty: Bool { changes.isEmpty }
}

/// An edit of one entity that came after what a plan brings back.
public struct LaterEdit: Hashable, Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// Who made it.
  public let author: String
  /// Why.
  public let note: String
  /// The entity that it changed.
  public let entity: EntityKey
  /// What it did to the entity.
  public let operation: JournalEvent.Operation
  /// The parts that it changed and that the plan would change back; empty unless both change it.
  public let fields: [FieldKey]
}

extension Journal {
  /// Makes what a plan says, as an entry of its own.
  /// - Parameters:
  ///   - author: who does it.
  ///   - note: why; what was done, in words, when nil.
  /// - Throws: ``JournalError`` with code `conflict` when the plan has conflicts, or something came between that
  ///   touched the same entities; nothing was written. And what `commit` throws.
  @discardableResult
  public func commit(
    _ plan: RestorePlan, by author: String = "", note: String? = nil, date: Date? = nil
  ) throws -> Commit<Void> {
    try explaining(plan) {
      try commit(by: author, note: note ?? plan.note, metadata: plan.metadata, date: date) { draft in
        try draft.make(plan)
      }
    }
  }

  /// The same for tasks: suspends instead of blocking a thread while the flush is in progress.
  @discardableResult
  public func commit(
    _ plan: RestorePlan, by author: String = "", note: String? = nil, date: Date? = nil
  ) async throws -> Commit<Void> {
    do {
      return try await commit(
        by: author, note: note ?? plan.note, metadata: plan.metadata, date: date
      ) { draft in try draft.make(plan) }
    } catch {
      throw explained(error, plan)
    }
  }

  private func explaining<Value>(_ plan: RestorePlan, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw explained(error, plan) }
  }

  /// Says who made the entry that came between, if it can be read already.
  private func explained(_ error: any Error, _ plan: RestorePlan) -> any Error {
    guard let conflict = error as? JournalError, conflict.code == .conflict, let revision = conflict.revision,
      revision > plan.basis, let entry = try? entry(at: revision)
    else { return error }
    let note = entry.note.isEmpty ? "" : ": \(entry.note.prefix { !$0.isNewline })"
    return JournalError(
      .conflict, conflict.message + " (by \(entry.author.isEmpty ? "nobody named" : entry.author)\(note))",
      revision: revision)
  }
}

extension Draft {
  /// Makes the changes of a plan, after checking that nothing came between.
  mutating func make(_ plan: RestorePlan) throws(JournalError) {
    if let conflict = plan.conflicts.first {
      throw JournalError(
        .conflict,
        "entry \(conflict.revision) changed \(State.name(of: conflict.entity)) later; say whether to keep that or "
          + "to override it")
    }
    if plan.coversEverything, revision - 1 != plan.basis {
      throw JournalError(
        .conflict,
        "entry \(revision - 1) came after this was planned at revision \(plan.basis); plan it again",
        revision: revision - 1)
    }
    for change in plan.changes {
      let found = state.revision(of: change.entity)
      guard found <= plan.basis else {
        throw JournalError(
          .conflict,
          "\(State.name(of: change.entity)) was changed by entry \(found) after this was planned at revision "
            + "\(plan.basis); plan it again", revision: found)
      }
    }
    for change in plan.changes {
      switch (change.old, change.new) {
      case (nil, let new?): try add(change.entity, new)
      case (_, let new?): try update(change.entity, to: new)
      case (_, nil): try delete(change.entity)
      }
    }
  }
}
