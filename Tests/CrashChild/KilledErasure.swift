import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel

/// Erases page 2 of a journal, or prunes it, and kills its process before the file operation with the number `last`.
struct KilledErasure {
  let url: URL
  let last: Int

  func erase() throws {
    _ = try Journal<Logbook>.erase(
      [.page(2)], at: url, reason: "by law", by: "eve", includingWords: true,
      options: JournalOptions(fileHook: hook()))
  }

  func prune() throws {
    _ = try Journal<Logbook>.prune(
      before: .head(back: 3), at: url, reason: "room", by: "eve", options: JournalOptions(fileHook: hook()))
  }

  private func hook() -> FileHook {
    let count = Lock(0)
    let last = last
    return { _ in
      let now = count.withLock { count in
        defer { count += 1 }
        return count
      }
      if now == last { kill(getpid(), SIGKILL) }
      return .proceed
    }
  }
}
