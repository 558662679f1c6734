import Foundation
import Journaling
import LogbookModel

/// Uses a journal with at most `descriptors` file descriptors, and then with enough of them.
///
/// Prints the result of each step ("open", "commit", "blob", "snapshot"), which is "ok" or the code of the error, and
/// the revision of each commit that returned.
struct Shortage {
  let url: URL
  let descriptors: UInt64

  #if os(Linux)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif

  func run() throws {
    var limits = rlimit()
    unsafe getrlimit(Self.resource, &limits)
    let enough = limits
    limits.rlim_cur = rlim_t(descriptors)
    unsafe setrlimit(Self.resource, &limits)
    guard let journal = attempt("open", { try Journal<Logbook>.open(at: url) }) else { return }
    use(journal, "short")
    limits = enough
    unsafe setrlimit(Self.resource, &limits)
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
