import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Kills a process (`CrashChild`) that commits from up to 64 threads, again and again.
  @Suite struct KillTests {
    @Test func everythingAcknowledgedSurvivesKillingTheProcess() throws {
      var random = SeededGenerator()
      let end = Date() + TimeInterval(Battery.size(15, long: 3600))
      var (rounds, acknowledged, journals, snapshots, unfinished, most) = (0, 0, 0, 0, 0, 0)
      // On a busy machine it takes longer until there was one of each.
      func goesOn() -> Bool {
        Date() < end || rounds < 300 && (acknowledged == 0 || snapshots == 0 || unfinished == 0)
      }
      while goesOn() {
        journals += 1
        // Every third journal keeps no past states.
        let keepsPast = journals % 3 != 2
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          var acknowledgements = Acknowledgements()
          // Begin a new journal now and then, because checking one takes longer the larger it is.
          for round in 0..<12 where goesOn() {
            let writers = [1, 2, 8, 64].randomElement(using: &random)!
            let first = round * 1_000_000
            let lines = try KilledChild.run(
              url, writers: writers, firstTurn: first, keepsPast: keepsPast, random: &random)
            for line in lines {
              acknowledgements.note(line.revision, writer: line.writer, turn: line.turn)
            }
            rounds += 1
            acknowledged += lines.count
            guard FileManager.default.fileExists(atPath: url.path) else {
              #expect(lines.isEmpty, "the journal is gone")
              continue
            }
            let mode: Journal<Logbook>.Mode = random.chance(1, in: 2) ? .readOnly : .readWrite
            let options = JournalOptions(layers: keepsPast ? .automatic : .small)
            let journal = try Journal<Logbook>.open(at: url, mode: mode, options: options)
            let problem = try acknowledgements.problem(with: journal)
            // However many threads commit and whatever is being written, opening replays no more than this.
            let replayed = try journal.statistics().replayedEventCount
            most = max(most, replayed)
            #expect(replayed <= LayerPolicy.many.backlogCount + 64)
            let known = try journal.snapshotFileNames().count
            let files = try FileManager.default.contentsOfDirectory(
              atPath: url.appendingPathComponent("snapshots").path)
            snapshots += known
            unfinished += files.count - known
            try journal.close()
            try #require(problem == nil, "round \(rounds), \(writers) writers")
          }
        }
      }
      print("kill: \(rounds) kills, \(acknowledged) acknowledged commits, \(journals) journals")
      print("kill: \(snapshots) snapshots, \(unfinished) files that were not finished or not removed")
      print("kill: at most \(most) events replayed")
      #expect(acknowledged > 0)
      #expect(snapshots > 0)
      #expect(unfinished > 0)
    }
  }
}

/// Runs of the process that is killed.
enum KilledChild {
  struct Line {
    var revision: Revision
    var writer: Int
    var turn: Int
  }

  /// Starts the process, kills it after a random time, and returns the acknowledgements that it had printed.
  static func run(
    _ url: URL, writers: Int, firstTurn: Int, keepsPast: Bool = true, random: inout SeededGenerator
  ) throws -> [Line] {
    let policy = keepsPast ? [] : ["forgetful"]
    return try said(by: url, writers: writers, firstTurn: firstTurn, policy, random: &random).compactMap {
      line in
      let numbers = line.split(separator: " ").map { Int($0) }
      guard numbers.count == 3, let revision = numbers[0], let writer = numbers[1], let turn = numbers[2]
      else { return nil }
      return Line(revision: revision, writer: writer, turn: turn)
    }
  }

  /// The same, with further arguments, such as the backup that the process makes meanwhile. Returns the lines as they
  /// are.
  static func said(
    by url: URL, writers: Int, firstTurn: Int, _ rest: [String] = [], random: inout SeededGenerator
  ) throws -> [Substring] {
    let process = try KilledProcess(
      [url.path, "\(writers)", "\(firstTurn)", "\(random.next())"] + rest,
      sayingInto: url.path)
    // Most processes are killed while they commit, some while they are still opening or creating the journal.
    if random.chance(3, in: 4) { try process.waitForWords() }
    usleep(UInt32.random(in: 0..<120_000, using: &random))
    try process.kill()
    return try process.lines()
  }
}

/// A process of `CrashChild` that is killed. Its output goes into files, because other tests start processes that
/// inherit the end of a pipe and keep it open.
struct KilledProcess {
  private let process = Process()
  private let said: URL
  private let complaints: URL

  init(_ arguments: [String], sayingInto path: String) throws {
    (said, complaints) = (URL(filePath: path + ".said"), URL(filePath: path + ".complaints"))
    let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
    process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
    process.arguments = arguments
    for (file, standard) in [(said, \Process.standardOutput), (complaints, \Process.standardError)] {
      try Data().write(to: file)
      process[keyPath: standard] = try FileHandle(forWritingTo: file)
    }
    try process.run()
  }

  /// Returns when the process has printed something, or has ended.
  func waitForWords() throws { while try Data(contentsOf: said).isEmpty, process.isRunning { usleep(500) } }

  /// - Throws: an error with the process's standard error if it had ended by itself.
  func kill() throws {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let words = String(decoding: try Data(contentsOf: complaints), as: UTF8.self)
    try #require(
      process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL,
      "the process ended by itself: \(words)")
  }

  /// The whole lines that it has printed. A kill may have cut the last one.
  func lines() throws -> [Substring] {
    let text = String(decoding: try Data(contentsOf: said), as: UTF8.self)
    return text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n")
  }
}
