import CatalogModel
import Foundation
import JSON

/// Prints what a restore, a revert or an undo would do or has done.
struct RestoreReport {
  let plan: RestorePlan
  let journal: CatalogJournal
  let isDryRun: Bool
  let isFull: Bool
  /// Whether the plan covers all that was asked for.
  let isWhole: Bool
  let terminal: Terminal

  private static let shownChanges = 50
  private static let shownEdits = 20

  /// - Parameter revision: of the new entry; nil if there is none.
  func print(_ revision: Revision?, asJSON: Bool) throws {
    if asJSON { try printJSON(revision) } else { try printText(revision) }
  }

  private func printJSON(_ revision: Revision?) throws {
    var writer = JSONWriter()
    writer.beginObject()
    plan.writeMembers(to: &writer, revision: revision, isDryRun: isDryRun)
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }

  private func printText(_ revision: Revision?) throws {
    let output = terminal.output
    if plan.isEmpty {
      if plan.conflicts.isEmpty {
        try output.line("nothing to do: everything\(isWhole ? "" : " else") is as requested already")
      }
    } else {
      let count = plan.changes.count.counted("entity", "entities")
      let head =
        if let revision {
          "entry \(revision) \(plan.note.printable): \(count) changed"
        } else if plan.conflicts.isEmpty {
          "dry run: \(plan.note.printable): \(count) would change; nothing was written"
        } else {
          "\(plan.action.progress) would change \(count), but later edits conflict; nothing was written"
        }
      try output.line(terminal.styled(.bold, head))
      try output.line()
      let text = ChangeText(terminal: terminal, isFull: isFull)
      let references = references
      for change in plan.changes.prefix(isFull ? .max : Self.shownChanges) {
        try text.print(change, references)
      }
      let hidden = plan.changes.count - Self.shownChanges
      if hidden > 0, !isFull { try output.line("… and \(hidden.grouped) more; --full prints all") }
    }
    try printTable(plan.undoes, isDryRun ? "Later edits that it would undo:" : "Later edits that it undid:")
    try printTable(plan.conflicts, "Conflicting later edits:")
  }

  /// What values refer to may be restored by the same plan.
  private var references: ReferenceTexts {
    let labels = Labels(journal)
    let records = Dictionary(
      uniqueKeysWithValues: plan.changes.compactMap { change in change.new.map { (change.entity, $0) } })
    return ReferenceTexts(
      old: { try labels.reference(to: $0, at: plan.basis) },
      new: { entity in
        guard let record = records[entity] else { return try labels.reference(to: entity, at: plan.basis) }
        return Catalog.name(of: entity, labeled: Catalog.label(of: record, of: entity.kind))
      })
  }

  private func printTable(_ edits: [LaterEdit], _ title: String) throws {
    guard !edits.isEmpty else { return }
    let labels = Labels(journal)
    let rows = try edits.prefix(isFull ? .max : Self.shownEdits).map { edit in
      let fields = edit.fields.map { EntityPart.name(of: $0, of: edit.entity.kind).printable }
      return [
        "\(edit.revision)", terminal.text(of: edit.date), edit.authorCell(), try labels.name(of: edit.entity),
        edit.operation == .update ? fields.joined(separator: ", ").shortened(to: 30) : edit.operation.name,
        terminal.note(of: edit),
      ]
    }
    let columns = [
      TextTable.Column(title: "REVISION", alignment: .right, style: .yellow),
      TextTable.Column(title: terminal.dateTitle), TextTable.Column(title: "AUTHOR", isFlexible: true),
      TextTable.Column(title: "ENTITY", isFlexible: true),
      TextTable.Column(title: "CHANGE", isFlexible: true), TextTable.Column(title: "NOTE"),
    ]
    try terminal.output.line()
    try terminal.output.line(title)
    try TextTable.print(columns, rows, isCut: true, terminal)
    let hidden = edits.count - rows.count
    if hidden > 0 { try terminal.output.line("… and \(hidden.grouped) more; --full prints all") }
  }
}

extension RestorePlan.Action {
  /// Its name while it is not done.
  fileprivate var progress: String {
    switch self {
    case .restore(let revision): "restoring revision \(revision)"
    case .revert(let revision): "reverting entry \(revision)"
    case .undo(let revision): "undoing entry \(revision)"
    case .redo(let revision): "redoing entry \(revision)"
    }
  }
}
