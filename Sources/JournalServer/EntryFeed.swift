import CatalogModel
import Dispatch
import HTTPServer
import JSON
import Locks

/// Notifies waiting connections of new entries.
///
/// One thread waits for the journal, however many clients there are. It is not a task, because in an app the task pool
/// may be full of tasks that wait for these notifications.
///
/// Safe to use from any thread.
final class EntryFeed: Sendable {
  /// Entries in quick succession are reported together.
  private static let pause = 0.01
  /// After this time without an entry, the feed checks whether the other process can still be followed.
  private static var checkInterval: Duration { .seconds(1) }

  private let journal: CatalogJournal
  private let threads: WorkerThreads
  private let newest: NewestRevision
  private let failure = Lock<JournalError?>(nil)
  private let isEnding = Lock(false)
  /// Signaled when it is to end.
  private let endSignal = TimedSemaphore(value: 0)

  init(_ journal: CatalogJournal, _ threads: WorkerThreads) {
    self.journal = journal
    self.threads = threads
    newest = NewestRevision(journal.head.revision)
  }

  /// Starts waiting.
  /// - Parameter whenNew: called soon after new entries. It must not keep the journal.
  /// - Throws: ``JournalError`` with code `outOfResources` if the system has no thread.
  func start(whenNew: @escaping @Sendable () -> Void) throws(JournalError) {
    guard threads.start(for: self, { $0.run(whenNew) }) else {
      throw JournalError(.outOfResources, "the system has no thread for new entries; try again")
    }
  }

  private func run(_ whenNew: () -> Void) {
    repeat {
      let seen = newest.revision
      let found = journal.waitForEntries(after: seen, atMost: Self.checkInterval) {
        !isEnding.withLock { $0 }
      }
      guard let found else { break }
      if found > seen {
        newest.raise(to: found)
        whenNew()
      } else if let problem = check() {
        failure.withLock { $0 = problem }
        break
      }
    } while endSignal.wait(timeout: .now() + Self.pause) == .timedOut
    newest.close()
  }

  /// Why no more entries will come: the journal was closed, or another process can't be followed any more.
  private func check() -> JournalError? {
    do {
      try journal.catchUp()
    } catch let error as JournalError where ![.outOfResources, .unreachable].contains(error.code) {
      return error
    } catch {}
    return nil
  }

  /// Why entries of another process are no longer seen, or nil if they are.
  var problem: JournalError? { failure.withLock { $0 } }

  /// Asks its thread to end soon.
  func end() {
    isEnding.withLock { $0 = true }
    endSignal.signal()
    journal.wakeWaitingThreads()
    newest.close()
  }

  /// Waits on the caller's thread for an entry after a revision.
  /// - Returns: the newest revision, which is the given one if the time ran out, or nil if no more entries will come.
  func wait(after revision: Revision, atMost time: Duration) -> Revision? {
    newest.wait(after: revision, atMost: time)
  }
}

/// The entries after a revision as an endless stream of server-sent events. The `id` of each event is its revision.
/// After an interruption, a client continues from that revision.
final class EventStream: BufferedBody {
  /// The interval of comments that keep the connection alive and detect clients that have disappeared.
  private static var heartbeat: Duration { .seconds(15) }

  private let journal: CatalogJournal
  private let feed: EntryFeed
  private var last: Revision
  private var isBegun = false

  init(_ journal: CatalogJournal, _ feed: EntryFeed, after revision: Revision) {
    self.journal = journal
    self.feed = feed
    last = revision
  }

  override func nextPortion() throws -> [UInt8]? {
    if !isBegun {
      isBegun = true
      return Array("retry: 1000\n\n".utf8)
    }
    guard let newest = feed.wait(after: last, atMost: Self.heartbeat) else { return nil }
    guard newest > last else { return Array(": nothing new\n\n".utf8) }
    let entry = try journal.entry(at: last + 1)
    last = entry.revision
    var writer = JSONWriter()
    entry.writeOutline(to: &writer, eventLimit: Entry.listedEventCount)
    return Array("id: \(entry.revision)\nevent: entry\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
  }
}

extension Entry {
  /// How many events of each entry a list shows, unless the request names another number.
  static var listedEventCount: Int { 20 }

  /// Writes the entry as `log --json` prints it, with the first of its events, the number of its events, and the number
  /// for each operation. Events that begin beyond the limit of a list are left out.
  func writeOutline(to writer: inout JSONWriter, eventLimit: Int) {
    writer.object { writer in
      writeHead(to: &writer)
      writer.object("counts") { writer in
        for operation in [JournalEvent.Operation.add, .update, .delete] {
          writer.member(operation.name, events.count { $0.operation == operation })
        }
      }
      writer.member("eventCount", events.count)
      writer.list("events", of: events.prefix(eventLimit)) { Catalog.write($1, to: &$0) }
    }
  }
}
