import CatalogModel
import Dispatch
import Foundation
import HTTPServer
import JSON
import Locks

/// Handles requests about one journal. ``Route/all`` lists the requests.
///
/// Safe to use from any thread.
final class JournalAPI: HTTPHandler {
  let journal: CatalogJournal
  let options: JournalServer.Options
  let access: AccessControl
  /// Recently used states: several requests of a page are for the same state.
  let states = RecentValues<Revision, Version<Catalog>>(atMost: 8)
  /// Held during a replay, so that a request for the same state waits instead of replaying it too.
  let replays = Lock(())
  /// Searches in progress. Each takes eight bytes of memory for every item found.
  let searches = RecentValues<SearchQuestion, SearchInProgress>(atMost: 6)
  /// The entities that differ between two revisions.
  let differences = RecentValues<[Revision], [EntityKey]>(atMost: 6)
  /// What is attributed to the first entry, and to those that made the tags, by the numbers of these.
  let attributions = RecentValues<[Int], [Attribution?]>(atMost: 1)
  let timeline: Timeline
  let images: ImageCheck
  private let threads = WorkerThreads()
  private let isEnding = Lock(false)
  /// The error after which the journal takes no more commits; nil while it takes commits.
  let refusal = Lock<JournalError?>(nil)
  /// Limits the requests in progress to 8, because more would only take more memory.
  private let turns = TimedSemaphore(value: 8)
  /// Limits the searches of all past states, which read the whole log, to one.
  let everTurn = TimedSemaphore(value: 1)

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

  /// Waits until the threads have ended. Call it after ``end()`` and the last request.
  func wait() { threads.wait() }

  /// Answers a request. If 8 others are in progress, waits for up to 20 seconds for one of them to end.
  /// - Throws: ``APIError``; ``JournalError``, also if a part of the state could not be read.
  func answer(_ request: HTTPRequest) throws -> HTTPResponse {
    guard turns.wait(timeout: .now() + 20) == .success else { throw APIError.busy }
    defer { turns.signal() }
    let (route, path) = try Route.of(request)
    guard case .read(let handle) = route.work else { preconditionFailure("a GET route reads") }
    let response = try handle(self, Parameters(request, of: route, path: path))
    if let failure = journal.state.failure { throw failure }
    return response
  }
}
