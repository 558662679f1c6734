import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport

/// A journal under load: 64 threads move money and write pages, and 8 read states of random revisions, of which each must
/// have all the money. Layers are written and merged, and snapshots taken and dropped meanwhile.
///
/// Each second, or later if little was done by then, it prints
/// "sample REVISION READS RESIDENT-BYTES LAYER-BYTES LAYERS DESCRIPTORS". The descriptors of LevelDB's tables
/// are not counted: there are as many as tables, up to a limit. It ends after a number of samples, with the
/// journal closed.
struct LoadedBank: Sendable {
  static let writerCount = 64
  static let readerCount = 8
  /// Besides the accounts.
  static let pageCount = 20_000

  let url: URL
  let seconds: Int
  let seed: UInt64

  func run() throws {
    let journal = try Journal<Logbook>.create(at: url)
    try journal.commit { try Bank.open(in: &$0) }
    let isOver = Lock(false)
    let readCount = Lock(0)
    let threads = DispatchGroup()
    func start(_ number: Int, _ body: @escaping @Sendable (inout SeededGenerator) throws -> Void) {
      threads.enter()
      Thread {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        do {
          while !isOver.withLock({ $0 }) { try body(&random) }
        } catch { fail("thread \(number): \(error)") }
        threads.leave()
      }.start()
    }
    for writer in 0..<Self.writerCount { start(writer) { try write(to: journal, &$0) } }
    for reader in 0..<Self.readerCount {
      start(Self.writerCount + reader) { random in
        try read(journal, &random)
        readCount.withLock { $0 += 1 }
      }
    }
    start(Self.writerCount + Self.readerCount) { _ in
      try journal.dropSnapshot(at: journal.takeSnapshot().revision)
    }
    for sample in 1...seconds {
      // On a busy machine, a second may not be enough for a load.
      var turns = 0
      repeat {
        sleep(1)
        turns += 1
      } while turns < 60
        && (journal.head.revision < 200 * sample || readCount.withLock({ $0 }) < 2 * sample)
      let statistics = try journal.statistics()
      let descriptors = try openFilePaths().count { !$0.hasSuffix(".ldb") }
      say(
        "sample \(journal.head.revision) \(readCount.withLock { $0 }) \(residentByteCount ?? 0) "
          + "\(statistics.layerByteCount) \(statistics.layerCount) \(descriptors)")
    }
    isOver.withLock { $0 = true }
    threads.wait()
    try journal.close()
  }

  private func write(to journal: Journal<Logbook>, _ random: inout SeededGenerator) throws {
    let from = Int.random(in: 1...Bank.accountCount, using: &random)
    let to = from % Bank.accountCount + 1
    let page = Bank.accountCount + Int.random(in: 1...Self.pageCount, using: &random)
    let amount = Int.random(in: 1...Bank.balance, using: &random)
    do {
      try journal.commit { draft in
        try draft.write(page, "page \(page) \(random.next())")
        try Bank.transfer(amount, from: from, to: to, in: &draft)
      }
    } catch let error as JournalError where error.code == .rejected {
      // The account has less.
    }
  }

  private func read(_ journal: Journal<Logbook>, _ random: inout SeededGenerator) throws {
    let revision = Int.random(in: 1...journal.head.revision, using: &random)
    let state = try journal.state(asOf: .revision(revision))
    let sum = Bank.balances(in: state).reduce(0, +)
    guard sum == Bank.accountCount * Bank.balance else { fail("the sum at \(revision) is \(sum)") }
  }
}
