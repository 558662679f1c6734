import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// Verbs that copy a journal or read all of it take no more memory for a large one than for a small one.
@Suite struct CopyMemoryTests {
  @Test func theMemoryThatACopyTakesDoesNotGrowWithTheNumberOfEntries() throws {
    let counts = TestLength.isLong ? [20_000, 200_000] : [5_000, 40_000]
    // The larger journal has 70 MB more of entries, 360 MB in a long run. LevelDB's buffers hold what is being written.
    try compare(counts.map { try self.peaks(entries: $0) }, of: counts, "entries", allowance: 32 << 20)
  }

  @Test func theMemoryThatReadingTakesDoesNotGrowWithTheLayers() throws {
    // The larger journal has 62 MB more of layers, 360 MB in a long run. Verifying takes 84 MiB of either.
    let counts = [80, TestLength.size(240, long: 1000)]
    try compare(counts.map { try peaks(largeEntries: $0) }, of: counts, "large entries", allowance: 40 << 20)
  }

  /// The verb held all versions before it printed the first.
  @Test func theMemoryThatAHistoryTakesDoesNotGrowWithItsLength() throws {
    let counts = [8_000, 24_000]
    try compare(counts.map { try peaks(versions: $0) }, of: counts, "versions", allowance: 32 << 20)
  }

  /// An item with large attributes has few but large events. The replay held 512 of them at a time, whatever their size,
  /// and the history 500 versions. Even the smaller journal is read in several parts.
  @Test func theMemoryThatLargeEventsTakeDoesNotGrowWithTheirNumber() throws {
    let counts = [60, 130]
    try compare(counts.map { try peaks(largeEvents: $0) }, of: counts, "large events", allowance: 40 << 20)
  }

  /// A plan held all later events with their texts, and a blame one event for each attribute.
  @Test func theMemoryThatAPlanTakesDoesNotGrowWithTheLaterEdits() throws {
    let counts = [60, 180]
    try compare(counts.map { try peaks(laterEdits: $0) }, of: counts, "later edits", allowance: 40 << 20)
  }

  /// The most memory that plans and a blame take for an item with `count` updates of 1 MB, each of which also sets an
  /// attribute of its own. Ana added the item and made the first update.
  private func peaks(laterEdits count: Int) throws -> [String: Int] {
    try withTemporaryFolder(inMemory: true) { folder in
      let path = folder.path("J.journal")
      let journal = try CatalogJournal.create(
        at: URL(fileURLWithPath: path), options: JournalOptions(layers: .manual))
      let item = try journal.commit(by: "ana") { try $0.addItem(kind: "note") }.value
      let text = String(repeating: "x", count: 1_000_000)
      for number in 1...count {
        try journal.commit(by: number == 1 ? "ana" : "ben") { draft in
          try draft.updateItem(item, set: ["text": .string("\(number) \(text)"), "part \(number)": true])
        }
      }
      try journal.close()
      try emptyLog(of: path)
      let verbs: [(name: String, words: [String])] = [
        ("restore", ["restore", path, "item:1", "--at", "2", "--dry-run", "--no-pager"]),
        ("restore --all", ["restore", path, "--all", "--at", "2", "--dry-run", "--no-pager"]),
        ("revert", ["revert", path, "1", "--force", "--dry-run", "--no-pager"]),
        ("undo", ["undo", path, "--by", "ana", "--force", "--dry-run", "--no-pager"]),
        ("blame", ["blame", path, "item:1", "--no-pager"]),
      ]
      return try Dictionary(uniqueKeysWithValues: verbs.map { ($0.name, try peak(of: $0.words)) })
    }
  }

