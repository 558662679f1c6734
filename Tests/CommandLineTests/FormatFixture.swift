import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// The frozen journals in `Tests/Corpus/journals`. What is read from a format now must be what was always read from it.
enum FormatFixture {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Corpus/journals/format2").standardizedFileURL

  /// What is wrong with a journal, and how it is found.
  struct Damage: Codable, Equatable {
    enum Finder: String, Codable {
      /// Opening, which then leaves the journal unchanged.
      case opening
      /// Verifying, or opening with `checking: .everything`.
      case verifying
    }

    var finder: Finder
    var code: String
    /// The first revision that is missing or altered.
    var revision: Int?
    /// The file, in the journal's folder.
    var path: String?
  }

  /// The names of the journals in a folder.
  static func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".journal") }
      .map { String($0.dropLast(".journal".count)) }.sorted()
  }

  /// What the command line says about a sound journal: its entries and its state, as lines of JSON.
  static func said(of url: URL) throws -> String {
    var said = ""
    for verb in ["log", "replay"] {
      let outcome = try journal(verb, url.path, "--json")
      #expect(outcome.code == 0, "\(verb): \(outcome.error)")
      said += outcome.output
    }
    return said
  }

  /// What opening or verifying finds wrong with a journal.
  static func damage(of url: URL) throws -> Damage {
    func damage(_ finder: Damage.Finder, _ error: JournalError) -> Damage {
      let path = error.path.map {
        $0.hasPrefix(url.path + "/") ? String($0.dropFirst(url.path.count + 1)) : $0
      }
      return Damage(
        finder: finder, code: error.code.rawValue, revision: error.revision,
        path: path == url.path ? nil : path)
    }
    do {
      try CatalogJournal.open(at: url, mode: .readOnly).close()
    } catch let error as JournalError {
      return damage(.opening, error)
    }
    let error = #expect(throws: JournalError.self) {
      try CatalogJournal.open(at: url, mode: .readOnly, checking: .everything).close()
    }
    return damage(.verifying, try #require(error))
  }

  /// Calls `body` with a copy of a journal of the corpus.
  static func withCopy(of url: URL, _ body: (URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let copy = folder.url.appending(path: url.lastPathComponent)
      try FileManager.default.copyItem(at: url, to: copy)
      try body(copy)
    }
  }
}

/// Format 2 is frozen: journals that were written in it are read as they were then, and damage is found as it was.
@Suite struct FormatFixtureTests {
  private static let folder = FormatFixture.folder

  @Test func aFrozenJournalIsReadExactlyAsWhenItWasFrozen() throws {
    let names = try FormatFixture.names(in: Self.folder)
    #expect(names == ["Backup", "Empty", "Erased", "Finds", "Pruned", "TornEnd"])
    for name in names {
      try FormatFixture.withCopy(of: Self.folder.appending(path: name + ".journal")) { url in
        let before = try contents(of: url)
        let expected = try String(contentsOf: Self.folder.appending(path: name + ".json"), encoding: .utf8)
        #expect(try FormatFixture.said(of: url) == expected, "\(name)")
        #expect(try contents(of: url) == before, "\(name)")
      }
    }
  }

