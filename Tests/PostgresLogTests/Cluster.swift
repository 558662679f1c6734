import Foundation
import TestSupport

/// A primary and its synchronous standby, each on a small disk of its own and behind a proxy whose port never changes.
final class Cluster {
  private let sites: [Site]
  private(set) var primary: PostgresServer
  private(set) var standby: PostgresServer
  /// The index of the primary's site.
  private var primarySite = 0

  private struct Site {
    /// The folder that a disk is mounted at.
    let path: String
    let proxy: CuttingProxy
  }

  private static let settings = [
    "hot_standby=on", "max_wal_size=96MB", "min_wal_size=32MB", "wal_keep_size=64MB",
  ]

  /// - Parameter disks: where two disks are mounted.
  init(on disks: [String]) throws {
    primary = try PostgresServer(Self.settings, in: disks[0])
    standby = try PostgresServer(Self.settings, standbyOf: primary, in: disks[1])
    sites = try zip(disks, [primary, standby]).map { try Site(path: $0, proxy: CuttingProxy(to: $1.port)) }
    try waitForStandby()
  }

  /// Mounts two disks of this many megabytes while `body` runs.
  static func withDisks(megabytes: Int, _ body: ([String]) throws -> Void) throws {
    let disks = try (0..<2).map { _ in try PostgresServer.makeFolder() }
    let user = PostgresServer.userID
    let options = [
      "-t", "tmpfs", "-o", "size=\(megabytes)m,mode=700,uid=\(user),gid=\(user)", "none",
    ]
    try Mount.with(options, at: disks[0]) { try Mount.with(options, at: disks[1]) { try body(disks) } }
  }

  /// The address for clients: it names both servers, and a client takes the one that accepts writes.
  var address: String {
    let hosts = sites.map { "127.0.0.1:\($0.proxy.port)" }.joined(separator: ",")
    return "postgresql://journal@\(hosts)/postgres?target_session_attrs=read-write&connect_timeout=5"
  }

  func stop() {
    for site in sites { site.proxy.close() }
    for server in [primary, standby] where server.isRunning { try? server.stop() }
  }

  /// Makes commits wait for the standby, and returns when the standby has caught up.
  private func waitForStandby() throws {
    try primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
    try primary.sql("SELECT pg_reload_conf()")
    // Commits wait only after the checkpointer has read the setting, which it does between two checkpoints.
    for _ in 0..<2 { try primary.sql("CHECKPOINT") }
    try waitUntilSynchronous()
  }

  private func waitUntilSynchronous() throws {
    let count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    for _ in 0..<3000 {
      if try primary.sql(count).hasPrefix("1") { return }
      usleep(100_000)
    }
    throw PostgresFailure(description: "the standby does not follow the primary")
  }

  // MARK: Faults

  /// Kills the primary, promotes the standby, and makes a new standby in the primary's place.
  func failOver() throws {
    try waitUntilSynchronous()
    let old = primary
    try old.kill()
    try standby.promote()
    primary = standby
    // Until there is a new standby, the primary is alone.
    try primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
    try primary.sql("SELECT pg_reload_conf()")
    try FileManager.default.removeItem(atPath: old.path)
    let site = sites[primarySite]
    standby = try PostgresServer(Self.settings, standbyOf: primary, in: site.path)
    site.proxy.redirect(to: standby.port)
    primarySite = 1 - primarySite
    try waitForStandby()
  }

  /// Replaces the primary by a standby that lacks entries, as no administrator should: commits stop waiting for the
  /// standby, which ends, and is promoted after `body`.
  func betray(_ body: () throws -> Void) throws {
    try primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
    try primary.sql("SELECT pg_reload_conf()")
    // Otherwise commits would still wait, as in `waitForStandby`.
    for _ in 0..<2 { try primary.sql("CHECKPOINT") }
    try standby.stop()
    try body()
    try primary.kill()
    try standby.start()
    try standby.promote()
    // libpq does not try the next server after one that accepts a connection and closes it.
    sites[primarySite].proxy.redirect(to: standby.port)
    (primary, standby) = (standby, primary)
    primarySite = 1 - primarySite
  }

  /// Lets the network lose everything for a while.
  func loseNetwork(_ microseconds: UInt32) throws {
    for site in sites { try site.proxy.setSilent(true) }
    usleep(microseconds)
    for site in sites { try site.proxy.setSilent(false) }
  }

  /// Kills the primary and starts it again.
  func crash() throws {
    try primary.kill()
    usleep(300_000)
    try primary.start()
  }

  func pause(_ server: PostgresServer, _ microseconds: UInt32) throws {
    try server.pause(true)
    usleep(microseconds)
    try server.pause(false)
  }

  func cut(after byteCount: Int) { for site in sites { site.proxy.cut(after: byteCount) } }
  func stopCutting() { for site in sites { site.proxy.cut(after: nil) } }

  /// Fills the disk of the primary for a while. A server without room for its write-ahead log ends; it is started again
  /// when there is room.
  func fillDisk(_ microseconds: UInt32) throws {
    let ballast = "\(sites[primarySite].path)/ballast"
    let attributes = try FileManager.default.attributesOfFileSystem(forPath: sites[primarySite].path)
    let free = (attributes[.systemFreeSize] as? Int ?? 0) - (256 << 10)
    _ = FileManager.default.createFile(atPath: ballast, contents: nil)
    let file = try FileHandle(forWritingTo: URL(filePath: ballast))
    do {
      for _ in 0..<(free >> 20) { try file.write(contentsOf: Data(count: 1 << 20)) }
    } catch let error as CocoaError where error.code == .fileWriteOutOfSpace {
      // The server has used some of the space meanwhile, so the disk is full already.
    }
    try file.close()
    usleep(microseconds)
    try FileManager.default.removeItem(atPath: ballast)
    // The server may still be about to end.
    for _ in 0..<3000 {
      if (try? primary.sql("SELECT 1")) != nil { return }
      if !primary.isRunning { try? primary.start() }
      usleep(100_000)
    }
    throw PostgresFailure(description: "the primary does not come back")
  }
}
