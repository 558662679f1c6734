public import Foundation

/// The changes that a restore, a revert, an undo or a redo would make. Inspect the plan, show it, and then commit it.
///
/// ```swift
/// let plan = try journal.planRestore(of: .entities([.item(42)]), asOf: .head(back: 1))
/// for change in plan.changes { print(change.entity, change.operation) }
/// try journal.commit(plan, by: "ana")
/// ```
public struct RestorePlan: Sendable {
  /// The purpose of a plan.
  public enum Action: Hashable, Sendable {
    /// Restores entities as of a revision.
    case restore(asOf: Revision)
    /// Undoes exactly one entry.
    case revert(Revision)
    /// Undoes the author's newest entry that is not undone yet, with the other entries of its undo group.
    case undo(Revision)
    /// Redoes an entry that its author has undone, with the other entries of its undo group.
    case redo(Revision)
  }

  /// The purpose of the plan.
  public let action: Action
  /// The newest revision when the plan was made. The plan does not consider later entries.
  public var basis: Revision { head.revision }
  /// What would change, in the order of kinds and numbers; empty if nothing would. If there are conflicts, what would
  /// change if the plan were made again with ``LaterEdits/override`` or, for a restore, with `deletesNew`.
  public let changes: [EntityDifference]
  /// The later edits that the plan would undo.
  public let undoes: [LaterEdit]
  /// Later edits that prevent a revert, or additions that prevent a restore. A plan with conflicts can't be committed.
  public let conflicts: [LaterEdit]
  /// The rule of the model that the plan would break, in words that name the entities. Committing a plan with a problem
  /// is `rejected`. Nil if there is no problem, or if there are conflicts.
  public private(set) var problem: String?
  /// The default note of the plan's entry.
  public let note: String
  /// The metadata of the plan's entry, for programs: `journal.restores`, `journal.reverts`, `journal.undoes` and
  /// `journal.redoes`, each with a revision or, for an undo group, a list such as `5-7,9`.
  public let metadata: [String: String]

  /// The journal that the plan was made for.
  let journal: JournalID
  /// The newest entry of the journal when the plan was made.
  let head: Head
  /// Whether the plan covers the whole journal, so that any later entry is a conflict.
  let coversEverything: Bool
  /// The ``PlanResult`` of the check, which a commit on the same version uses again.
  private(set) var result: (any Sendable)?

  /// Whether the plan would change nothing.
  public var isEmpty: Bool { changes.isEmpty }

  /// Returns this plan with its ``problem``, found by making the changes in a draft.
  func checked<State: EventSourced>(on version: Version<State>) -> RestorePlan {
    checked { (plan) throws(JournalError) in plan.result = try PlanResult(of: plan, on: version) }
  }

  /// Returns this plan with the error of `make` as its ``problem``; unchanged if it has no changes, or has conflicts.
  func checked(_ make: (inout RestorePlan) throws(JournalError) -> Void) -> RestorePlan {
    guard !isEmpty, conflicts.isEmpty else { return self }
    var plan = self
    do throws(JournalError) { try make(&plan) } catch { plan.problem = error.message }
    return plan
  }
}

/// The events of a plan on a version, and the state after these events.
struct PlanResult<State: EventSourced>: Sendable {
  let base: Version<State>
  let events: [JournalEvent]
  let state: State

  /// - Throws: ``JournalError`` if the changes can't be made, or break a rule of the model.
  init(of plan: RestorePlan, on base: Version<State>) throws(JournalError) {
    var draft = Draft(base: base, date: base.head.date)
    try draft.make(plan)
    (events, state) = try draft.finish()
    self.base = base
  }
}

/// An edit of one entity after the revision that a plan restores or reverts.
public struct LaterEdit: Hashable, Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// The date that the clock or the caller gave to the commit.
  public let clockDate: Date
  /// Who made the entry.
  public let author: String
  /// Why the entry was made.
  public let note: String
  /// Whether author and note have been erased, and are therefore empty.
  public let isAnnotationErased: Bool
  /// The entity that the edit changed.
  public let entity: EntityKey
  /// The operation on the entity.
  public let operation: JournalEvent.Operation
  /// The parts that the edit changed and that the plan would change back; empty unless the edit and the plan's change
  /// of the entity are both updates.
  public internal(set) var fields: [FieldKey]
}

