import Foundation
import Journaling
import LogbookModel
import TestSupport

/// One thread that takes and drops snapshots forever, in addition to the layers that the journal writes automatically.
struct SnapshotTender: Sendable {
  let journal: Journal<Logbook>
  let seed: UInt64

  func run() throws {
    var random = SeededGenerator(seed: ~seed)
    while true {
      usleep(UInt32.random(in: 0..<3000, using: &random))
      let newest = journal.head.revision
      guard newest > 0 else { continue }
      let isNewest = random.chance(1, in: 2)
      let revision = isNewest ? newest : Revision.random(in: 1...newest, using: &random)
      do {
        try journal.takeSnapshot(asOf: .revision(revision))
      } catch let error as JournalError where error.code == .pruned {
        // An `Eraser` has pruned it.
      }
      guard random.chance(2, in: 3), let other = try journal.snapshots().randomElement(using: &random) else {
        continue
      }
      do {
        try journal.dropSnapshot(at: other.revision)
      } catch let error as JournalError where error.code == .notFound {
        // The journal itself has dropped it.
      }
    }
  }
}
