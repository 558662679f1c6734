import CatalogModel
import Foundation
import TestSupport
import Testing

/// The program reads a journal that an app has open.
@Suite struct InUseTests {
  @Test func everyReadingVerbAnswersTheSameWhileAnAppHasTheJournalOpen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      let item = try app.commit(by: "ana", note: "first") { draft in
        let category = try draft.addCategory(name: "Novels")
        return try draft.addItem(kind: "book", category: category, attributes: ["title": .string("Dun")])
      }.value
      let blob = try app.blobs.add(Data("a cover".utf8))
      try app.commit(by: "bob", note: "cover") { draft in
        _ = try draft.addImage(to: item, name: "cover.png", mediaType: "image/png", blob: blob)
        try draft.updateItem(item, set: ["title": .string("Dune")])
        _ = try draft.addItem(kind: "book", attributes: ["title": .string("Emma")])
      }
      try app.takeSnapshot()
      try app.commit(by: "eve", note: "tidy up") { try $0.deleteItem(2) }
      let verbs: [[String]] = [
        ["find", path, "--deleted"], ["log", path, "--patch"], ["log", path, "item:1"], ["show", path, "2"],
        ["show", path, "item:1@1"], ["history", path, "item:1"], ["blame", path, "item:1"],
        ["diff", path, "1", "3"], ["bisect", path, "--where", "title=Dune"], ["cat", path, "image:1"],
        ["replay", path], ["stat", path], ["verify", path, "--deep"], ["snapshot", path, "list"],
        ["tag", path, "--list"], ["restore", path, "item:2", "--at", "2", "--dry-run"],
        ["revert", path, "3", "--dry-run"], ["undo", path, "--by", "eve", "--dry-run"],
      ]
      func answers() throws -> [[String]: String] {
        var answers: [[String]: String] = [:]
        for words in verbs {
          let result = try journal(words)
          #expect(result.code == 0, "\(words): \(result.error)")
          answers[words] = result.output
        }
        return answers
      }
      let before = try answers()
      let writing = try check("undo", path, "--by", "eve", code: 3)
      #expect(writing.error.contains("another process has the journal open for writing"))
      try app.commit(by: "ana", note: "goes on") { _ = try $0.addItem(kind: "book") }
      #expect(try journal("log", path, "-n", "1").output.contains("goes on"))
      _ = try app.commit(by: "ana") { try $0.deleteItem(3) }
      try app.close()
      let after = try answers()
      for words in verbs where !["log", "stat", "verify", "replay", "find", "bisect"].contains(words[0]) {
        #expect(before[words] == after[words], "\(words)")
      }
    }
  }

  @Test func logFollowsWhatAnAppCommits() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      for turn in 1...3 { try app.commit(note: "before \(turn)") { _ = try $0.addItem(kind: "book") } }
      func follow(_ options: String...) throws -> (process: Process, file: URL) {
        let process = Process()
        let file = folder.url.appending(path: UUID().uuidString)
        try Data().write(to: file)
        process.executableURL = URL(filePath: journalPath)
        process.arguments = ["log", path, "--follow", "--json"] + options
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        return (process, file)
      }
      func revisions(_ file: URL) throws -> [Int] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
          let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
          return try #require(object?["revision"] as? Int)
        }
      }
      let followers = [
        (try follow("--since", "0"), Array(1...20)), (try follow("-n", "2"), Array(2...20)),
        (try follow("--since", "1", "--author", "eve"), [10, 20]),
      ]
      // A follower without `--since 0` begins at the revision that the journal has when it opens it, so wait for that.
      let start = Date() + 300
      while try revisions(followers[1].0.file).isEmpty, Date() < start { usleep(10_000) }
      for turn in 4...20 {
        try app.commit(by: turn % 10 == 0 ? "eve" : "ana") { _ = try $0.addItem(kind: "book") }
      }
      for ((process, file), expected) in followers {
        let end = Date() + 300
        while try revisions(file) != expected, Date() < end { usleep(10_000) }
        #expect(try revisions(file) == expected)
        // Tests may run on threads that block other signals, which the process inherits.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      try app.close()
      let wrong = try check("log", path, "--follow", "--reverse", code: 2)
      #expect(wrong.error.contains("exclude each other"))
    }
  }

  /// The follower knew an item as it was when an entry changed it first.
  @Test func logFollowsAnItemIntoAnotherCategory() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      try app.commit { draft in
        for name in ["Novels", "Poems"] { try draft.addCategory(name: name) }
        try draft.addItem(kind: "book", category: 1, attributes: ["title": "Dun"])
      }
      let file = folder.url.appending(path: "output")
      try Data().write(to: file)
      let process = Process()
      process.executableURL = URL(filePath: journalPath)
      process.arguments = ["log", path, "--follow", "--since", "0", "--patch", "--category", "Poems"]
      process.standardOutput = try FileHandle(forWritingTo: file)
      try process.run()
      func wait(for text: String) throws -> Bool {
        let end = Date() + 300
        while Date() < end {
          if try String(contentsOf: file, encoding: .utf8).contains(text) { return true }
          usleep(10_000)
        }
        return false
      }
      #expect(try wait(for: "Poems"))
      try app.commit { try $0.updateItem(1, set: ["stars": 3]) }
      try app.commit { try $0.setName(ofCategory: 2, to: "Verses") }
      #expect(try wait(for: "Verses"))
      try app.commit { draft in
        try draft.setCategory(ofItem: 1, to: 2)
        try draft.updateItem(1, set: ["title": "Dune"])
      }
      #expect(try wait(for: "~ item:1  Dune\n"))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      try app.close()
    }
  }

  #if os(Linux)
    /// If the clock was set back, the program saw no new entry until the clock was where it had been.
    @Test func aFollowerDoesNotWaitForADate() throws {
      try withFixedJournal { path, _ in
        let app = try CatalogJournal.open(at: URL(filePath: path))
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: journalPath)
        process.arguments = ["log", path, "--follow", "--since", "0", "--json"]
        process.standardOutput = output
        try process.run()
        #expect(try output.fileHandleForReading.read(upToCount: 1)?.isEmpty == false)
        let tasks = "/proc/\(process.processIdentifier)/task"
        var (sampleCount, timedWaitCount) = (0, 0)
        let end = Date() + 120
        while sampleCount < 100 || timedWaitCount == 0, Date() < end {
          usleep(5_000)
          sampleCount += 1
          for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
            // The number of the system call, and its arguments: the place, the operation, the value, the time limit.
            let call = ((try? String(contentsOfFile: "\(tasks)/\(task)/syscall", encoding: .utf8)) ?? "")
              .split(separator: " ").map { Int($0.dropFirst(2), radix: 16) ?? 0 }
            let (futexWaitBitset, futexClockRealtime) = (9, 256)
            guard call.count > 5, call[2] & 127 == futexWaitBitset, call[4] != 0 else { continue }
            timedWaitCount += 1
            #expect(call[2] & futexClockRealtime == 0)
          }
        }
        #expect(timedWaitCount > 0)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try app.close()
      }
    }
  #endif
}
