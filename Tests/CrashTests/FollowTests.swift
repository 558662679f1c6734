import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Reads a journal while another process (`CrashChild`) writes it.
  @Suite struct FollowTests {
    /// Writers of 1 to 64 threads and followers are killed and started again at random, while LevelDB fills its files
    /// and merges them, and snapshots are taken and dropped.
    @Test func followersSeeEveryAcknowledgedEntryOnceAndInOrderAndNoOthers() throws {
      var random = SeededGenerator()
      let end = Date() + TimeInterval(Battery.size(12, long: 600))
      var (entries, writers, followers, journals) = (0, 0, 0, 0)
      // On a busy machine it takes longer until there are enough entries.
      func goesOn() -> Bool { Date() < end || entries <= 1000 && journals < 60 }
      while goesOn() {
        journals += 1
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          try Journal<Logbook>.create(at: url).close()
          var seen = Seen()
          var acknowledged: Revision = 0
          for round in 0..<8 where round == 0 || goesOn() {
            let count = [1, 2, 8, 64].randomElement(using: &random)!
            let turn = "\(round * 1_000_000)"
            let writer = try Child([url.path, "\(count)", turn, "\(random.next())", "small"])
            writers += 1
            for _ in 0..<Int.random(in: 1...3, using: &random) {
              let follower = try Child(["follow", url.path, "\(seen.last)"])
              followers += 1
              usleep(UInt32.random(in: 0..<400_000, using: &random))
              try seen.note(try follower.kill())
            }
            for line in try writer.kill() {
              if let revision = line.split(separator: " ").first.flatMap({ Revision($0) }) {
                acknowledged = max(acknowledged, revision)
              }
            }
          }
          // A follower that is given enough time sees every acknowledged entry.
          let follower = try Child(["follow", url.path, "\(seen.last)"])
          let last = acknowledged > seen.last ? acknowledged : 0
          try seen.note(try follower.lines(until: { $0.hasPrefix("\(last) ") || last == 0 }))
          try seen.note(try follower.kill())
          entries += seen.last
          try #require(seen.last >= acknowledged)
          try seen.check(url)
        }
      }
      print("follow: \(entries) entries, \(journals) journals")
      print("follow: \(writers) writers and \(followers) followers were killed")
      #expect(entries > 1000)
    }

    @Test(
      .enabled(
        if: FileManager.default.fileExists(atPath: "/proc/self/io"), "the system does not count write calls"))
    func followersCauseNoFurtherWriteCallsInTheWriter() throws {
      try withFolderInMemory { folder in
        /// Makes a new journal, because what an opening writes depends on the contents of the log.
        func makeJournal(_ name: String) throws -> URL {
          let url = URL(fileURLWithPath: "\(folder)/\(name).journal")
          try Journal<Logbook>.create(at: url).close()
          return url
        }
        func count(_ url: URL) throws -> [String: Int] {
          let child = try Child(["count", url.path, "2000"])
          let words = try child.end().map { $0.split(separator: " ") }
          return Dictionary(uniqueKeysWithValues: words.map { (String($0[0]), Int(Double($0[1])!)) })
        }
        let alone = try count(makeJournal("Alone"))
        let url = try makeJournal("Followed")
        let followers = try (0..<3).map { _ in try Child(["follow", url.path, "0"]) }
        let followed = try count(url)
        for follower in followers {
          let lines = try follower.lines(until: { $0.hasPrefix("2000 ") })
          #expect(lines.count == 2000)
          _ = try follower.kill()
        }
        print("follow: alone \(alone), followed by three \(followed)")
        #expect(try #require(alone["syscw"]) >= 2000)
        // Reads are not compared: after a second, the background check of older entries begins.
        #expect(followed["syscw"] == alone["syscw"])
      }
    }

    /// The measurements alternate, each with a new journal, because other work of the machine slows both.
    @Test func theWriterCommitsAboutAsFastWithAFollowerAsWithout() throws {
      try withFolderInMemory { folder in
        /// How long the commits take, and the writer's own processor time.
        func times(_ name: String, followed: Bool) throws -> (whole: Double, own: Double) {
          let url = URL(fileURLWithPath: "\(folder)/\(name).journal")
          defer { try? FileManager.default.removeItem(at: url) }
          try Journal<Logbook>.create(at: url).close()
          let follower = followed ? try Child(["follow", url.path, "0"]) : nil
          let lines = try Child(["count", url.path, "3000"]).end()
          _ = try follower?.kill()
          func number(_ name: String) throws -> Double {
            let line = try #require(lines.first { $0.hasPrefix("\(name) ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
          }
          return (try number("microseconds"), try number("processor"))
        }
        var (alone, followed): ([(whole: Double, own: Double)], [(whole: Double, own: Double)]) = ([], [])
        var (ratio, ownRatio) = (Double.infinity, Double.infinity)
        for turn in 0..<41 {
          if turn % 2 == 0 { alone.append(try times("\(turn)a", followed: false)) }
          followed.append(try times("\(turn)b", followed: true))
          if turn % 2 == 1 { alone.append(try times("\(turn)c", followed: false)) }
          // Compare the fastest of each, because other work of the machine only makes them slower.
          ratio = try #require(followed.map { $0.whole }.min()) / #require(alone.map { $0.whole }.min())
          ownRatio = try #require(followed.map { $0.own }.min()) / #require(alone.map { $0.own }.min())
          if turn >= Battery.size(6, long: 40), ratio < 1.5, ownRatio < 1.5 { break }
        }
        print(
          "follow: commits take \(ratio) times as long when followed, and \(ownRatio) times as much processor time"
        )
        // If the writer did anything for its followers, or waited for them, a ratio would be a multiple. On a busy
        // machine, the follower and the writer wait for one processor.
        #expect(ownRatio < 1.5 && ratio < 3)
      }
    }

    @Test func aFollowerWithoutDescriptorsWaitsForThem() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        var options = JournalOptions(layers: .manual)
        options.database.writeBufferByteCount = 64 << 10
        let journal = try Journal<Logbook>.create(at: url, options: options)
        try journal.commit { try $0.write(1, "first") }
        let follower = try Child(["short", url.path])
        _ = try follower.lines(until: { $0 == "short" })
        // Write enough that LevelDB makes files that the follower does not have open.
        for turn in 2...300 {
          try journal.commit { try $0.write(turn, String(repeating: "x", count: 2000)) }
        }
        _ = try follower.lines(until: { $0 == "waits" })
        follower.send("enough\n")
        #expect(try follower.end() == ["head 300", "sound"])
        try journal.close()
      }
    }
  }
}

/// The lines that the followers printed, one follower after the other.
private struct Seen {
  private(set) var lines: [Substring] = []

  var last: Revision { lines.count }

  mutating func note(_ new: [String]) throws {
    for line in new {
      try #require(line.hasPrefix("\(last + 1) "), "after entry \(last) came \(line)")
      lines.append(Substring(line))
    }
  }

  /// Fails unless the journal has the same entries.
  func check(_ url: URL) throws {
    let journal = try Journal<Logbook>.open(at: url)
    let cursor = journal.entries()
    for line in lines {
      let entry = try #require(try cursor.next(), "\(line) was seen and is missing")
      try #require(line == "\(entry.revision) \(entry.digest.hex) \(entry.author) \(entry.note)")
    }
    #expect(try journal.verify().isSound)
    try journal.close()
  }
}
