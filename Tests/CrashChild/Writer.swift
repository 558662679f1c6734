import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport

/// One thread that commits forever.
struct Writer: Sendable {
  let journal: Journal<Logbook>
  let number: Int
  let firstTurn: Int
  let seed: UInt64

  func run() throws {
    var random = SeededGenerator(seed: seed &+ UInt64(number))
    for turn in firstTurn... {
      let text = String(repeating: "x", count: random.chance(1, in: 50) ? 20_000 : 40)
      let blob = random.chance(1, in: 8) ? try journal.blobs.add(Data(random.bytes(300))) : nil
      let commit = try journal.commit(by: "\(number)", note: "\(turn)") { draft in
        try draft.write(number + 1, "\(turn) \(text)", blob: blob)
      }
      say("\(commit.revision) \(number) \(turn)")
    }
  }
}

/// Writes a line with one system call, so that lines of several threads never mix.
func say(_ line: String) {
  var line = line + "\n"
  line.withUTF8 { bytes in _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
}

/// Prints a reason on standard error and ends the process with exit code 1.
func fail(_ reason: String) -> Never {
  FileHandle.standardError.write(Data("\(reason)\n".utf8))
  exit(1)
}

/// Updates a backup, and prints the newest revision before the update and the one that the backup has then.
func sayBackup(of journal: Journal<Logbook>, to backup: URL) throws {
  let acknowledged = journal.head.revision
  let report = try journal.backup(to: backup)
  say("backup \(acknowledged) \(report.receipt.revision)")
}
