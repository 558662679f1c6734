// The program that the crash tests start and kill. The arguments say what it does:
//
// - JOURNAL THREADS FIRST-TURN SEED [small | forgetful | erasing | BACKUP]: commits from THREADS threads, and takes and drops
//   snapshots, until it is killed. After each commit has returned, it prints "<revision> <writer> <turn>". With `small`,
//   LevelDB's files are soon full. With `forgetful`, no past states are kept. With `erasing`, one more thread erases and
//   prunes (`Eraser`). A backup at BACKUP is updated again and again, as by `backup`.
// - descriptors JOURNAL COUNT: uses the journal with at most COUNT file descriptors (`Shortage`).
// - JOURNAL threads: uses a journal in a process that can create no threads (`ThreadShortage`).
// - follow JOURNAL REVISION: prints each entry after REVISION as it comes (`EntryPrinter`).
// - count JOURNAL COUNT: commits COUNT times and prints the system's counters (`CountedCommits`).
// - fork JOURNAL: forks while the journal is open (`ForkedJournal`).
// - short JOURNAL: follows the journal without a free file descriptor (`ShortFollower`).
// - bank NODE NAME THREADS FIRST-TURN SEED: runs a node of a shared journal (`BankNode`).
// - load JOURNAL SECONDS SEED: writes and reads a journal from many threads (`LoadedBank`).
// - short-replacement JOURNAL erase|prune COUNT: replaces the log with at most COUNT descriptors (`ShortReplacement`).
// - erase JOURNAL NUMBER, prune JOURNAL NUMBER: is killed before a file operation (`KilledErasure`).
// - cascade JOURNAL SEED: deletes items by cascade and undoes that, until it is killed (`CascadeWriter`).
// - backup JOURNAL BACKUP: updates a backup again and again while others write, and prints
//   "backup <acknowledged before> <revision>" each time.
import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import PostgresLog
import TestSupport

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "descriptors",
  let count = Int(CommandLine.arguments[3])
{
  do {
    try Shortage(url: URL(fileURLWithPath: CommandLine.arguments[2]), descriptors: count).run()
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 5, CommandLine.arguments[1] == "short-replacement",
  let count = Int(CommandLine.arguments[4])
{
  do {
    try ShortReplacement(
      url: URL(fileURLWithPath: CommandLine.arguments[2]), isErasure: CommandLine.arguments[3] == "erase",
      descriptors: count
    ).run()
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "follow",
  let revision = Revision(CommandLine.arguments[3])
{
  EntryPrinter.run(URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true), after: revision)
}
if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "count",
  let count = Int(CommandLine.arguments[3])
{
  do {
    try CountedCommits.run(URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true), count)
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 7, CommandLine.arguments[1] == "bank",
  let threads = Int(CommandLine.arguments[4]), let firstTurn = Int(CommandLine.arguments[5]),
  let seed = UInt64(CommandLine.arguments[6])
{
  BankNode(
    url: URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true), name: CommandLine.arguments[3],
    threads: threads, firstTurn: firstTurn, seed: seed
  ).run()
}
if CommandLine.arguments.count == 5, CommandLine.arguments[1] == "load",
  let seconds = Int(CommandLine.arguments[3]), let seed = UInt64(CommandLine.arguments[4])
{
  let url = URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true)
  do {
    try LoadedBank(url: url, seconds: seconds, seed: seed).run()
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "fork" {
  do {
    try ForkedJournal.run(URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true))
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "short" {
  do {
    try ShortFollower.run(URL(fileURLWithPath: CommandLine.arguments[2], isDirectory: true))
    exit(0)
  } catch { fail("\(error)") }
}
if CommandLine.arguments.count == 3, CommandLine.arguments[2] == "threads" {
  ThreadShortage.run(URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true))
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "cascade",
  let seed = UInt64(CommandLine.arguments[3])
{
  do {
    var writer = try CascadeWriter(URL(fileURLWithPath: CommandLine.arguments[2]), seed: seed)
    try writer.run()
  } catch { fail("cascade: \(error)") }
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "backup" {
  let urls = CommandLine.arguments[2...].map { URL(fileURLWithPath: $0, isDirectory: true) }
  do {
    while true {
      let journal = try Journal<Logbook>.open(at: urls[0], mode: .readOnly)
      try sayBackup(of: journal, to: urls[1])
      try journal.close()
    }
  } catch { fail("backup: \(error)") }
}

if CommandLine.arguments.count == 4, ["erase", "prune"].contains(CommandLine.arguments[1]),
  let last = Int(CommandLine.arguments[3])
{
  do {
    let killed = KilledErasure(url: URL(fileURLWithPath: CommandLine.arguments[2]), last: last)
    if CommandLine.arguments[1] == "erase" { try killed.erase() } else { try killed.prune() }
    exit(0)
  } catch { fail("\(error)") }
}

guard CommandLine.arguments.count >= 5, let count = Int(CommandLine.arguments[2]),
  let firstTurn = Int(CommandLine.arguments[3]), let seed = UInt64(CommandLine.arguments[4])
else { fail("usage: CrashChild JOURNAL THREADS FIRST-TURN SEED [small | forgetful | erasing | BACKUP]") }

do {
  var options = JournalOptions(layers: .many)
  switch CommandLine.arguments.last {
  case "small": options.database = .small
  case "forgetful": options.layers = .manyWithoutPast
  default: break
  }
  // Nodes of a shared journal need this. It changes nothing for other journals.
  options = options.sharingThroughPostgres()
  let journal = try Journal<Logbook>.openOrCreate(
    at: URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true),
    options: options)
  say("open \(journal.head.revision)")
  for number in 0..<count {
    let writer = Writer(journal: journal, number: number, firstTurn: firstTurn, seed: seed)
    Thread { do { try writer.run() } catch { fail("writer \(number): \(error)") } }.start()
  }
  let tender = SnapshotTender(journal: journal, seed: seed)
  Thread { do { try tender.run() } catch { fail("snapshots: \(error)") } }.start()
  if CommandLine.arguments.last == "erasing" {
    let eraser = Eraser(journal: journal, firstTurn: firstTurn, seed: seed)
    Thread { do { try eraser.run() } catch { fail("eraser: \(error)") } }.start()
  } else if CommandLine.arguments.count == 6, !["small", "forgetful"].contains(CommandLine.arguments[5]) {
    let backup = URL(fileURLWithPath: CommandLine.arguments[5], isDirectory: true)
    Thread {
      do {
        while true { try sayBackup(of: journal, to: backup) }
      } catch { fail("backup: \(error)") }
    }.start()
  }
} catch {
  fail("\(error)")
}
// The threads run until the process is killed.
while true { sleep(1000) }
