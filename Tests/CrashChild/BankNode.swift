import Foundation
import Journaling
import LogbookModel
import PostgresLog
import TestSupport

/// A node of a shared journal whose writers move money between accounts. They continue, whatever the server does, until
/// there is a file JOURNAL.end.
///
/// It prints "done REVISION WRITER TURN" for an acknowledged commit, "failed WRITER TURN" for one that must not be in
/// the log, and "unknown WRITER TURN" for one that may be. The author of an entry is NAME-WRITER, and its note is TURN.
/// A commit that expects an account at a revision adds both to its note.
struct BankNode: Sendable {
  let url: URL
  let name: String
  let threads: Int
  let firstTurn: Int
  let seed: UInt64

  func run() -> Never {
    do {
      let journal = try Journal<Logbook>.open(at: url, options: JournalOptions().sharingThroughPostgres())
      let writers = DispatchGroup()
      for writer in 0..<threads {
        writers.enter()
        Thread {
          transfer(in: journal, as: writer)
          writers.leave()
        }.start()
      }
      writers.wait()
      try journal.close()
      exit(0)
    } catch { fail("\(error)") }
  }

  private func transfer(in journal: Journal<Logbook>, as writer: Int) {
    var random = SeededGenerator(seed: seed &+ UInt64(writer))
    var turn = firstTurn
    while !FileManager.default.fileExists(atPath: "\(url.path).end") {
      let from = Int.random(in: 1...Bank.accountCount, using: &random)
      let to = (from + Int.random(in: 1..<Bank.accountCount, using: &random) - 1) % Bank.accountCount + 1
      let amount = Int.random(in: 1...Bank.balance, using: &random)
      // Every third commit expects the revision that it has seen.
      let seen = turn % 3 == 0 ? journal.state.revision(of: .page(from)) : nil
      do {
        let commit = try journal.commit(
          by: "\(name)-\(writer)", note: "\(turn)" + (seen.map { " \(from) \($0)" } ?? ""),
          expecting: seen.map { [.entity(.page(from), at: $0)] } ?? []
        ) { try Bank.transfer(amount, from: from, to: to, in: &$0) }
        say("done \(commit.revision) \(writer) \(turn)")
      } catch let error as JournalError {
        switch error.code {
        case .outcomeUnknown: say("unknown \(writer) \(turn)")
        case .unreachable, .conflict, .outOfResources, .rejected: say("failed \(writer) \(turn)")
        default: fail("writer \(writer): \(error)")
        }
      } catch {
        fail("writer \(writer): \(error)")
      }
      usleep(UInt32.random(in: 10_000..<100_000, using: &random))
      turn += 1
    }
  }
}
