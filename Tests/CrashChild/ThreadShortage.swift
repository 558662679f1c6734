import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel

/// Uses a journal in a process that can create no more threads. Exits with 0 if everything works.
enum ThreadShortage {
  static func run(_ url: URL) -> Never {
    Task { @MainActor in
      do {
        try await withoutThreads(url)
        exit(0)
      } catch {
        fail("\(error)")
      }
    }
    // The main thread runs the main actor's tasks, so this needs no other thread.
    RunLoop.main.run()
    fail("the main thread has nothing to do")
  }

  @MainActor private static func withoutThreads(_ url: URL) async throws {
    // A thread needs 8 MiB of addresses for its stack. Everything else here needs little.
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[0]
    limitAddresses(to: UInt(pages)! * UInt(sysconf(Int32(_SC_PAGESIZE))) + (6 << 20))
    check(!Threads.start {}, "there was a thread to be had")

    let journal = try Journal<Logbook>.create(at: url, options: JournalOptions(layers: .manual))
    for number in 1...300 { try write(number, to: journal) }
    for number in 301...320 { try await journal.commit { try $0.write(number, "suspending") } }
    let blobs = try journal.blobs.add((0..<20).map { Data("image \($0)".utf8) })
    try await journal.commit { draft in
      for (index, blob) in blobs.enumerated() { try draft.write(400 + index, "image", blob: blob) }
    }
    let head = journal.head
    try journal.close()
    // There are enough entries that a replay would use a second thread.
    let opened = try Journal<Logbook>.open(at: url, options: JournalOptions(layers: .manual))
    check(opened.head == head, "another head")
    try check(try opened.verify().isSound, "not sound")
    try opened.close()

    let large = url.appendingPathExtension("large")
    try writeSnapshot(large)
    try readSnapshot(large)
  }

  private static let pageCount = 1_500

  /// Writes a snapshot with so many pages that a second thread would help to decode them.
  private static func writeSnapshot(_ url: URL) throws {
    let journal = try Journal<Logbook>.create(at: url, options: JournalOptions(layers: .manual))
    try journal.commit { draft in for number in 1...pageCount { try draft.write(number, "page \(number)") } }
    try journal.takeSnapshot()
    try journal.close()
  }

  private static func readSnapshot(_ url: URL) throws {
    let journal = try Journal<Logbook>.open(at: url, options: JournalOptions(layers: .manual))
    try check(try journal.statistics().replayedEventCount == 0, "the snapshot is not used")
    check(journal.state.pages.reduce(0) { count, _ in count + 1 } == pageCount, "pages are missing")
    try journal.close()
    // Nothing could tell a follower of new entries.
    do {
      try Journal<Logbook>.open(at: url, mode: .follow).close()
      fail("following needs a thread")
    } catch let error as JournalError { check(error.code == .outOfResources, "\(error)") }
  }

  /// Blocks, where an `async` function would suspend.
  private static func write(_ number: Int, to journal: Journal<Logbook>) throws {
    try journal.commit { try $0.write(number, "blocking") }
  }

  private static func limitAddresses(to byteCount: UInt) {
    var limits = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
    unsafe getrlimit(resource, &limits)
    limits.rlim_cur = rlim_t(byteCount)
    check(unsafe setrlimit(resource, &limits) == 0, "the limit can't be set")
  }

  private static func check(_ isSo: @autoclosure () throws -> Bool, _ complaint: String) rethrows {
    if try !isSo() { fail(complaint) }
  }
}
