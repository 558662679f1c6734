import CatalogModel
import Foundation
import TestSupport
import Testing

/// `journal snapshot`, and how other verbs use snapshots.
@Suite struct SnapshotVerbTests {
  private func journal(_ words: String...) throws -> (output: String, error: String, code: Int32) {
    let result = try run(journalPath, words)
    return (
      String(decoding: result.output, as: UTF8.self).withoutChance,
      String(decoding: result.error, as: UTF8.self), result.code
    )
  }

  @Test func aSnapshotIsTakenListedUsedAndDropped() throws {
    try withFixedJournal { path, _ in
      let none = try journal("snapshot", path)
      #expect(none.output == "there are no snapshots\n")
      #expect(none.code == 0)

      let taken = try journal("snapshot", path, "take", "--at", "2")
      #expect(taken.output.hasPrefix("took the snapshot of revision 2: 4 entities, "))
      #expect(taken.output.hasSuffix("/snapshots/0000000000000002.plist\n"))
      #expect(taken.error.isEmpty)

      let listed = try journal("snapshot", path, "list").output.split(separator: "\n")
      #expect(listed.count == 2)
      #expect(listed[0] == "REVISION  DATE (UTC)           ENTITIES  BYTES  STATE")
      #expect(listed[1].contains(/^ +2  2026-08-02 11:30:00 +4  [0-9,]+  whole$/))

      let stat = try journal("stat", path).output
      #expect(stat.contains(/snapshots     [0-9,]+ bytes in 1 file, the newest of revision 2\n/))
      let verified = try journal("verify", path, "--deep")
      #expect(
        verified.output.hasPrefix("3 entries, 7 events, 1 blob, 0 layers and 1 snapshot read: all is well"))

      let dropped = try journal("snapshot", path, "drop", "2")
      #expect(dropped.output == "dropped the snapshot of revision 2\n")
      let again = try journal("snapshot", path, "drop", "2")
      #expect(again.code == 1)
      #expect(again.error.contains("there is no snapshot of that revision"))
    }
  }

  @Test func aSnapshotAsJSONSaysWhereItIs() throws {
    try withFixedJournal { path, _ in
      let taken = try run(journalPath, ["snapshot", path, "take", "--json"])
      let listed = try run(journalPath, ["snapshot", path, "list", "--json"])
      #expect(taken.output == listed.output)
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(listed.output)) as? [String: Any])
      #expect(object["revision"] as? Int == 3)
      #expect(object["problem"] is NSNull)
      let file = try #require(object["path"] as? String)
      #expect(try Data(contentsOf: URL(filePath: file)).count == object["byteCount"] as? Int)
    }
  }

  @Test func aReplayIsTheSameFromASnapshotAndFromTheStart() throws {
    try withFixedJournal { path, _ in
      let before = try journal("replay", path, "--json")
      _ = try journal("snapshot", path, "take", "--at", "2")
      _ = try journal("snapshot", path, "take")
      #expect(try journal("replay", path, "--json").output == before.output)
      #expect(try journal("replay", path, "--json", "--from-start").output == before.output)
    }
  }

  @Test func aDamagedSnapshotIsReportedAndTheAnswerIsRight() throws {
    try withFixedJournal { path, _ in
      let before = try journal("replay", path, "--json")
      _ = try journal("snapshot", path, "take")
      func damage(_ name: String, _ change: (inout Data) -> Void) throws -> (file: URL, whole: Data) {
        let file = URL(filePath: "\(path)/snapshots/\(name).plist")
        let whole = try Data(contentsOf: file)
        var bytes = whole
        change(&bytes)
        try bytes.write(to: file)
        return (file, whole)
      }
      // Opening reads the layer that was written with the snapshot, and only the size of the snapshot.
      let layer = try damage("0000000000000000-0000000000000003") { $0[$0.count - 5] ^= 1 }
      let cut = try damage("0000000000000003") { $0.removeLast() }
      let after = try journal("replay", path, "--json")
      #expect(after.output == before.output)
      #expect(after.code == 0)
      #expect(after.error.contains("the layer is damaged"))
      #expect(after.error.contains("the snapshot has"))
      #expect(after.error.contains("the answer does not depend on it"))
      for (file, whole) in [layer, cut] { try whole.write(to: file) }

      _ = try damage("0000000000000003") { $0[$0.count - 5] ^= 1 }
      #expect(try journal("replay", path, "--json").output == before.output)
      let listed = try journal("snapshot", path, "list")
      #expect(listed.code == 1)
      let verified = try journal("verify", path)
      #expect(verified.code == 1)
      #expect(verified.output.contains("0000000000000003.plist"))
      #expect(verified.output.contains("1 snapshot read: no data is missing or altered"))
      #expect(verified.error.contains("That costs time, but no data"), "\(verified.error)")
      #expect(try journal("snapshot", path, "drop", "3").code == 0)
      #expect(try journal("verify", path).code == 0)
    }
  }

  /// Openings replayed whatever verbs had committed.
  @Test func aVerbThatCommitsMuchLeavesALayer() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(
        at: URL(fileURLWithPath: path), options: JournalOptions(layers: .manual))
      let books = try made.commit { draft in
        try (1...2000).map { try draft.addItem(kind: "book", attributes: ["stars": .integer($0)]) }
      }.value
      try made.commit { draft in
        for book in books { try draft.updateItem(book, set: ["stars": 0]) }
      }
      try made.close()
      #expect(try journal("stat", path).output.contains("replayed      4,000 events at opening"))
      #expect(try journal("revert", path, "2").code == 0)
      #expect(try journal("stat", path).output.contains("replayed      0 events at opening"))
      #expect(try journal("verify", path, "--deep").code == 0)
    }
  }

  @Test func unknownArgumentsOfSnapshotAreWrongUse() throws {
    try withFixedJournal { path, _ in
      for words in [
        ["make"], ["drop"], ["drop", "soon"], ["list", "3"], ["list", "--at", "1"], ["take", "--at", "soon"],
      ] {
        let result = try run(journalPath, ["snapshot", path] + words)
        #expect(result.code == 2, "\(words)")
        #expect(result.output.isEmpty, "\(words)")
      }
      #expect(try run(journalPath, ["snapshot", path, "take", "--at", "0"]).code == 2)
    }
  }
}
