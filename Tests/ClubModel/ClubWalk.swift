package import CatalogModel
package import TestSupport

/// What a way into a journal has answered.
package enum ClubAnswer: Equatable {
  case done
  /// There was nothing to do.
  case nothing
  case conflict
  /// A rule would be broken: the message.
  case rejected(String)
}

/// What takes something back.
package enum ClubRequest {
  case undo
  case redo
  case revert(Revision)
  case restore([EntityKey], asOf: Revision)
  case restoreAll(asOf: Revision)

  package var name: String {
    switch self {
    case .undo: "undo"
    case .redo: "redo"
    case .revert: "revert"
    case .restore: "restore"
    case .restoreAll: "restoreAll"
    }
  }

  /// The plan of an open journal; nil if there is nothing to plan.
  func plan(_ journal: CatalogJournal, by author: String, _ later: LaterEdits) throws -> RestorePlan? {
    switch self {
    case .undo: return try journal.planUndo(by: author, later: later)
    case .redo: return try journal.planRedo(by: author, later: later)
    case .revert(let revision): return try journal.planRevert(of: revision, later: later)
    case .restore(let items, let point):
      return try journal.planRestore(
        of: .entities(items), asOf: .revision(point), keepsNew: later == .keep, deletesNew: later == .override
      )
    case .restoreAll(let point):
      return try journal.planRestore(
        of: .everything, asOf: .revision(point), keepsNew: later == .keep, deletesNew: later == .override)
    }
  }
}

/// A way into a journal of a club.
package protocol ClubDoor {
  func commit(_ changes: [ClubChange], by author: String, group: String?) throws -> ClubAnswer
  /// - Parameter plan: what the library plans for the same request.
  func carryOut(
    _ request: ClubRequest, by author: String, _ later: LaterEdits, _ plan: RestorePlan?
  ) throws -> ClubAnswer
}

/// The library itself.
extension Journal: ClubDoor where State == Catalog {
  package func commit(_ changes: [ClubChange], by author: String, group: String?) throws -> ClubAnswer {
    try answer {
      try commit(by: author, metadata: group.map { ["journal.group": $0] } ?? [:]) { draft in
        for change in changes { try change.make(in: &draft) }
      }
    }
  }

  package func carryOut(
    _ request: ClubRequest, by author: String, _ later: LaterEdits, _ plan: RestorePlan?
  ) throws -> ClubAnswer {
    guard let plan else { return .nothing }
    return try answer { try commit(plan, by: author) }
  }

  private func answer(_ body: () throws -> Commit<Void>) throws -> ClubAnswer {
    do { return try body().isEmpty ? .nothing : .done } catch let error as JournalError {
      switch error.code {
      case .rejected: return .rejected(error.message)
      case .conflict: return .conflict
      default: throw error
      }
    }
  }
}

/// A random history of several authors, in which each answer is compared with what the naive club predicts.
package struct ClubWalk {
  package private(set) var counts: [String: Int] = [:]
  package var random: SeededGenerator
  private var history = ClubHistory()

  package init(_ random: SeededGenerator) { self.random = random }

  /// Makes a random step.
  /// - Returns: what is wrong with it.
  package mutating func step(_ journal: CatalogJournal, through door: some ClubDoor) throws -> [String] {
    let author = ["ana", "bob", "eve"].randomElement(using: &random)!
    let before = journal.version
    try history.read(journal)
    var problems: [String]
    if let request = randomRequest(before) {
      let later = [LaterEdits.refuse, .refuse, .keep, .override].randomElement(using: &random)!
      problems = try carryOut(request, by: author, later, journal, before.state, door)
      problems = problems.map { "\(request) by \(author), \(later): \($0)" }
    } else {
      let (changes, after) = Club(before.state).randomChanges(&random)
      let group = random.chance(1, in: 3) ? "typing" : nil
      let answer = try door.commit(changes, by: author, group: group)
      problems = []
      switch (answer, after) {
      case (.rejected, nil): count("rejected")
      case (.done, let after?), (.nothing, let after?):
        count("commit")
        if Club(journal.state).items != after.items { problems.append("the items differ: \(changes)") }
      default: problems.append("\(answer) to \(changes), expected: \(after == nil ? "rejected" : "done")")
      }
    }
    problems += Club(journal.state).broken()
    return problems.map { "revision \(before.revision + 1): \($0)" }
  }

  private mutating func count(_ action: String) { counts[action, default: 0] += 1 }

  private mutating func randomRequest(_ before: Version<Catalog>) -> ClubRequest? {
    // What others have declared can't be taken back.
    guard before.revision > 1 else { return nil }
    let point = max(1, before.revision - Int.random(in: 0..<20, using: &random))
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1: return .undo
    case 2: return .redo
    case 3: return .revert(Int.random(in: 2...before.revision, using: &random))
    case 4:
      let items = (0...Int.random(in: 0..<3, using: &random)).map { _ in
        EntityKey.item(Int.random(in: 1...max(before.state.itemTable.highest, 1), using: &random))
      }
      let known = items.filter { before.state.revision(of: $0) > 0 }
      return known.isEmpty ? nil : .restore(known, asOf: point)
    case 5 where random.chance(1, in: 4): return .restoreAll(asOf: point)
    default: return nil
    }
  }

  private mutating func carryOut(
    _ request: ClubRequest, by author: String, _ later: LaterEdits, _ journal: CatalogJournal,
    _ before: Catalog, _ door: some ClubDoor
  ) throws -> [String] {
    let plan = try request.plan(journal, by: author, later)
    let own = ClubHistory.revisions(plan?.metadata["journal.reverts"])
    let answer = try door.carryOut(request, by: author, later, plan)
    guard let plan else { return answer == .nothing ? [] : ["\(answer) to nothing"] }
    let after = journal.state
    let isUnchanged = Club(after).items == Club(before).items
    if !plan.conflicts.isEmpty {
      count("\(request.name) in conflict")
      var problems = history.problems(ofConflicts: plan.conflicts, takingBack: own)
      if answer != .conflict || !isUnchanged { problems.append("\(answer) to a conflict") }
      if !history.hasOthers(since: own) { problems.append("nothing came after \(own.sorted())") }
      return problems
    }
    if let problem = plan.problem {
      count("\(request.name) with a problem")
      let isNamed = problem.contains("item:") && problem.contains("rule:")
      return answer == .rejected(problem) && isNamed && isUnchanged ? [] : ["\(answer) to: \(problem)"]
    }
    guard answer == (plan.isEmpty ? .nothing : .done) else { return ["\(answer) to \(plan.changes)"] }
    count(request.name)
    var problems: [String] = []
    for change in plan.changes where after.record(of: change.entity) != change.new {
      problems.append("\(change.entity) is not as planned")
    }
    switch request {
    case .restore(let items, let point):
      let past = try journal.state(asOf: .revision(point))
      for item in items {
        guard let then = past.item(EntityID(item.number)), let now = after.item(EntityID(item.number)) else {
          continue
        }
        if later != .keep, now["name"] != then["name"] || now["shirt"] != then["shirt"] {
          problems.append("\(item) is not as of \(point)")
        }
      }
    case .restoreAll(let point):
      let past = Club(try journal.state(asOf: .revision(point)))
      if later != .keep, Club(after).items != past.items { problems.append("it is not as of \(point)") }
    case .undo, .redo, .revert:
      if later == .override { break }
      problems += try history.problems(
        takingBack: own, isExact: later == .refuse, in: journal, from: before, to: after)
    }
    return problems
  }
}