extension Journal {
  /// Commits the changes of a plan as one entry. The plan must be made with this journal, another node of it, or a copy
  /// with the same history.
  /// - Parameters:
  ///   - plan: the plan.
  ///   - author: who commits the plan.
  ///   - note: why the plan is committed; by default the plan's ``RestorePlan/note``.
  ///   - date: the date of the entry, by default now.
  ///   - expecting: conditions that must still hold.
  /// - Throws: ``JournalError`` with code `conflict` if the plan has conflicts, a condition does not hold, or an entry
  ///   since the plan was made changed an entity of the plan, deleted an entity to which the plan's records refer, or
  ///   referred to an entity that the plan deletes; `wrongUse` if the plan was made for another journal; other codes as
  ///   `commit`. After `conflict` and `wrongUse`, nothing was written.
  @discardableResult
  public func commit(
    _ plan: RestorePlan, by author: String = "", note: String? = nil, date: Date? = nil,
    expecting: [Expectation] = []
  ) throws -> Commit<Void> {
    try checkIsOwn(plan)
    do {
      return try commit(
        by: author, note: note ?? plan.note, metadata: plan.metadata, date: date, expecting: expecting
      ) { draft in try draft.make(plan) }
    } catch {
      throw explained(error, plan)
    }
  }

  /// Commits the changes of a plan from a task: suspends instead of blocking a thread while the flush is in progress.
  /// Parameters and errors are those of the blocking `commit`.
  @discardableResult
  nonisolated(nonsending) public func commit(
    _ plan: RestorePlan, by author: String = "", note: String? = nil, date: Date? = nil,
    expecting: [Expectation] = []
  ) async throws -> Commit<Void> {
    // Reading the log or asking the server must not block the caller's thread.
    if !isNewest(plan) { try await read { try $0.checkIsOwn(plan) } }
    do {
      return try await commit(
        by: author, note: note ?? plan.note, metadata: plan.metadata, date: date, expecting: expecting
      ) { draft in try draft.make(plan) }
    } catch {
      throw await (try? read { $0.explained(error, plan) }) ?? error
    }
  }

  /// Whether no entry was committed since a plan was made, so that the plan is one of this journal.
  private func isNewest(_ plan: RestorePlan) -> Bool { plan.journal == id && plan.head == head }

  private func checkIsOwn(_ plan: RestorePlan) throws {
    if isNewest(plan) { return }
    var isOwn = plan.journal == id
    if isOwn {
      // The plan may build on an entry of another node that was not fetched yet.
      if plan.basis > head.revision { try catchUp() }
      // If the plan's newest entry was pruned, its digest can't be compared any more.
      isOwn = try plan.basis < format.head.revision || contains(JournalReceipt(id: id, head: plan.head))
    }
    guard isOwn else {
      throw JournalError(
        .wrongUse,
        "the plan was made for another journal, or for a copy with another history; plan it again with this journal",
        path: folder.path)
    }
  }

  /// Adds the author and the note of the conflicting entry to an error, if that entry can be read already.
  private func explained(_ error: any Error, _ plan: RestorePlan) -> any Error {
    guard let conflict = error as? JournalError, conflict.code == .conflict, let revision = conflict.revision,
      revision > plan.basis, let entry = try? entry(at: revision)
    else { return error }
    let subject = entry.note.subject
    let note = subject.isEmpty ? "" : ": \(subject)"
    return JournalError(
      .conflict,
      conflict.message + " (by \(entry.author.isEmpty ? "an unnamed author" : entry.author)\(note))",
      revision: revision)
  }
}

