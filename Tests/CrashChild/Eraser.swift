import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport

/// A thread that erases pages, and prunes the history now and then, while others commit. After each erasure has
/// returned, it prints "erased <turn>".
struct Eraser: Sendable {
  let journal: Journal<Logbook>
  let firstTurn: Int
  let seed: UInt64

  func run() throws {
    var random = SeededGenerator(seed: seed &+ 1_000)
    for turn in firstTurn... {
      let page = 1_000 + turn
      let blob = try journal.blobs.add(Data("<image \(turn)>".utf8))
      try journal.commit(by: "eraser", note: "<note \(turn)>") {
        try $0.write(page, "<text \(turn)>", blob: blob)
      }
      try journal.erase([.page(page)], reason: "by law", by: "eraser", includingWords: true)
      say("erased \(turn)")
      let point = journal.head.revision - 50
      if point > 0, random.chance(1, in: 3) { try journal.prune(before: .revision(point), by: "eraser") }
    }
  }
}
