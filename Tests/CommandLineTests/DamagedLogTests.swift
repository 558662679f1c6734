import CatalogModel
import Foundation
import Journaling
import LevelDB
import TestSupport
import Testing

/// Damage to the log as a user of the command line meets it.
@Suite struct DamagedLogTests {
  @Test func afterAManifestLostItsLastByteTheNextWritingVerbDestroysNothing() throws {
    try withLargeJournal { path in
      let entries = "\(path)/entries"
      let name = try #require(
        FileManager.default.contentsOfDirectory(atPath: entries).first { $0.hasPrefix("MANIFEST-") })
      let manifest = URL(filePath: "\(entries)/\(name)")
      let whole = try Data(contentsOf: manifest)
      try whole.dropLast().write(to: manifest)
      let before = try contents(of: entries)
      let verified = try journal("verify", path)
      #expect(verified.code != 0)
      for _ in 1...2 {
        let outcome = try journal("snapshot", path, "take")
        #expect(outcome.code != 0)
        #expect(outcome.error.contains("revision "))
        #expect(try contents(of: entries) == before)
      }
      try whole.write(to: manifest)
      #expect(try journal("snapshot", path, "take").code == 0)
      #expect(try journal("verify", path).code == 0)
    }
  }

  /// Some of them stopped the journal, and a dated log of another program became the journal's log.
  @Test(arguments: [
    "18446744073709551615.log", "18446744073709551615.ldb", "2.ldb", "2.sst", "7.log", "MANIFEST-1",
    "3.dbtmp",
    "000000007.ldb", "99999999999998.log", "20261128101500.log", "20261128.log",
  ]) func filesWithNumbersThatLevelDBDoesNotGiveAreLeftAlone(name: String) throws {
    try withFixedJournal { path, _ in
      let file = URL(filePath: "\(path)/entries/\(name)")
      for content in [Data(), Data("a note\n".utf8)] {
        try content.write(to: file)
        for verb in [["log", path], ["verify", path], ["stat", path], ["snapshot", path, "take"]] {
          #expect(try journal(verb).code == 0, "\(verb)")
        }
        for _ in 1...2 { #expect(try journal("tag", path, "a\(UUID())").code == 0) }
        #expect(try journal("verify", path, "--deep").code == 0)
        #expect(try Data(contentsOf: file) == content)
      }
    }
  }

  @Test func aFileSizeLimitIsAnErrorAndDoesNotEndTheProcess() throws {
    try withLargeJournal { path in
      let outcome = try run(
        "sh", ["-c", "ulimit -f 64; exec \"$0\" snapshot \"$1\" take", journalPath, path])
      #expect(outcome.code == 3 || outcome.code == 1)
      #expect(String(decoding: outcome.error, as: UTF8.self).hasPrefix("journal: "))
      #expect(try journal("verify", path).code == 0)
    }
  }

  /// The verb failed, although all that it counts could be read.
  @Test func statAnswersIfTheFirstEntryCanNotBeRead() throws {
    try withLargeJournal { path in
      #expect(try journal("stat", path).output.contains(/first entry +2[0-9]{3}-/))
      let database = try Database(path: "\(path)/entries", access: .existing)
      let key = [UInt8(ascii: "e"), 0, 0, 0, 0, 0, 0, 0, 1]
      try database.write([(key, Array("no entry".utf8))], sync: true)
      database.close()
      #expect(try journal("show", path, "1").code == 3)
      let stat = try journal("stat", path)
      #expect(stat.code == 0, "\(stat.error)")
      #expect(
        stat.output.contains("first entry   (its date can't be read)\nnewest entry  2"), "\(stat.output)")
      let json = try journal("stat", path, "--json")
      #expect(json.code == 0, "\(json.error)")
      #expect(json.output.contains("\"revision\":100,\"firstDate\":null,\"date\":\"2"), "\(json.output)")
    }
  }

  /// The verb used to print only the items that could be read, with an exit code that said that these were all.
  @Test func anAnswerIsAnErrorIfPartsAreNeitherInTheSnapshotNorInTheLog() throws {
    try withLargeJournal { path in
      #expect(try journal("find", path).code == 0)
      try alterAnOldEntry(of: path)
      #expect(try journal("find", path).code == 0)
      let snapshots = "\(path)/snapshots"
      for name in try FileManager.default.contentsOfDirectory(atPath: snapshots)
      where name.hasSuffix(".plist") {
        let file = URL(filePath: "\(snapshots)/\(name)")
        var bytes = try Data(contentsOf: file)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: file)
      }
      let found = try check("find", path, code: 3)
      #expect(found.error.contains("neither from its layers nor from the log"))
      #expect(!found.error.contains("does not depend on it"))
    }
  }

  /// The bytes of each file in a folder.
  private func contents(of folder: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      contents[name] = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
    }
    return contents
  }
}

/// Makes a journal of 100 large entries and a snapshot. The log has tables, because it exceeds LevelDB's write buffer.
func withLargeJournal(_ body: (_ path: String) throws -> Void) throws {
  try withTemporaryFolder { folder in
    let url = folder.url.appending(path: "Large.journal")
    let journal = try CatalogJournal.create(at: url)
    var bytes = SystemRandomNumberGenerator()
    for _ in 1...100 {
      let text = (0..<6_000).map { _ in String(bytes.next(), radix: 16) }.joined()
      try journal.commit { try $0.addItem(kind: "note", attributes: ["text": .string(text)]) }
    }
    try journal.takeSnapshot()
    // Closing would write less.
    journal.waitForLayers()
    try journal.close()
    try body(url.path)
  }
}

/// Removes the snapshots of a large journal and alters an entry in its first half, so that it does not open.
func damageAnOldEntry(of path: String) throws {
  let snapshots = "\(path)/snapshots"
  for name in try FileManager.default.contentsOfDirectory(atPath: snapshots) {
    try FileManager.default.removeItem(atPath: "\(snapshots)/\(name)")
  }
  try alterAnOldEntry(of: path)
}

/// Alters an entry in the first half of a large journal.
private func alterAnOldEntry(of path: String) throws {
  // Past the first block, which opening reads to learn where the table begins.
  try alter(path) { $0 / 3 }
}

/// Alters a byte of the oldest table of a large journal, whose place `place` takes from its size.
private func alter(_ path: String, at place: (Int) -> Int) throws {
  let table = try #require(try entryTables(of: URL(filePath: path)).first)
  var bytes = try Data(contentsOf: table)
  bytes[place(bytes.count)] ^= 1
  try bytes.write(to: table)
}
