import Files
import Foundation
import Journaling
import Locks
import LogbookModel

/// Erases page 2 of a journal, and kills its process before the operation on the disk of a number.
struct KilledErasure {
  let url: URL
  let last: Int

  func run() throws {
    let count = Lock(0)
    let last = last
    _ = try Journal<Logbook>.erase(
      [.page(2)], at: url, reason: "by law", by: "eve", includingWords: true,
      hook: { _ in
        let now = count.withLock { count in
          defer { count += 1 }
          return count
        }
        if now == last { kill(getpid(), SIGKILL) }
        return .proceed
      }, progress: { _ in })
  }
}
