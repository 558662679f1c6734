import CatalogModel
import Foundation

extension Arguments {
  /// Commits a plan, unless it is a dry run or has conflicts, and reports the result.
  /// - Parameter isWhole: whether the plan covers all that was asked for.
  func carryOut(
    _ plan: RestorePlan, in journal: CatalogJournal, by author: String, isWhole: Bool = true,
    _ terminal: Terminal
  ) throws -> ExitCode {
    let isDryRun = has("--dry-run")
    let report = RestoreReport(
      plan: plan, journal: journal, isDryRun: isDryRun, isFull: has("--full"), isWhole: isWhole,
      terminal: terminal)
    var revision: Revision?
    if !isDryRun, plan.conflicts.isEmpty, !plan.isEmpty {
      let note = value("--note")
      let entry = try journal.commit(plan, by: author, note: note).revision
      terminal.output.noteDone(entry: entry)
      revision = entry
    }
    try report.print(revision, asJSON: has("--json"))
    if plan.conflicts.isEmpty { return .done }
    throw Failure(
      .no,
      "\(plan.action.refusal): later edits changed the same fields; --theirs keeps them and reverts the rest, --force "
        + "overrides them")
  }

  /// How to treat later edits of the same fields.
  func laterEdits() throws(Failure) -> LaterEdits {
    switch (has("--theirs"), has("--force")) {
    case (true, true): throw Failure(.wrongUse, "--theirs and --force exclude each other")
    case (true, false): .keep
    case (false, true): .override
    case (false, false): .refuse
    }
  }

  /// The author of the new entry.
  var author: String { value("--by") ?? NSUserName() }
}

extension RestorePlan.Action {
  fileprivate var refusal: String {
    switch self {
    case .restore: "nothing was restored"
    case .revert(let revision): "entry \(revision) was not reverted"
    case .undo(let revision): "entry \(revision) was not undone"
    case .redo(let revision): "entry \(revision) was not redone"
    }
  }
}

extension Syntax {
  static let dryRun = Option(name: "--dry-run", help: "show what would change, and write nothing")
  static let theirs = Option(
    name: "--theirs", help: "keep later edits of the same fields, and revert the rest")
  static let force = Option(name: "--force", help: "also revert later edits of the same fields")
}
