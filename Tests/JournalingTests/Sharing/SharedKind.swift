import Foundation
import Locks
import LogbookModel
import PostgresLog
import SharedJournals
import TestSupport

@testable import Journaling

/// A kind of shared log, and how tests use it.
struct SharedKind: Sendable, CustomStringConvertible {
  let description: String
  /// Makes a place for a shared log. Returns how to reach it, and its address.
  let make: @Sendable () throws -> (sharing: any LogSharing, address: String)
  /// Restores the shared log as of a revision, as if from a backup, and cuts all connections if that is requested.
  let putBack: @Sendable (_ sharing: any LogSharing, _ address: String, Revision, _ cuts: Bool) throws -> Void
  /// Cuts all connections, and refuses new ones if it is to be down.
  let setDown: @Sendable (_ sharing: any LogSharing, _ address: String, _ isDown: Bool) throws -> Void
  /// Watches which entries clients read, on connections that begin from now on. Returns how to learn their ranges.
  let watchReads:
    @Sendable (_ sharing: any LogSharing, _ address: String) throws -> () throws -> [ClosedRange<Revision>]

  static let all = [memory] + (PostgresServer.isInstalled ? [postgres] : [])

  static let memory = SharedKind(
    description: "memory",
    make: {
      let memory = SharedMemory()
      return (memory, memory.address)
    },
    putBack: { sharing, _, revision, cuts in
      guard let memory = sharing as? SharedMemory else { return }
      if cuts { memory.cut(isDown: true) }
      memory.contents.withLock { $0.entries.removeSubrange(revision...) }
      if cuts { memory.cut() }
    },
    setDown: { sharing, _, isDown in (sharing as? SharedMemory)?.cut(isDown: isDown) },
    watchReads: { sharing, _ in
      guard let memory = sharing as? SharedMemory else { return { [] } }
      memory.contents.withLock { $0.reads = [] }
      return { memory.contents.withLock { $0.reads } }
    })

  static let postgres = SharedKind(
    description: "PostgreSQL",
    make: {
      let address = try PostgresServer.shared.get().makeDatabase()
      let sharing = JournalOptions().sharingThroughPostgres().sharing
      guard let sharing else { throw JournalError(.wrongUse, "there is no sharing") }
      return (sharing, address)
    },
    putBack: { _, address, revision, cuts in
      let server = try PostgresServer.shared.get()
      try server.sql("DELETE FROM journal_entries WHERE revision > \(revision)", at: address)
      try server.sql("UPDATE journal_logs SET revision = \(revision)", at: address)
      if cuts { try cutConnections(to: database(at: address)) }
    },
    setDown: { _, address, isDown in
      let database = database(at: address)
      try PostgresServer.shared.get().sql("ALTER DATABASE \(database) ALLOW_CONNECTIONS \(!isDown)")
      try cutConnections(to: database)
    },
    watchReads: { _, address in
      let server = try PostgresServer.shared.get()
      try server.sql("ALTER DATABASE \(database(at: address)) SET log_statement = 'all'")
      let log = URL(filePath: "\(server.path).log")
      let before = try Data(contentsOf: log).count
      return {
        // Only statements that read entries have these parameters: a journal and two revisions.
        String(decoding: try Data(contentsOf: log).dropFirst(before), as: UTF8.self)
          .matches(of: /parameters: \$1 = '[^']*', \$2 = '([0-9]+)', \$3 = '([0-9]+)'\n/)
          .compactMap { match in
            guard let first = Revision(match.1), let last = Revision(match.2) else { return nil }
            return first...max(first, last)
          }
      }
    })

  private static func database(at address: String) -> String {
    String(address.split(separator: "/").last?.split(separator: "?").first ?? "")
  }

  private static func cutConnections(to database: String) throws {
    try PostgresServer.shared.get().sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)' AND pid <> pg_backend_pid()"
    )
  }
}

/// Several nodes of one journal, each in its own folder.
final class Nodes {
  let kind: SharedKind
  let sharing: any LogSharing
  let address: String
  private let folder: TemporaryFolder

  init(_ kind: SharedKind, in folder: TemporaryFolder) throws {
    self.kind = kind
    self.folder = folder
    (sharing, address) = try kind.make()
  }

  var options: JournalOptions {
    var options = JournalOptions()
    options.sharing = sharing
    return options
  }

  func url(_ node: Int) -> URL { folder.url.appending(path: "Node\(node).journal") }

  /// Makes a journal of one account with a balance of 100, and shares it.
  func share() throws {
    let journal = try Journal<Ledger>.create(at: url(0))
    try journal.commit { _ = try $0.open(owner: "Ana", balance: 100) }
    try journal.close()
    try Journal<Ledger>.share(at: url(0), through: sharing, address: address, options: options) { _ in }
  }

  func join(_ node: Int) throws {
    _ = try Journal<Ledger>.join(
      through: sharing, address: address, id: nil, at: url(node), options: options
    ) { _ in }
  }

  func open(_ node: Int) throws -> Journal<Ledger> {
    try Journal<Ledger>.open(at: url(node), options: options)
  }

  /// Restores the shared log as if from an old backup.
  func putBack(to revision: Revision, cutting: Bool = true) throws {
    try kind.putBack(sharing, address, revision, cutting)
  }

  func setDown(_ isDown: Bool) throws { try kind.setDown(sharing, address, isDown) }

  /// Watches which entries are read on later connections. Returns how to learn their ranges.
  func watchReads() throws -> () throws -> [ClosedRange<Revision>] { try kind.watchReads(sharing, address) }
}

/// Calls `body` with a shared journal of one account and one node, which is closed.
func withShared(_ kind: SharedKind, _ body: (Nodes) throws -> Void) throws {
  try withTemporaryFolder { folder in
    let nodes = try Nodes(kind, in: folder)
    try nodes.share()
    try body(nodes)
  }
}

/// Calls `body` with the open nodes of one journal, and closes them.
func withNodes(
  _ kind: SharedKind, _ count: Int, _ body: (Nodes, [Journal<Ledger>]) throws -> Void
) throws {
  try withShared(kind) { nodes in
    for node in 1..<count { try nodes.join(node) }
    let open = try (0..<count).map { try nodes.open($0) }
    defer { for journal in open { try? journal.close() } }
    try body(nodes, open)
  }
}

/// Calls `body` with an empty open node, whose log is in memory, and closes it.
func withLogbook(_ body: (SharedMemory, Journal<Logbook>) throws -> Void) throws {
  try withTemporaryFolder { folder in
    let memory = SharedMemory()
    var options = JournalOptions()
    options.sharing = memory
    let url = folder.url.appending(path: "Node.journal")
    try Journal<Logbook>.create(at: url).close()
    try Journal<Logbook>.share(at: url, through: memory, address: memory.address, options: options) { _ in }
    let journal = try Journal<Logbook>.open(at: url, options: options)
    try body(memory, journal)
    try journal.close()
  }
}
