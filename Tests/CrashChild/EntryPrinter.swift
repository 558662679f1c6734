import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import LogbookModel
import TestSupport

/// Prints each entry that a follower sees: "<revision> <digest> <author> <note>".
enum EntryPrinter {
  static func run(_ url: URL, after revision: Revision) -> Never {
    do {
      let journal = try Journal<Logbook>.open(at: url, mode: .follow)
      Task {
        do {
          for try await entry in journal.newEntries(after: revision) {
            say("\(entry.revision) \(entry.digest.hex) \(entry.author) \(entry.note)")
          }
          fail("there are no more entries")
        } catch { fail("\(error)") }
      }
    } catch { fail("\(error)") }
    while true { sleep(1000) }
  }
}

/// Commits `count` times, and prints how many system calls read and wrote meanwhile, and how long it took.
enum CountedCommits {
  static func run(_ url: URL, _ count: Int) throws {
    let journal = try Journal<Logbook>.open(at: url, options: JournalOptions(layers: .manual))
    let before = try counts()
    let start = (ContinuousClock.now, processorTimeOfProcess())
    for turn in 1...count { try journal.commit(note: "\(turn)") { try $0.write(1, "\(turn)") } }
    let duration = ContinuousClock.now - start.0
    let processorTime = processorTimeOfProcess() - start.1
    for (name, number) in try counts() where name.hasPrefix("sysc") {
      say("\(name) \(number - (before[name] ?? 0))")
    }
    say("microseconds \(duration / .microseconds(1))")
    say("processor \(processorTime / .microseconds(1))")
    try journal.close()
  }

  /// The system's counters of this process.
  private static func counts() throws -> [String: Int] {
    let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    var counts: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ": ")
      counts[String(parts[0])] = Int(parts[1])
    }
    return counts
  }
}

/// Follows a journal without a free file descriptor until a line is sent to it, and then with enough of them.
enum ShortFollower {
  static func run(_ url: URL) throws {
    var options = JournalOptions()
    options.log = { notice in
      if notice.cause?.code == .outOfResources { say("waits") }
    }
    let journal = try Journal<Logbook>.open(at: url, mode: .follow, options: options)
    try withDescriptors(atMost: 3) {
      // Nothing is new, so no file has to be opened.
      try journal.catchUp()
      say("short")
      _ = readLine()
    }
    try journal.catchUp()
    say("head \(journal.head.revision)")
    say(try journal.verify().isSound ? "sound" : "not sound")
    try journal.close()
  }
}

extension Database.Options {
  /// Options for logs and tables that are soon full.
  static var small: Database.Options {
    var options = Database.Options()
    options.writeBufferByteCount = 64 << 10
    return options
  }
}
