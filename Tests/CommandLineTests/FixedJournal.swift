import CatalogModel
import Foundation
import TestSupport

/// A small journal with fixed dates, whose digests and identity alone differ from one run to the next.
func makeFixedJournal(_ folder: TemporaryFolder) throws -> String {
  let path = folder.path("Finds.journal")
  let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
  func date(_ text: String) -> Date? { Timestamp(text)?.date }
  let blob = try journal.blobs.add(Data("hello".utf8))
  try journal.commit(by: "ana", note: "first find", date: date("2026-08-01T10:00:00Z")) { draft in
    let cups = try draft.addCategory(name: "Cups", color: Catalog.Color(hex: "#FF8000FF"))
    try draft.addItem(
      kind: "find", category: cups, attributes: ["name": .string("blue cup"), "age": .integer(200)])
    try draft.addItem(kind: "place", attributes: ["name": .string("the \u{1B}[31mred\nfield")])
  }
  try journal.commit(
    by: "ben", note: "a photo\n\nand its age", metadata: ["device": "phone"],
    date: date("2026-08-02T11:30:00.25Z")
  ) { draft in
    try draft.addImage(to: 1, name: "cup.png", mediaType: "image/png", blob: blob)
    try draft.updateItem(1, set: ["age": .double(212.5), "found": .date(Date(timeIntervalSince1970: 0))])
  }
  try journal.commit(by: "ana", note: "no place after all", date: date("2026-08-03T00:00:00Z")) { draft in
    try draft.deleteItem(2)
    try draft.updateItem(1, remove: ["found"])
  }
  try journal.close()
  return path
}

extension String {
  /// The text with everything replaced that chance decides.
  var withoutChance: String {
    replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "<id>")
      .replacing(/(digest":"|digest +|Digest:  )[0-9a-f]{16,64}/) { "\($0.output.1)<digest>" }
      .replacing(/(log +|logByteCount":|about |"entries":3,"byteCount":)[0-9]+(,[0-9]{3})*/) {
        "\($0.output.1)<n>"
      }
  }
}
