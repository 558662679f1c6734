import Journaling
import Locks

/// A connection that learns about new entries in two ways: by notifications of the server, and by polling, because
/// notifications can be lost, and a role may not be allowed to notify.
///
/// Safe to use from any thread.
final class Listener: Sendable {
  private let connection: Connection
  private let journal: Connection.Parameter
  private static let interval = Duration.seconds(1)
  private let known: Lock<Revision>

  init(_ address: ServerAddress, _ journal: JournalID) throws(ServerFailure) {
    connection = try address.connect(isFirst: false)
    self.journal = .uuid(journal.bytes)
    try connection.run("LISTEN \(Schema.channel(of: journal))")
    // Read after LISTEN, so that every later entry is followed by a notification.
    known = Lock(try connection.newest(of: self.journal))
  }

  /// Waits until the newest revision is above the given one, or the time has passed. Returns the newest revision.
  /// - Parameter stored: waits for any statement in progress, and returns the newest revision that this node knows to
  ///   be stored.
  func newest(
    after revision: Revision, waitingAtMost time: Duration, stored: () -> Revision
  ) throws(ServerFailure) -> Revision {
    let deadline = ContinuousClock.now + time
    while true {
      let known = known.withLock { $0 }
      let now = ContinuousClock.now
      if known > revision || now >= deadline { return known }
      let told = try connection.notifications(atMost: min(Self.interval, deadline - now))
      // Any client can send a notification, so the server is asked, unless this node has committed these entries or got
      // them with its turn.
      let newestTold = told.map { Revision($0) ?? .max }.max() ?? .max
      let newestStored = told.isEmpty ? 0 : stored()
      let newest =
        newestTold <= newestStored
        ? max(known, newestStored) : try connection.newest(of: journal)
      guard newest >= known else {
        throw ServerFailure(.lost, "the log was replaced by an older one, with \(max(newest, 0)) entries")
      }
      self.known.withLock { $0 = max($0, newest) }
    }
  }

  func end() { connection.interrupt() }
}
