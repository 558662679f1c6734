import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport

/// Erases page 2 of an open journal, or prunes it, with at most `descriptors` file descriptors, and then commits and repeats
/// that with enough of them.
///
/// Prints the result of each step, which is "ok" or the code of the error, and the revision of the commit.
struct ShortReplacement {
  let url: URL
  let isErasure: Bool
  let descriptors: Int

  func run() throws {
    let journal = try Journal<Logbook>.open(at: url)
    withDescriptors(atMost: descriptors) { attempt("short") { try replace(journal) } }
    attempt("commit") {
      say("revision: \(try journal.commit(note: "afterwards") { try $0.write(50, "afterwards") }.revision)")
    }
    attempt("repeated") { try replace(journal) }
    attempt("verify") { guard try journal.verify(.deep).isSound else { fail("not sound") } }
    attempt("close") { try journal.close() }
  }

  private func replace(_ journal: Journal<Logbook>) throws {
    if isErasure {
      try journal.erase([.page(2)], reason: "by law", by: "eve", includingWords: true)
    } else {
      try journal.prune(before: .revision(5), by: "eve")
    }
  }

  private func attempt(_ step: String, _ body: () throws -> Void) {
    do {
      try body()
      say("\(step): ok")
    } catch {
      say("\(step): \((error as? JournalError)?.code.rawValue ?? "\(error)")")
    }
  }
}
