import Journaling

/// A connection that learns of new entries: by notifications of the server, and by polling, because notifications can
/// be lost, and not every compatible engine has them.
///
/// Safe to use from any thread.
final class Listener: Sendable {
  private let connection: Connection
  private let journal: [UInt8]
  /// The interval of polling.
  private let interval: Duration

  init(_ address: ServerAddress, _ journal: [UInt8]) throws(ServerFailure) {
    connection = try address.connect()
    self.journal = journal
    do throws(ServerFailure) {
      try connection.run("LISTEN \(ServerLog.channel(journal))", within: ServerAddress.patience)
      interval = .seconds(1)
    } catch {
      guard error.kind == .refused else { throw error }
      interval = .milliseconds(20)
    }
  }

  /// The newest revision, as soon as it is above another one or the time has passed.
  func newest(after revision: Revision, waitingAtMost time: Duration) throws(ServerFailure) -> Revision {
    let deadline = ContinuousClock.now + time
    while true {
      let newest = try ServerLog.newest(of: journal, connection)
      let now = ContinuousClock.now
      if newest > revision || now >= deadline { return newest }
      _ = try connection.waitForNotification(atMost: min(interval, deadline - now))
    }
  }

  /// Ends all waits.
  func end() { connection.interrupt() }
}
