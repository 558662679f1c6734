import CatalogModel
import Foundation
import TestSupport
import Testing

/// A small journal with fixed dates. Only its digests and its identity differ between runs.
func makeFixedJournal(_ folder: TemporaryFolder) throws -> String {
  let path = folder.path("Finds.journal")
  let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
  try commitFinds(
    to: journal, place: "the \u{1B}[31mred\nfield", metadata: ["device": "phone"],
    lastDate: "2026-08-03T00:00:00Z")
  try journal.close()
  return path
}

func withFixedJournal<Result>(
  _ body: (_ path: String, _ folder: TemporaryFolder) throws -> Result
) throws -> Result {
  try withTemporaryFolder { folder in try body(try makeFixedJournal(folder), folder) }
}

/// Three entries by two authors: two items of which one is deleted again, a category and an image.
func commitFinds(
  to journal: CatalogJournal, place: String, metadata: [String: String], lastDate: String
) throws {
  func date(_ text: String) -> Date? { Timestamp(text)?.date }
  let blob = try journal.blobs.add(Data("hello".utf8))
  try journal.commit(by: "ana", note: "first find", date: date("2026-08-01T10:00:00Z")) { draft in
    let cups = try draft.addCategory(name: "Cups", color: Catalog.Color(hex: "#FF8000FF"))
    try draft.addItem(
      kind: "find", category: cups, attributes: ["name": .string("blue cup"), "age": .integer(200)])
    try draft.addItem(kind: "place", attributes: ["name": .string(place)])
  }
  try journal.commit(
    by: "ben", note: "a photo\n\nand its age", metadata: metadata,
    date: date("2026-08-02T11:30:00.25Z")
  ) { draft in
    try draft.addImage(to: 1, name: "cup.png", mediaType: "image/png", blob: blob)
    try draft.updateItem(1, set: ["age": .double(212.5), "found": .date(Date(timeIntervalSince1970: 0))])
  }
  try journal.commit(by: "ana", note: "no place after all", date: date(lastDate)) { draft in
    try draft.deleteItem(2)
    try draft.updateItem(1, remove: ["found"])
  }
}

/// Runs a verb on a journal, and expects all that it prints, except for what differs between runs.
func expect(
  _ words: [String], in path: String, prints expected: String, says message: String = "", code: Int32 = 0,
  location: SourceLocation = #_sourceLocation
) throws {
  let outcome = try journal([words[0], path] + words.dropFirst())
  #expect(
    outcome.output.withoutChance == (expected.isEmpty ? "" : expected + "\n"), sourceLocation: location)
  #expect(outcome.error == (message.isEmpty ? "" : message + "\n"), sourceLocation: location)
  #expect(outcome.code == code, sourceLocation: location)
}

extension String {
  /// The text without what differs between runs: digests, identities and sizes of logs.
  var withoutChance: String {
    replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "<id>")
      .replacing(/(digest":"|digest +|Digest:  )[0-9a-f]{16,64}/) { "\($0.output.1)<digest>" }
      .replacing(/(log +|logByteCount":|about |"entries":3,"byteCount":)[0-9]+(,[0-9]{3})*/) {
        "\($0.output.1)<n>"
      }
  }
}
