// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

/// The program of Documentation/Undo.md.
func undoInAMenu() throws {
  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Board.journal"))
  let card = try journal.commit(by: "ana", note: "add a card") { draft in
    try draft.addItem(kind: "card", attributes: ["title": .string("Ship"), "x": .integer(0)])
  }.value
  // A drag: many commits, one step.
  let drag = UUID().uuidString
  for x in [40, 80, 120] {
    try journal.commit(by: "ana", note: "move the card", metadata: ["journal.group": drag]) { draft in
      try draft.updateItem(card, set: ["x": .integer(Int64(x))])
    }
  }
  print(try journal.entryToUndo(by: "ana")?.note ?? "nothing to undo")
  if let plan = try journal.planUndo(by: "ana") { try journal.commit(plan, by: "ana") }
  print(journal.state.item(card)?["x"] ?? .null)
  print(try journal.entryToRedo(by: "ana")?.note ?? "nothing to redo")
  if let plan = try journal.planRedo(by: "ana") { try journal.commit(plan, by: "ana") }

  // Bob changes what Ana wants to undo.
  try journal.commit(by: "ana", note: "rename") { try $0.updateItem(card, set: ["title": .string("Ship it")]) }
  try journal.commit(by: "bob") { try $0.updateItem(card, set: ["title": .string("Ship on Friday")]) }
  if let plan = try journal.planUndo(by: "ana") {
    print(plan.conflicts.map(\.author))
  }
}

func undoOfPage(_ journal: CatalogJournal) async throws -> RestorePlan? {
  try await journal.read { try $0.planUndo(by: "ana") }
}

func changedUndo(_ journal: CatalogJournal) throws {
  guard let plan = try journal.planUndo(by: "ana") else { return }
  try journal.commit(by: "ana") { draft in
    try draft.apply(plan)
    try draft.addItem(kind: "reminder", attributes: ["text": .string("tell Bob")])
  }
}
