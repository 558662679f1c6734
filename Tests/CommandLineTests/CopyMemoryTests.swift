import CatalogModel
import Foundation
import TestSupport
import Testing

/// What makes a copy of a journal, or reads all of it, takes as much memory of a large one as of a small one.
@Suite struct CopyMemoryTests {
  private static let isLong = ProcessInfo.processInfo.environment["JOURNAL_BATTERY"] == "long"

  @Test func theMemoryThatACopyTakesDoesNotGrowWithTheNumberOfEntries() throws {
    let counts = Self.isLong ? [20_000, 200_000] : [5_000, 40_000]
    let peaks = try counts.map { try self.peaks(entries: $0) }
    for (verb, small) in peaks[0].sorted(by: { $0.key < $1.key }) {
      let large = try #require(peaks[1][verb])
      print("memory: \(verb) \(small >> 20) MiB of \(counts[0]) entries, \(large >> 20) MiB of \(counts[1])")
      // The larger one has 70 MB of entries more, or with many 360 MB.
      #expect(large < small + 32 << 20, "\(verb): \(small) of \(counts[0]) entries, \(large) of \(counts[1])")
    }
  }

  /// The most memory that each verb takes of a journal with so many entries of 2,000 bytes, about a few items.
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
      var pending: [PendingCommit<Void>] = []
      for number in 1...count {
        let text = Data(random.bytes(1500)).base64EncodedString()
        pending.append(
          try journal.submit { try $0.updateItem(EntityID(number % 20 + 1), set: ["text": .string(text)]) })
        if pending.count == 256 {
          for commit in pending { _ = try commit.wait() }
          pending = []
        }
      }
      for commit in pending { _ = try commit.wait() }
      journal.waitForLayers()
      try journal.close()
      let verbs: [(name: String, words: [String])] = [
        ("backup", ["backup", path, folder.path("Backup")]),
        ("backup --file", ["backup", path, folder.path("File"), "--file"]),
        ("restore-backup", ["restore-backup", folder.path("File"), folder.path("Restored")]),
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

  /// The most memory that the program takes for some words, in bytes.
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