  @Test func aFrozenJournalIsSoundAndTakesCommits() throws {
    for name in try FormatFixture.names(in: Self.folder) {
      try FormatFixture.withCopy(of: Self.folder.appending(path: name + ".journal")) { url in
        let expected = try String(contentsOf: Self.folder.appending(path: name + ".json"), encoding: .utf8)
        let journal = try CatalogJournal.open(at: url, checking: .everything)
        let head = journal.head
        try journal.commit(by: "eve") { try $0.addItem(kind: "find") }
        let found = try journal.verify(.deep)
        #expect(found.isSound && found.head?.revision == head.revision + 1, "\(name): \(found.problems)")
        #expect(try journal.entry(at: head.revision + 1).previousDigest == head.digest)
        try journal.close()
        // The earlier entries are unchanged.
        let lines = try FormatFixture.said(of: url).split(separator: "\n")
        let entries = expected.split(separator: "\n").filter { $0.contains(#""events":"#) }
        let first = journal.base?.revision ?? 0
        #expect(entries.count == head.revision - first && entries.allSatisfy(lines.contains), "\(name)")
      }
    }
  }

  @Test(arguments: [
    "goleveldb-compacted", "goleveldb-recovered", "goleveldb-written", "iq80", "leveldb-repaired",
  ])
  func aFrozenJournalWhoseLogAnotherLevelDBHasRewrittenIsWhole(_ name: String) throws {
    let expected = try String(contentsOf: Self.folder.appending(path: "Finds.json"), encoding: .utf8)
    try FormatFixture.withCopy(of: Self.folder.appending(path: "Finds.journal")) { url in
      let entries = url.appending(path: "entries")
      try FileManager.default.removeItem(at: entries)
      try FileManager.default.copyItem(at: Self.folder.appending(path: "touched/\(name)"), to: entries)
      let saved = url.deletingLastPathComponent().appending(path: "Saved.journal")
      for words in [["verify"], ["doctor"], ["salvage", "--to", saved.path]] {
        let outcome = try journal([words[0], url.path] + words.dropFirst())
        #expect(outcome.code == 0, "\(words): \(outcome.output)\(outcome.error)")
      }
      for place in [url, saved] {
        #expect(try FormatFixture.said(of: place) == expected)
        let writing = try CatalogJournal.open(at: place)
        try writing.commit(by: "eve") { try $0.addItem(kind: "find") }
        #expect(try writing.verify(.deep).isSound)
        try writing.close()
      }
    }
  }

  @Test func frozenBackupsAreReadAsWhenTheyWereFrozen() throws {
    let finds = Self.folder.appending(path: "Finds.journal")
    let expected = try String(contentsOf: Self.folder.appending(path: "Finds.json"), encoding: .utf8)
    try withTemporaryFolder { folder in
      let restored = folder.url.appending(path: "Restored.journal")
      try CatalogJournal.create(
        at: restored, fromBackup: Self.folder.appending(path: "Finds.backup"), progress: { _ in })
      #expect(try FormatFixture.said(of: restored) == expected)
      let original = try CatalogJournal.open(at: finds, mode: .readOnly)
      let backup = try CatalogJournal.open(at: Self.folder.appending(path: "Backup.journal"), mode: .readOnly)
      #expect(backup.head == original.head)
      let receipt = try #require(try backup.backupReceipt())
      #expect(receipt.journal == original.id && receipt.digest == original.head.digest)
    }
  }

  @Test func damageInFrozenJournalsIsFoundAsBeforeAndOpeningLeavesThemUnchanged() throws {
    let folder = Self.folder.appending(path: "damaged")
    let expected = try JSONDecoder().decode(
      [String: FormatFixture.Damage].self, from: Data(contentsOf: Self.folder.appending(path: "damaged.json"))
    )
    #expect(try FormatFixture.names(in: folder) == expected.keys.sorted())
    for (name, damage) in expected {
      try FormatFixture.withCopy(of: folder.appending(path: name + ".journal")) { url in
        #expect(try FormatFixture.damage(of: url) == damage, "\(name)")
        guard damage.finder == .opening else { return }
        let before = try contents(of: url)
        let error = #expect(throws: JournalError.self) { try CatalogJournal.open(at: url) }
        #expect(error?.code.rawValue == damage.code && error?.revision == damage.revision, "\(name)")
        #expect(try contents(of: url) == before, "\(name)")
        // The command line says where. (`log` reads the newest entries first, and stops at the first that is missing.)
        let outcome = try journal("replay", url.path)
        #expect(outcome.code == 3 && outcome.output.isEmpty, "\(name)")
        if let revision = damage.revision {
          #expect(outcome.error.contains("revision \(revision)"), "\(name)")
        }
      }
    }
  }

  private func contents(of folder: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let url = folder.appending(path: name)
      guard try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory != true else { continue }
      contents[name] = try Data(contentsOf: url)
    }
    return contents
  }
}
