import CatalogModel
import EntitySearch
import Foundation
import JSON

extension Arguments {
  var author: String { value("--by") ?? NSUserName() }

  func laterEdits() throws(Failure) -> LaterEdits {
    switch (has("--theirs"), has("--force")) {
    case (true, true): throw Failure.wrongUse("--theirs and --force exclude each other")
    case (true, false): .keep
    case (false, true): .override
    case (false, false): .refuse
    }
  }

  /// Commits a plan, unless `--dry-run` is given, and reports the result.
  /// - Parameter isWhole: whether the plan covers everything that the user asked for.
  /// - Throws: ``Failure``, without a commit, if the plan has conflicts or would break a rule.
  func carryOut(
    _ plan: RestorePlan, in journal: CatalogJournal, isWhole: Bool = true, _ terminal: Terminal
  ) throws {
    let isDryRun = has("--dry-run")
    var revision: Revision?
    if !isDryRun, plan.conflicts.isEmpty, plan.problem == nil, !plan.isEmpty {
      let entry = try journal.commit(plan, by: author, note: value("--note")).revision
      terminal.output.noteDone(entry: entry)
      revision = entry
    }
    try terminal.answer(plan.json(revision: revision, isDryRun: isDryRun)) {
      try RestoreReport(
        plan: plan, journal: journal, isDryRun: isDryRun, isFull: has("--full"), isWhole: isWhole,
        terminal: terminal
      ).print(revision)
    }
    if let conflict = plan.conflicts.first { throw Failure.no(plan.refusal(because: conflict)) }
    if let problem = plan.problem { throw Failure.no("\(plan.words.refusal): \(problem)") }
  }
}

extension RestorePlan {
  /// The error message for a plan that has conflicts.
  fileprivate func refusal(because conflict: LaterEdit) -> String {
    guard case .restore(let revision) = action else {
      return
        "\(words.refusal): later edits changed the same fields; --theirs keeps them and reverts the rest, "
        + "--force overrides them"
    }
    let missing =
      revision == 0
      ? "nothing existed then" : "\(Catalog.name(of: conflict.entity)) did not exist at revision \(revision)"
    return "\(words.refusal): \(missing); --force deletes what was added since, --keep-new keeps it"
  }
}

extension RestorePlan {
  fileprivate var words: (progress: String, refusal: String) {
    func entries(_ revision: Revision, _ key: String) -> (name: String, verb: String) {
      guard let list = metadata[key], list != "\(revision)" else { return ("entry \(revision)", "was") }
      return ("entries \(list)", "were")
    }
    switch action {
    case .restore(let revision): return ("restoring revision \(revision)", "nothing was restored")
    case .revert(let revision): return ("reverting entry \(revision)", "entry \(revision) was not reverted")
    case .undo(let revision):
      let (name, verb) = entries(revision, "journal.undoes")
      return ("undoing \(name)", "\(name) \(verb) not undone")
    case .redo(let revision):
      let (name, verb) = entries(revision, "journal.redoes")
      return ("redoing \(name)", "\(name) \(verb) not redone")
    }
  }
}

private struct RestoreReport {
  let plan: RestorePlan
  let journal: CatalogJournal
  let isDryRun: Bool
  let isFull: Bool
  let isWhole: Bool
  let terminal: Terminal

  func print(_ revision: Revision?) throws {
    if !plan.isEmpty {
      let count = plan.changes.count.counted("entity", "entities")
      let head =
        if let revision {
          "entry \(revision) \(plan.note.printable): \(count) changed"
        } else if plan.problem != nil {
          "\(plan.words.progress) would change \(count), but would break a rule; nothing was written"
        } else if plan.conflicts.isEmpty {
          "dry run: \(plan.note.printable): \(count) would change; nothing was written"
        } else {
          "\(plan.words.progress) with --force would change \(count), but later edits conflict; nothing was written"
        }
      try terminal.line(terminal.styled(.bold, head) + "\n")
      let text = ChangeText(terminal: terminal, isFull: isFull)
      let references = references
      try print(plan.changes, upTo: 50) { for change in $0 { try text.print(change, references) } }
    } else if plan.conflicts.isEmpty {
      try terminal.line("nothing to do: everything\(isWhole ? "" : " else") is as requested already")
    }
    try printTable(plan.undoes, isDryRun ? "Later edits that it would undo:" : "Later edits that it undid:")
    try printTable(plan.conflicts, "Conflicting later edits:")
  }

  /// Passes the first `limit` elements to `body`, or all with `--full`, and prints how many were left out.
  private func print<Element>(
    _ elements: [Element], upTo limit: Int, _ body: (ArraySlice<Element>) throws -> Void
  ) throws {
    let shown = elements.prefix(isFull ? .max : limit)
    try body(shown)
    let hidden = elements.count - shown.count
    if hidden > 0 { try terminal.line("… and \(hidden.grouped) more; --full prints all") }
  }

  /// Texts of the entities to which values refer. The new text has the label that the plan gives the entity, if it
  /// does.
  private var references: ReferenceTexts {
    let labels = Labels(journal)
    let records = Dictionary(
      uniqueKeysWithValues: plan.changes.compactMap { change in change.new.map { (change.entity, $0) } })
    return ReferenceTexts(
      labels: labels, old: { try labels.reference(to: $0, at: plan.basis) },
      new: { entity in
        guard let record = records[entity] else { return try labels.reference(to: entity, at: plan.basis) }
        return Catalog.name(of: entity, labeled: Catalog.label(of: record, of: entity.kind))
      })
  }

  private func printTable(_ edits: [LaterEdit], _ title: String) throws {
    guard !edits.isEmpty else { return }
    let labels = Labels(journal)
    try terminal.line("\n\(title)")
    try print(edits, upTo: 20) { edits in
      let rows = try edits.map { edit in
        let fields = edit.fields.map { $0.name(of: edit.entity.kind).printable }
        return [
          "\(edit.revision)", terminal.text(of: edit.date), edit.authorCell(),
          try labels.name(of: edit.entity),
          edit.operation == .update ? fields.joined(separator: ", ").shortened(to: 30) : edit.operation.name,
          terminal.note(of: edit),
        ]
      }
      try TextTable.print(
        [
          .revision, .date(terminal), .flexible("AUTHOR"), .flexible("ENTITY"), .flexible("CHANGE"),
          .text("NOTE"),
        ], rows, terminal)
    }
  }
}
