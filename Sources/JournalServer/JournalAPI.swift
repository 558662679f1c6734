import CatalogModel
import Dispatch
import Foundation
import HTTPServer
import JSON
import Locks

/// Handles requests about one journal. ``Route/all`` lists them.
///
/// Safe to use from any thread.
final class JournalAPI: HTTPHandler {
  let journal: CatalogJournal
  let options: JournalServer.Options
  let access: AccessControl
  /// Several requests of a page are for the same state.
  let states = RecentValues<Revision, Version<Catalog>>(atMost: 8)
  /// Held during a replay, because the next request is often for the same state.
  let replays = Lock(())
  /// Searches in progress, with eight bytes for each item found.
  let searches = RecentValues<SearchQuestion, SearchInProgress>(atMost: 6)
  /// The entities that differ between two revisions.
  let differences = RecentValues<[Revision], [EntityKey]>(atMost: 6)
  let timeline: Timeline
  let images: ImageCheck
  private let threads = WorkerThreads()
  private let isEnding = Lock(false)
  /// Why the journal takes no more commits; nil if it does.
  let refusal = Lock<JournalError?>(nil)
  /// Limits the requests in progress, because more would only take more memory.
  private let turns = TimedSemaphore(value: 8)

  init(_ journal: CatalogJournal, _ options: JournalServer.Options) throws(JournalError) {
    self.journal = journal
    self.options = options
    access = try AccessControl(options)
    images = ImageCheck(journal.blobs)
    timeline = Timeline(journal, threads)
    timeline.catchUp()
  }

  /// Asks the threads to end soon, and ends the streams of entries.
  func end() {
    isEnding.withLock { $0 = true }
    journal.wakeWaitingThreads()
    timeline.end()
  }

  /// Whether the streams of entries continue.
  var isServing: Bool { isEnding.withLock { !$0 } }

  /// Waits for the threads, after ``end()`` and the last request.
  func wait() { threads.wait() }

  /// Waits until not too many other requests are in progress.
  /// - Throws: ``JournalError`` also if a part of the state could not be read.
  func answer(_ request: HTTPRequest) throws -> HTTPResponse {
    guard turns.wait(timeout: .now() + 20) == .success else {
      var error = APIError(503, "busy", "the server is busy; try again")
      error.headers.append(("Retry-After", "2"))
      throw error
    }
    defer { turns.signal() }
    let (route, path) = try Route.of(request)
    guard case .read(let handle) = route.work else { preconditionFailure("a GET route reads") }
    let response = try handle(self, Parameters(request, of: route, path: path))
    if let failure = journal.state.failure { throw failure }
    return response
  }
}
