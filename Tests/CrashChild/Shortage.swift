import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport

/// Uses a journal with at most `descriptors` file descriptors, and then with enough of them.
///
/// Prints the result of each step ("open", "commit", "blob", "snapshot"), which is "ok" or the code of the error, and
/// the revision of each commit that returned.
struct Shortage {
  let url: URL
  let descriptors: Int

  func run() throws {
    let opened = withDescriptors(atMost: descriptors) {
      let journal = attempt("open") { try Journal<Logbook>.open(at: url) }
      if let journal { use(journal, "short") }
      return journal
    }
    guard let journal = opened else { return }
    use(journal, "enough")
    _ = attempt("verify") { guard try journal.verify().isSound else { fail("not sound") } }
    _ = attempt("close") { try journal.close() }
  }

  private func use(_ journal: Journal<Logbook>, _ phase: String) {
    for turn in 1...3 {
      if let commit = attempt(
        "\(phase) commit", { try journal.commit { try $0.write(turn, phase) } })
      {
        say("revision \(commit.revision)")
      }
    }
    let bytes = Data("\(phase) \(journal.head)".utf8) + Data(count: 100_000)
    if let blob = attempt("\(phase) blob", { try journal.blobs.add(bytes) }) {
      let commit = attempt("\(phase) commit") {
        try journal.commit { try $0.write(4, phase, blob: blob) }
      }
      if let commit { say("revision \(commit.revision)") }
      _ = attempt("\(phase) reading") { try journal.blobs.data(of: blob) }
    }
    _ = attempt("\(phase) snapshot") { try journal.takeSnapshot() }
  }

  private func attempt<Result>(_ step: String, _ body: () throws -> Result) -> Result? {
    do {
      let result = try body()
      say("\(step): ok")
      return result
    } catch {
      say("\(step): \((error as? JournalError)?.code.rawValue ?? "\(error)")")
      return nil
    }
  }
}
