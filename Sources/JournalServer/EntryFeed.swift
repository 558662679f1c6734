import CatalogModel
import Dispatch
import HTTPServer
import JSON
import Locks

/// Wakes the connections that wait for entries.
///
/// One thread looks for new entries, however many clients there are. It is no task: each connection that waits has a
/// thread of its own, but in an app the tasks' pool may be full of others that wait for what it would tell them.
///
/// Safe to use from many threads.
final class EntryFeed: Sendable {
  private struct Waiting: Sendable {
    var isEnded = false
    var nextKey = 0
    var waiters: [Int: DispatchSemaphore] = [:]
    var problem: JournalError?
  }

  /// As often as a follower looks for entries of another process.
  private static let pause = 0.01
  /// After so many looks it is asked whether another process can still be followed.
  private static let checkCount = 100

  private let journal: CatalogJournal
  private let waiting = Lock(Waiting())
  private let isEnding = DispatchSemaphore(value: 0)

  init(_ journal: CatalogJournal) { self.journal = journal }

  /// Begins to look.
  /// - Parameter whenNew: called soon after there are new entries.
  func start(whenNew: @escaping @Sendable () -> Void) {
    // Without a thread, those who wait look for themselves each time their patience ends.
    _ = Threads.start { [self] in
      var seen = journal.head.revision
      var count = 0
      while isEnding.wait(timeout: .now() + Self.pause) == .timedOut {
        count += 1
        if count % Self.checkCount == 0, let problem = check() {
          return wake { waiting in
            waiting.problem = problem
            waiting.isEnded = true
          }
        }
        let newest = journal.head.revision
        if newest == seen { continue }
        seen = newest
        wake { _ in }
        whenNew()
      }
    }
  }

  /// Why no more entries will come: the journal was closed, or another process can't be followed any more.
  private func check() -> JournalError? {
    do {
      try journal.catchUp()
    } catch let error as JournalError where error.code != .outOfResources {
      return error
    } catch {}
    return nil
  }

  /// Why entries of another process are not seen any more; nil when they are.
  var problem: JournalError? { waiting.withLock { $0.problem } }

  func end() {
    isEnding.signal()
    wake { $0.isEnded = true }
  }

  private func wake(_ change: (inout Waiting) -> Void) {
    let waiters = waiting.withLock { waiting in
      change(&waiting)
      return Array(waiting.waiters.values)
    }
    for waiter in waiters { waiter.signal() }
  }

  /// Waits on the caller's thread for an entry after a revision.
  /// - Returns: the newest revision, which is not newer when the time was over first; nil when no more will come.
  func wait(after revision: Revision, atMost seconds: Double) -> Revision? {
    let semaphore = DispatchSemaphore(value: 0)
    let deadline = DispatchTime.now() + seconds
    let key = waiting.withLock { waiting in
      waiting.nextKey += 1
      waiting.waiters[waiting.nextKey] = semaphore
      return waiting.nextKey
    }
    defer { _ = waiting.withLock { $0.waiters.removeValue(forKey: key) } }
    var isOver = false
    while true {
      // An end comes before what is left to be read: the client goes on from there elsewhere.
      if waiting.withLock({ $0.isEnded }) { return nil }
      let newest = journal.head.revision
      if newest > revision || isOver { return newest }
      isOver = semaphore.wait(timeout: deadline) == .timedOut
    }
  }
}

/// The entries after a revision as server-sent events, without an end. The `id` of each is its revision, from which a
/// client goes on after an interruption.
final class EventStream: BufferedBody {
  /// What shows that the connection is alive, and lets a client that vanished be noticed.
  private static let heartbeatSeconds = 15.0

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
    guard let newest = feed.wait(after: last, atMost: Self.heartbeatSeconds) else { return nil }
    guard newest > last else { return Array(": nothing new\n\n".utf8) }
    let entry = try journal.entry(at: last + 1)
    last = entry.revision
    var writer = JSONWriter()
    entry.writeOutline(to: &writer, eventLimit: EntryOutline.eventLimit)
    return Array("id: \(entry.revision)\nevent: entry\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
  }
}

/// How much of an entry a list shows.
enum EntryOutline {
  static let eventLimit = 20
}

extension Entry {
  /// Writes the entry as `log --json` prints it, with some of its events, how many there are and how many of each
  /// operation.
  func writeOutline(to writer: inout JSONWriter, eventLimit: Int) {
    writer.beginObject()
    writeHead(to: &writer)
    writer.key("counts")
    writer.beginObject()
    for operation in [JournalEvent.Operation.add, .update, .delete] {
      writer.member(operation.name, events.count { $0.operation == operation })
    }
    writer.endObject()
    writer.member("eventCount", events.count)
    writer.key("events")
    writer.beginArray()
    for event in events.prefix(eventLimit) { Catalog.write(event, to: &writer) }
    writer.endArray()
    writer.endObject()
  }
}