  /// The most memory that verbs take for `count` updates of 1 MB each that are in no layer.
  private func peaks(largeEvents count: Int) throws -> [String: Int] {
    try withTemporaryFolder(inMemory: true) { folder in
      let path = folder.path("J.journal")
      let journal = try CatalogJournal.create(
        at: URL(fileURLWithPath: path), options: JournalOptions(layers: .manual))
      let item = try journal.commit { try $0.addItem(kind: "note") }.value
      let text = String(repeating: "x", count: 1_000_000)
      for number in 1...count {
        try journal.commit { try $0.updateItem(item, set: ["text": .string("\(number) \(text)")]) }
      }
      try journal.close()
      try emptyLog(of: path)
      let verbs: [(name: String, words: [String])] = [
        ("show", ["show", path, "item:1"]), ("replay", ["replay", path, "--at", "HEAD~1"]),
        ("diff", ["diff", path, "HEAD~\(count - 1)", "HEAD"]),
        ("history", ["history", path, "item:1", "--json"]),
        ("history --stat", ["history", path, "item:1", "--stat", "--no-pager"]),
        ("history --reverse", ["history", path, "item:1", "--reverse", "--json"]),
        ("log", ["log", path, "--no-pager"]), ("log --patch", ["log", path, "--patch", "--no-pager"]),
        ("verify", ["verify", path, "--deep"]), ("prune", ["prune", path, "--before", "HEAD~\(count / 2)"]),
      ]
      return try Dictionary(uniqueKeysWithValues: verbs.map { ($0.name, try peak(of: $0.words)) })
    }
  }