extension Draft {
  /// Makes the changes of a plan, after checking that no entry since the plan was made conflicts.
  mutating func make(_ plan: RestorePlan) throws(JournalError) {
    if let conflict = plan.conflicts.first {
      let name = State.name(of: conflict.entity)
      let reason =
        if case .restore(let point) = plan.action {
          "\(name) did not exist at revision \(point), and entry \(conflict.revision) added it; plan it again with "
            + "keepsNew or deletesNew"
        } else {
          "entry \(conflict.revision) changed \(name) later; plan it again with later: .keep or .override"
        }
      throw JournalError(.conflict, reason)
    }
    if let result = plan.result as? PlanResult<State>, start(with: result) { return }
    if !isBase(of: plan) { try checkNothingInterferes(with: plan) }
    for change in plan.changes {
      switch (change.old, change.new) {
      case (nil, let new?): try add(change.entity, new)
      case (_, let new?): try update(change.entity, to: new)
      case (_, nil): try delete(change.entity)
      }
    }
  }

  /// Checks that what a plan was made for is as it was then.
  private func checkNothingInterferes(with plan: RestorePlan) throws(JournalError) {
    if plan.coversEverything, revision - 1 != plan.basis {
      throw JournalError(
        .conflict,
        "entry \(revision - 1) came after this was planned at revision \(plan.basis); plan it again",
        revision: revision - 1)
    }
    if let base = chain?.base, plan.basis < base.revision {
      // The entry of an erasure since then may have been pruned, so an erasure can't be ruled out.
      throw JournalError(
        .conflict,
        "history was pruned up to revision \(base.revision) after this was planned at revision \(plan.basis); plan it "
          + "again")
    }
    if let erasure = try chain?.erasure(concerning: plan, State.self) {
      throw JournalError(
        .conflict,
        "entry \(erasure) erased content that the plan has after this was planned at revision \(plan.basis); plan it again",
        revision: erasure)
    }
    for change in plan.changes {
      try check(change.entity, isUnchangedSince: plan)
      guard state.record(of: change.entity) == change.old else {
        throw JournalError(
          .wrongUse,
          "the plan was made for a copy with another history; plan it again with this journal")
      }
      // A later entry may also have deleted an entity that a record refers to, or referred to an entity to be deleted.
      if let new = change.new {
        for reference in state.references(in: new, of: change.entity.kind)
        where state.record(of: reference) == nil {
          try check(reference, isUnchangedSince: plan)
        }
      } else {
        for referrer in state.referrers(to: change.entity) where state.revision(of: referrer) > plan.basis {
          let references = state.record(of: referrer).map { state.references(in: $0, of: referrer.kind) }
          if references?.contains(change.entity) == true { try check(referrer, isUnchangedSince: plan) }
        }
      }
    }
  }

  private func check(_ entity: EntityKey, isUnchangedSince plan: RestorePlan) throws(JournalError) {
    let found = state.revision(of: entity)
    guard found <= plan.basis else {
      if found == revision {
        throw JournalError(
          .wrongUse,
          "\(State.name(of: entity)) was changed earlier in this commit; apply the plan first, and one plan for an entity"
        )
      }
      throw JournalError(
        .conflict,
        "\(State.name(of: entity)) was changed by entry \(found) after this was planned at revision "
          + "\(plan.basis); plan it again", revision: found)
    }
  }
}

extension LayerChain {
  /// The first entry since a plan was made that erased content of the plan: an entity that the plan changes, or a note
  /// that the plan's note quotes. Nil if there is no such entry.
  fileprivate func erasure<State: EventSourced>(
    concerning plan: RestorePlan, _: State.Type
  ) throws(JournalError) -> Revision? {
    guard newestErasure > plan.basis else { return nil }
    let entities = Set(plan.changes.map(\.entity))
    let reverted = RestoreMetadata.revisions(RestoreMetadata.reverts, in: plan.metadata)
    var found: Revision?
    try readLog(after: plan.basis, through: newestErasure) { entry throws(JournalError) in
      guard found == nil, let erasure = try entry.recordedErasure(in: State.self),
        !erasure.entities.isDisjoint(with: entities) || erasure.annotations.contains(where: reverted.contains)
      else { return }
      found = entry.revision
    }
    return found
  }
}