  private func compare(
    _ peaks: [[String: Int]], of counts: [Int], _ what: String, allowance: Int
  ) throws {
    for (verb, small) in peaks[0].sorted(by: { $0.key < $1.key }) {
      let large = try #require(peaks[1][verb])
      print("memory: \(verb) \(small >> 20) MiB of \(counts[0]) \(what), \(large >> 20) MiB of \(counts[1])")
      #expect(
        large < small + allowance, "\(verb): \(small) of \(counts[0]) \(what), \(large) of \(counts[1])")
    }
  }

  /// The most memory that each verb takes for a journal with `count` entries, each of which updates 100 items with
  /// texts of 4,000 bytes. Nearly all of it is in layers.
  private func peaks(largeEntries count: Int) throws -> [String: Int] {
    try withTemporaryFolder(inMemory: true) { folder in
      let path = folder.path("J.journal")
      var options = JournalOptions()
      options.layers.logShare = 100
      let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path), options: options)
      try journal.commit { draft in
        for _ in 1...600 { try draft.addItem(kind: "book") }
      }
      for number in 1...count {
        try journal.commit { draft in
          for item in 1...100 {
            let text = "\(number) \(item) " + String(repeating: "x", count: 4000)
            try draft.updateItem(EntityID(number % 6 * 100 + item), set: ["text": .string(text)])
          }
        }
      }
      journal.waitForLayers()
      // If all of this were read into memory, the larger journal would exceed the allowance.
      #expect(try journal.statistics().layerByteCount > count * 350_000)
      try journal.close()
      try emptyLog(of: path)
      let verbs: [(name: String, words: [String])] = [
        ("verify", ["verify", path]), ("verify --deep", ["verify", path, "--deep"]),
        ("doctor", ["doctor", path]), ("log", ["log", path, "--no-pager"]), ("find", ["find", path, "77"]),
        ("replay", ["replay", path]), ("replay --at", ["replay", path, "--at", "HEAD~\(count / 2)"]),
        ("gc", ["gc", path]),
      ]
      return try Dictionary(uniqueKeysWithValues: verbs.map { ($0.name, try peak(of: $0.words)) })
    }
  }

  /// Makes LevelDB write a table of its log. A process holds the log in memory, and the log's size varies.
  private func emptyLog(of path: String) throws {
    try CatalogJournal.open(at: URL(fileURLWithPath: path)).close()
  }

  /// The most memory that each verb takes for a journal with `count` entries of 2,000 bytes about a few items.
  private func peaks(entries count: Int) throws -> [String: Int] {
    try withTemporaryFolder(inMemory: true) { folder in
      let path = folder.path("J.journal")
      let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      var random = SeededGenerator()
      let blob = try journal.blobs.add(Data("a picture".utf8))
      try journal.commit { draft in
        for _ in 1...20 {
          let item = try draft.addItem(kind: "book")
          try draft.addImage(to: item, name: "a.png", mediaType: "image/png", blob: blob)
        }
      }
      try journal.withPipeline { pipeline in
        for number in 1...count {
          let text = Data(random.bytes(1500)).base64EncodedString()
          try pipeline.commit { try $0.updateItem(EntityID(number % 20 + 1), set: ["text": .string(text)]) }
        }
      }
      journal.waitForLayers()
      try journal.close()
      try emptyLog(of: path)
      let verbs: [(name: String, words: [String])] = [
        ("backup", ["backup", path, folder.path("Backup")]),
        ("backup --file", ["backup", path, folder.path("File"), "--file"]),
        ("init", ["init", folder.path("Restored"), "--from-backup", folder.path("File")]),
        ("replay --to", ["replay", path, "--to", folder.path("Fork"), "--at", "HEAD~10"]),
        ("salvage", ["salvage", path, "--to", folder.path("Saved")]),
        ("verify", ["verify", path, "--deep"]), ("doctor", ["doctor", path]), ("gc", ["gc", path]),
        ("log", ["log", path, "--no-pager"]), ("prune", ["prune", path, "--before", "HEAD~\(count / 2)"]),
        ("erase", ["erase", path, "item:1", "--reason", "by law"]),
        ("backup, rebuilt", ["backup", path, folder.path("Backup")]),
      ]
      return try Dictionary(uniqueKeysWithValues: verbs.map { ($0.name, try peak(of: $0.words)) })
    }
  }

  /// The most memory that the histories of an item take that has `count` versions of 3,000 bytes. Each is printed whole.
  private func peaks(versions count: Int) throws -> [String: Int] {
    try withTemporaryFolder(inMemory: true) { folder in
      let path = folder.path("J.journal")
      let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      let item = try journal.commit { try $0.addItem(kind: "note") }.value
      let text = String(repeating: "x", count: 3000)
      try journal.withPipeline { pipeline in
        for number in 2...count {
          try pipeline.commit { try $0.updateItem(item, set: ["text": .string("\(number) \(text)")]) }
        }
      }
      journal.waitForLayers()
      try journal.close()
      try emptyLog(of: path)
      func revisions(_ options: String...) throws -> [Int?] {
        let printed = try run(journalPath, ["history", path, "item:1", "--stat", "--no-pager"] + options)
          .output
        return String(decoding: printed, as: UTF8.self).split(separator: "\n").dropFirst()
          .map { Int($0.split(separator: " ")[0]) }
      }
      #expect(try revisions() == (1...count).reversed())
      #expect(try revisions("--reverse") == Array(1...count))
      #expect(try revisions("--reverse", "-n", "501") == Array(1...501))
      let verbs: [(name: String, words: [String])] = [
        ("history --json", ["history", path, "item:1", "--json"]),
        ("history --stat", ["history", path, "item:1", "--stat", "--no-pager"]),
        ("history -n", ["history", path, "item:1", "--json", "-n", "\(count - 1)"]),
        ("history --reverse", ["history", path, "item:1", "--reverse", "--no-pager"]),
      ]
      return try Dictionary(uniqueKeysWithValues: verbs.map { ($0.name, try peak(of: $0.words)) })
    }
  }

  /// The most memory, in bytes, that the program takes when it is run with these words.
  private func peak(of words: [String]) throws -> Int {
    let script = """
      import resource, subprocess, sys
      code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
      print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
      """
    let result = try run("python3", ["-c", script, journalPath] + words)
    let numbers = String(decoding: result.output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    #expect(numbers.first == "0", "\(words): \(String(decoding: result.error, as: UTF8.self))")
    return try #require(numbers.last.flatMap { Int($0) })
  }
}
