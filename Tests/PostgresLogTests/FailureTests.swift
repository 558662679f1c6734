import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import PostgresLog
import SharedJournals
import TestSupport
import Testing

/// Nodes that write while connections, servers and standbys fail: acknowledged commits are in the log once, and all
/// nodes come to the same history.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct FailureTests: SharedLogbook {
  /// Commits by several threads of several nodes, and what was acknowledged.
  private final class Writing: Sendable {
    let nodes: [Journal<Logbook>]
    let told = Lock<[Revision: String]>([:])
    let unknown = Lock<Set<String>>([])
    private let isEnding = Lock(false)
    private let group = DispatchGroup()

    init(_ nodes: [Journal<Logbook>]) { self.nodes = nodes }

    func start(writers: Int) throws {
      for writer in 0..<writers {
        group.enter()
        let node = nodes[writer % nodes.count]
        let isStarted = Threads.start {
          var turn = 0
          while !self.isEnding.withLock({ $0 }) {
            turn += 1
            let name = "\(writer) \(turn)"
            do {
              let commit = try node.commit(by: name) { try $0.write(writer * 1000 + turn % 5 + 1, name) }
              self.told.withLock { $0[commit.revision] = name }
            } catch let error as JournalError where error.code == .outcomeUnknown {
              self.unknown.withLock { _ = $0.insert(name) }
            } catch let error as JournalError
              where [.unreachable, .conflict, .outOfResources].contains(error.code)
            {
              usleep(2000)
            } catch {
              Issue.record(error)
              break
            }
          }
          self.group.leave()
        }
        try #require(isStarted)
      }
    }

    /// Waits until this many more commits were acknowledged; returns false after minutes without success.
    func wait(for count: Int) -> Bool {
      let goal = told.withLock { $0.count } + count
      for _ in 0..<30_000 where told.withLock({ $0.count }) < goal { usleep(10_000) }
      return told.withLock { $0.count } >= goal
    }

    func finish() {
      isEnding.withLock { $0 = true }
      group.wait()
    }

    /// Checks that each acknowledged commit is in the log once, that the outcome of all others was unknown, and that
    /// the nodes agree.
    func check() throws {
      for node in nodes { try node.catchUp() }
      let head = nodes[0].head
      let told = told.withLock { $0 }
      let unknown = unknown.withLock { $0 }
      var authors: [String: Revision] = [:]
      for revision in 2...head.revision {
        let author = try nodes[0].entry(at: revision).author
        #expect(authors.updateValue(revision, forKey: author) == nil, "\(author) is there twice")
      }
      for (revision, name) in told {
        #expect(authors[name] == revision, "\(name) was acknowledged as \(revision)")
      }
      let others = Set(authors.keys).subtracting(told.values)
      #expect(
        others.isSubset(of: unknown),
        "these commits were reported to no caller: \(others.subtracting(unknown))")
      for node in nodes {
        #expect(node.head == head)
        let found = try node.verify(.deep)
        #expect(found.isSound, "\(found.problems)")
      }
    }
  }

  /// Expects that a backup, and one in a file, are sound and have an image.
  private func expectImage(
    _ blob: Blob, _ bytes: Data, in backup: URL, and file: URL, _ folder: TemporaryFolder
  ) throws {
    let restored = folder.url.appending(path: "Restored.journal")
    try Journal<Logbook>.create(at: restored, fromBackup: file)
    for url in [backup, restored] {
      let copy = try Journal<Logbook>.open(at: url, mode: .readOnly)
      #expect(try copy.blobs.data(of: blob) == bytes)
      #expect(try copy.verify(.deep).isSound)
      try copy.close()
    }
  }

  /// The server counts a transaction as idle while a message arrives. It used to end the turn after five seconds, and the
  /// commit lost to the one that waited.
  @Test func aTurnLastsAsLongAsALargeEntryOnASlowNetwork() throws {
    try withProxy { proxy, through, server, folder in
      let direct = through.replacing(":\(proxy.port)/", with: ":\(server.port)/")
      try share(at: through, in: folder)
      let slow = try nodes(1, at: through, in: folder)[0]
      let url = folder.url.appending(path: "Fast.journal")
      try Journal<Logbook>.join(direct, at: url)
      let fast = try Journal<Logbook>.open(at: url, options: Self.options)
      let text = String(repeating: "x", count: 3_000_000)
      let runs = Lock(0)
      let group = DispatchGroup()
      try slow.commit { draft in
        let run = runs.withLock { runs in
          runs += 1
          return runs
        }
        if run == 1 { try fast.commit { try $0.write(2, "fast") } }
        if run == 2 {
          // About 520 KB a second: more than five seconds in all.
          proxy.delay(by: .milliseconds(125))
          group.enter()
          let isStarted = Threads.start {
            sleep(1)
            do { try fast.commit { try $0.write(3, "waiting") } } catch { Issue.record(error) }
            group.leave()
          }
          try #require(isStarted)
        }
        try draft.write(4, text)
      }
      proxy.delay(by: .zero)
      group.wait()
      #expect(runs.withLock { $0 } == 2)
      try fast.catchUp()
      #expect(fast.head.revision == 4 && fast.state.pages[4]?.modified == 3)
      try slow.close()
      try fast.close()
    }
  }

  @Test func connectionsCutAtAnyByteNeitherLoseNorRepeatACommit() throws {
    var random = SeededGenerator()
    try withProxy { proxy, through, server, folder in
      try share(at: through, in: folder)
      let nodes = try nodes(2, at: through, in: folder)
      defer { for node in nodes { try? node.close() } }
      let writing = Writing(nodes)
      try writing.start(writers: 6)
      for _ in 0..<15 {
        #expect(writing.wait(for: 5))
        proxy.cut(after: Int.random(in: 1..<6000, using: &random))
        usleep(UInt32.random(in: 1000..<60_000, using: &random))
      }
      proxy.cut(after: nil)
      #expect(writing.wait(for: 5))
      writing.finish()
      try writing.check()
    }
  }

  /// One to get the turn and the entries of the others, and one to append and to commit.
  @Test func aTurnTakesTwoRoundTrips() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    let proxy = try CuttingProxy(to: server.port)
    defer { proxy.close() }
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let near = try nodes(1, at: address, in: folder)[0]
      let url = folder.url.appending(path: "Far.journal")
      let through = address.replacing(":\(server.port)/", with: ":\(proxy.port)/")
      try Journal<Logbook>.join(through, at: url)
      let far = try Journal<Logbook>.open(at: url, options: Self.options)
      defer { for node in [near, far] { try? node.close() } }
      /// The time of a commit whose body runs first on an old state, if there are `others`.
      var text = 0
      func time(others count: Int) throws -> Duration {
        var runs = 0
        let time = try ContinuousClock().measure {
          try far.commit { draft in
            runs += 1
            text += 1
            if runs == 1 {
              for other in 0..<count { try near.commit { try $0.write(7, "\(text) \(other)") } }
            }
            try draft.write(8, "\(text)")
          }
        }
        #expect(runs == (count > 0 ? 2 : 1))
        return time
      }
      // Until all statements are prepared, and the node knows that there are others.
      for _ in 0..<3 { _ = try time(others: 1) }
      proxy.delay(by: .milliseconds(20))
      var (alone, contended) = (Duration.seconds(60), Duration.seconds(60))
      // A third round trip would take three times as long in every round.
      for round in 0..<40 where round < 5 || contended >= alone * 2.8 {
        contended = min(contended, try time(others: 1))
        // The first of these reserves a turn too.
        for _ in 0..<2 { alone = min(alone, try time(others: 0)) }
        proxy.delay(by: .zero)
        _ = try time(others: 2)
        proxy.delay(by: .milliseconds(20))
      }
      proxy.delay(by: .zero)
      #expect(contended < alone * 2.8, "\(contended) with others, \(alone) without")
      try near.catchUp()
      #expect(far.head == near.head)
    }
  }

  @Test func aServerThatIsKilledAndComesBackHasAllThatWasAcknowledged() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      let nodes = try nodes(2, at: server.address, in: folder)
      defer { for node in nodes { try? node.close() } }
      let writing = Writing(nodes)
      try writing.start(writers: 4)
      for _ in 0..<2 {
        #expect(writing.wait(for: 20))
        try server.kill()
        // Reading continues.
        #expect(nodes[0].state.pages.count > 0)
        try server.start()
      }
      #expect(writing.wait(for: 20))
      writing.finish()
      try writing.check()
    }
    try server.stop()
  }

  @Test func aFailoverToASynchronousStandbyLosesNothingAcknowledged() throws {
    let (primary, standby) = try serverWithStandby()
    let address =
      "postgresql://journal@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/postgres"
      + "?target_session_attrs=read-write&connect_timeout=5"
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let nodes = try nodes(3, at: address, in: folder)
      defer { for node in nodes { try? node.close() } }
      let writing = Writing(nodes)
      try writing.start(writers: 6)
      #expect(writing.wait(for: 40))
      try primary.kill()
      try standby.promote()
      #expect(writing.wait(for: 40))
      writing.finish()
      try writing.check()
      let status = try nodes[0].sharing()
      #expect(status?.summary?.contains("no standby") == true && status?.missingCount == 0)
    }
    try standby.stop()
  }

  /// Waits until a commit waits for the standby.
  /// - Returns: a value for its session, empty if there was none in time.
  private func waitingCommit(_ value: String, on primary: PostgresServer) throws -> String {
    for _ in 0..<6000 {
      let found = try primary.sql("SELECT \(value) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      if !found.isEmpty { return found }
      usleep(10_000)
    }
    return ""
  }

  /// An entry that the primary has flushed and the standby lacks returns with the primary, but is lost in a failover. A
  /// node that had applied it would be left with another history.
  @Test func nodesApplyNothingThatTheStandbyLacks() throws {
    let (primary, standby) = try serverWithStandby()
    try withTemporaryFolder { folder in
      try share(at: primary.address, in: folder)
      let nodes = try nodes(2, at: primary.address, in: folder, options: Self.patientOptions)
      try nodes[1].close()
      let revision = Lock<Revision?>(nil)
      let done = DispatchGroup()
      try standby.pause(true)
      done.enter()
      let isStarted = Threads.start {
        let commit = try? nodes[0].commit(by: "late") { try $0.write(2, "late") }
        revision.withLock { $0 = commit?.revision }
        done.leave()
      }
      try #require(isStarted)
      #expect(try !waitingCommit("pid", on: primary).isEmpty)
      try primary.kill()
      try primary.start()
      #expect(try primary.sql("SELECT revision FROM journal_logs") == "2\n")
      let other = try Journal<Logbook>.open(
        at: folder.url.appending(path: "Node1.journal"), options: Self.options)
      usleep(2_000_000)
      #expect(other.head.revision == 1)
      #expect(revision.withLock { $0 } == nil)
      try standby.pause(false)
      done.wait()
      #expect(revision.withLock { $0 } == 2)
      try other.catchUp()
      #expect(other.head == nodes[0].head)
      try other.close()
      try nodes[0].close()
    }
    try standby.stop()
    try primary.stop()
  }

  /// A server that is told to stop waiting for the standby reports the commit as done, and sends a warning. If the
  /// role had no warnings sent, such a commit used to be acknowledged.
  @Test(arguments: ["warning", "error"])
  func aCommitThatTheStandbyLacksIsNotAcknowledged(level: String) throws {
    let (primary, standby) = try serverWithStandby()
    let address = primary.address(setting: "client_min_messages=\(level)")
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let node = try nodes(1, at: address, in: folder, options: Self.patientOptions)[0]
      let revision = Lock<Revision?>(nil)
      let done = DispatchGroup()
      try standby.pause(true)
      done.enter()
      let isStarted = Threads.start {
        let commit = try? node.commit(by: "late") { try $0.write(2, "late") }
        revision.withLock { $0 = commit?.revision }
        done.leave()
      }
      try #require(isStarted)
      #expect(try waitingCommit("pg_cancel_backend(pid)", on: primary) == "t\n")
      usleep(1_000_000)
      #expect(revision.withLock { $0 } == nil)
      try standby.pause(false)
      done.wait()
      #expect(revision.withLock { $0 } == 2)
      try node.close()
    }
    try standby.stop()
    try primary.stop()
  }

  /// Each warning used to count as one that says that a commit did not wait for its standby. A server sends others with
  /// each commit, for example when numbers of transactions run out.
  @Test func warningsAboutOtherThingsDelayNoCommit() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      try server.sql(
        """
        CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE WARNING 'something else'; RETURN NULL; END $$;
        CREATE TRIGGER warn AFTER INSERT ON journal_entries EXECUTE FUNCTION warn();
        """)
      let node = try nodes(1, at: server.address, in: folder)[0]
      var best = Duration.seconds(60)
      // On a busy machine, a single commit may take long.
      for turn in 2...11 where best >= .seconds(10) {
        let start = ContinuousClock.now
        #expect(try node.commit { try $0.write(2, "warned \(turn)") }.revision == turn)
        best = min(best, ContinuousClock.now - start)
      }
      #expect(best < .seconds(10))
      try node.close()
    }
    try server.stop()
  }

  /// Settings are checked when a node connects. If its session followed a later change, it would acknowledge commits that
  /// the server does not flush.
  @Test func aSessionKeepsTheSettingThatWasChecked() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      try server.sql(
        """
        CREATE TABLE seen (value text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON journal_entries EXECUTE FUNCTION note();
        """)
      let node = try nodes(1, at: server.address, in: folder)[0]
      try node.commit { try $0.write(2, "before") }
      try server.sql("ALTER SYSTEM SET synchronous_commit = off")
      try server.sql("SELECT pg_reload_conf()")
      var setting = ""
      for _ in 0..<1000 where setting != "off\n" {
        usleep(10_000)
        setting = try server.sql("SHOW synchronous_commit")
      }
      #expect(setting == "off\n")
      try node.commit { try $0.write(3, "after") }
      #expect(try server.sql("SELECT value FROM seen") == "on\non\n")
      try node.close()
    }
    try server.stop()
  }

  /// Sessions that waited for a lock used to stay after their node had given up and connected again. While a standby
  /// was away, they used up the server's connections.
  @Test func aSessionThatWaitsForALockEndsAfterItsNodeHasGivenUp() throws {
    let server = try PostgresServer()
    let proxy = try CuttingProxy(to: server.port)
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      let through = server.address.replacing(":\(server.port)/", with: ":\(proxy.port)/")
      let storage = try #require(Self.options.sharing).storage(at: through)
      let log = try storage.connect(to: try #require(try storage.journals().first))
      let group = DispatchGroup()
      func start(_ body: @escaping @Sendable () -> Void) throws {
        group.enter()
        let isStarted = Threads.start {
          body()
          group.leave()
        }
        try #require(isStarted)
      }
      try start {
        _ = try? server.sql("BEGIN; SELECT FROM journal_logs FOR UPDATE; SELECT pg_sleep(3600); COMMIT")
      }
      func count(_ condition: String) throws -> Int {
        let text = try server.sql("SELECT count(*) FROM pg_stat_activity WHERE \(condition)")
        return Int(text.dropLast()) ?? -1
      }
      try ask(atMost: 3000) { try count("wait_event = 'PgSleep'") > 0 }
      try start { _ = try? log.reserve(after: 1) }
      try ask(atMost: 3000) { try count("wait_event_type = 'Lock'") > 0 }
      #expect(try count("wait_event_type = 'Lock'") == 1)
      proxy.close()
      try ask(atMost: 600) { try count("wait_event_type = 'Lock'") == 0 }
      #expect(try count("wait_event_type = 'Lock'") == 0 && count("wait_event = 'PgSleep'") == 1)
      log.close()
      try server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
      group.wait()
    }
    try server.stop()
  }

  /// Closing used to wait until the time limit of the call in progress had passed: a minute.
  @Test func closingInterruptsACallThatWaitsForTheServer() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      let storage = try #require(Self.options.sharing).storage(at: server.address)
      let log = try storage.connect(to: try #require(try storage.journals().first))
      try server.pause(true)
      let isDone = DispatchSemaphore(value: 0)
      let isStarted = Threads.start {
        #expect(throws: JournalError.self) { try log.newestRevision(after: 0, waitingAtMost: .zero) }
        isDone.signal()
      }
      try #require(isStarted)
      usleep(200_000)
      let time = ContinuousClock().measure { log.close() }
      isDone.wait()
      #expect(time < .seconds(30))
      try server.pause(false)
    }
    try server.stop()
  }

  /// A process that is killed during an append may have stored the entry; then the other nodes have it, too.
  @Test func allNodesHaveTheSameHistoryAfterNodesAreKilled() throws {
    var random = SeededGenerator()
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let urls = (0..<3).map { folder.url.appending(path: "Node\($0).journal") }
      let journal = try Journal<Logbook>.create(at: urls[0])
      try journal.close()
      try Journal<Logbook>.share(at: urls[0], on: address)
      for url in urls.dropFirst() { try Journal<Logbook>.join(address, at: url) }
      var told: [Revision: String] = [:]
      for round in 0..<4 {
        let children = try urls.enumerated().map { node, url in
          try Child(url, firstTurn: (round * 3 + node) * 1_000_000, seed: random.next())
        }
        // Otherwise a busy machine would let none commit.
        for child in children {
          for _ in 0..<12_000 {
            if try child.lineCount() >= 10 { break }
            usleep(10_000)
          }
        }
        usleep(UInt32.random(in: 500_000..<900_000, using: &random))
        for child in children { for (revision, turn) in try child.kill() { told[revision] = turn } }
      }
      let nodes = try urls.map { try Journal<Logbook>.open(at: $0, options: Self.options) }
      for node in nodes { try node.catchUp() }
      #expect(told.count > 20)
      for node in nodes {
        #expect(node.head == nodes[0].head)
        #expect(try node.verify(.deep).isSound)
      }
      var seen: Set<String> = []
      for revision in 1...nodes[0].head.revision {
        let entry = try nodes[0].entry(at: revision)
        let turn = "\(entry.author) \(entry.note)"
        #expect(seen.insert(turn).inserted, "\(turn) is there twice")
        if let told = told[revision] { #expect(told == turn) }
      }
      #expect(told.keys.max() ?? 0 <= nodes[0].head.revision)
      for node in nodes { try node.close() }
    }
  }

  /// A process that commits from 16 threads until it is killed.
  private struct Child {
    private let process = Process()
    private let said: String

    init(_ url: URL, firstTurn: Int, seed: UInt64) throws {
      said = url.path + ".said"
      let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
      process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
      process.arguments = [url.path, "16", "\(firstTurn)", "\(seed)"]
      try Data().write(to: URL(filePath: said))
      process.standardOutput = try FileHandle(forWritingTo: URL(filePath: said))
      try process.run()
    }

    /// How many lines it has printed: one when the journal is open, and one for each commit.
    func lineCount() throws -> Int {
      try Data(contentsOf: URL(filePath: said)).count { $0 == UInt8(ascii: "\n") }
    }

    /// - Returns: the acknowledged commits, each with its author and turn.
    func kill() throws -> [(Revision, String)] {
      #expect(process.isRunning)
      Foundation.kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let text = try String(contentsOf: URL(filePath: said), encoding: .utf8)
      // The kill may have cut the last line.
      let lines = text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n")
      return lines.compactMap { line in
        let words = line.split(separator: " ")
        guard words.count == 3, let revision = Revision(words[0]) else { return nil }
        return (revision, "\(words[1]) \(words[2])")
      }
    }
  }

  /// A server that is stopped and continues, as on an overloaded machine.
  @Test func aServerThatIsPausedLosesNothing() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      try share(at: server.address, in: folder)
      let nodes = try nodes(2, at: server.address, in: folder)
      defer { for node in nodes { try? node.close() } }
      let writing = Writing(nodes)
      try writing.start(writers: 4)
      #expect(writing.wait(for: 20))
      try server.pause(true)
      usleep(1_500_000)
      try server.pause(false)
      #expect(writing.wait(for: 20))
      writing.finish()
      try writing.check()
    }
    try server.stop()
  }

  @Test func imagesAreSentToTheServerOnceAndFetchedWhenTheyAreRead() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.create(at: url)
      let before = try journal.blobs.add(bytes)
      try journal.commit { try $0.write(1, "before", blob: before) }
      try journal.close()
      try Journal<Logbook>.share(at: url, on: address)
      let nodes = try nodes(2, at: address, in: folder)
      let small = try nodes[0].blobs.add(Data("small".utf8))
      try nodes[0].commit { try $0.write(2, "after", blob: small) }
      try nodes[1].catchUp()
      #expect(try nodes[1].statistics().blobCount == 0)
      #expect(try nodes[1].verify().isSound)
      // An entity can be changed although its image is not on this node.
      try nodes[1].commit { try $0.write(1, "again", blob: before) }
      #expect(try nodes[1].blobs.data(of: before) == bytes)
      #expect(try nodes[1].statistics().blobCount == 1)
      #expect(
        try PostgresServer.shared.get().sql("SELECT count(*) FROM journal_image_pieces", at: address) == "4\n"
      )
      for node in nodes { try node.close() }
      let reader = try Journal<Logbook>.open(
        at: folder.url.appending(path: "Node1.journal"), mode: .readOnly, options: Self.options)
      #expect(try reader.blobs.data(of: small) == Data("small".utf8))
      #expect(try reader.statistics().blobCount == 1)
      try reader.close()
      // A journal that is made local gets all of them.
      try Journal<Logbook>.unshare(at: folder.url.appending(path: "Node1.journal"))
      let local = try Journal<Logbook>.open(at: folder.url.appending(path: "Node1.journal"))
      #expect(try local.statistics().blobCount == 2)
      #expect(try local.verify(.deep).isSound)
      try local.close()
    }
  }

  @Test func anImageThatTheServerHasIsNotSentAgain() throws {
    try withProxy { proxy, through, server, folder in
      try share(at: through, in: folder)
      let nodes = try nodes(2, at: through, in: folder)
      let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      func passed(_ body: () throws -> Void) throws -> Int {
        let before = proxy.passedByteCount.withLock { $0 }
        try body()
        return proxy.passedByteCount.withLock { $0 } - before
      }
      func commit(_ node: Journal<Logbook>, _ text: String) throws {
        let blob = try node.blobs.add(bytes)
        try node.commit { try $0.write(1, text, blob: blob) }
      }
      let first = try passed { try commit(nodes[0], "first") }
      #expect((3_000_000..<4_000_000).contains(first), "\(first)")
      let again = try passed {
        try commit(nodes[0], "the same node")
        try commit(nodes[1], "a node that has the bytes from elsewhere")
      }
      #expect(again < 100_000, "\(again)")
      for node in nodes { try node.close() }
    }
  }

  @Test func aBackupThatLosesTheServerInAnImageSaysSoAndWorksLater() throws {
    try withProxy { proxy, through, server, folder in
      try share(at: through, in: folder)
      let nodes = try nodes(2, at: through, in: folder)
      let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let blob = try nodes[0].blobs.add(bytes)
      try nodes[0].commit { try $0.write(1, "with an image", blob: blob) }
      try nodes[1].catchUp()
      for node in nodes { try node.close() }
      let reader = try Journal<Logbook>.open(
        at: folder.url.appending(path: "Node1.journal"), mode: .readOnly, options: Self.options)
      let backup = folder.url.appending(path: "Node1.backup")
      let file = folder.url.appending(path: "Node1.file")
      for write in [
        { () throws -> Int in try reader.backup(to: backup).copiedImageCount },
        { () throws -> Int in try reader.backup(toFile: file).copiedImageCount },
      ] {
        proxy.cut(after: 1_500_000)
        // Connections after that one are refused.
        proxy.redirect(to: 1)
        var error: JournalError?
        do { _ = try write() } catch let thrown as JournalError { error = thrown }
        #expect(error?.code == .unreachable, "\(String(describing: error))")
        proxy.cut(after: nil)
        proxy.redirect(to: server.port)
        #expect(try write() == 1)
      }
      try reader.close()
      try expectImage(blob, bytes, in: backup, and: file, folder)
    }
  }

  /// A node that had not fetched every image could not be backed up, and its journal was reported as damaged.
  @Test func aBackupOfANodeHasTheImagesThatOnlyOtherNodesHave() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Node0.journal")
      try Journal<Logbook>.create(at: url).close()
      try Journal<Logbook>.share(at: url, on: address)
      let nodes = try nodes(2, at: address, in: folder)
      let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let blob = try nodes[0].blobs.add(bytes)
      try nodes[0].commit { try $0.write(1, "with an image", blob: blob) }
      try nodes[1].catchUp()
      for node in nodes { try node.close() }
      let reader = try Journal<Logbook>.open(
        at: folder.url.appending(path: "Node1.journal"), mode: .readOnly, options: Self.options)
      let backup = folder.url.appending(path: "Node1.backup")
      #expect(try reader.backup(to: backup).copiedImageCount == 1)
      let file = folder.url.appending(path: "Node1.file")
      #expect(try reader.backup(toFile: file).copiedImageCount == 1)
      // A backup changes nothing in the folder of the node.
      #expect(try reader.statistics().blobCount == 0)
      try reader.close()
      try expectImage(blob, bytes, in: backup, and: file, folder)
    }
  }

  /// The names of fetched images were not durable when the address of the server was forgotten.
  @Test func unsharingFlushesTheFetchedImagesBeforeItForgetsTheServer() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Node0.journal")
      try Journal<Logbook>.create(at: url).close()
      try Journal<Logbook>.share(at: url, on: address)
      let nodes = try nodes(2, at: address, in: folder)
      let blob = try nodes[0].blobs.add(Data("image".utf8))
      try nodes[0].commit { try $0.write(1, "with an image", blob: blob) }
      for node in nodes { try node.close() }
      let steps = Lock<[String]>([])
      var options = Self.options
      options.fileHook = { operation in
        let path = operation.newPath ?? operation.path
        switch operation.kind {
        case .rename where path.hasSuffix(blob.digest.hex): steps.withLock { $0.append("image") }
        case .syncFolder where path.hasSuffix("/images"): steps.withLock { $0.append("flush") }
        case .remove where path.hasSuffix("/SHARED"): steps.withLock { $0.append("forget") }
        default: break
        }
        return .proceed
      }
      _ = try Journal<Logbook>.leaveSharing(
        at: folder.url.appending(path: "Node1.journal"), isForced: false, options: options)
      let found = steps.withLock { $0 }
      let image = try #require(found.firstIndex(of: "image"))
      #expect(found[image...].starts(with: ["image", "flush"]) && found.last == "forget", "\(found)")
    }
  }

  /// The other nodes could not have read it, and sending the right bytes later would not have replaced it.
  @Test func anAlteredImageIsNotSentAndTheRightOneIsSentLater() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let bytes = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.create(at: url)
      let image = try journal.blobs.add(bytes)
      try journal.commit { try $0.write(1, "first", blob: image) }
      let file = journal.blobs.url(of: image)
      try journal.close()
      try FileManager.default.removeItem(at: file)
      try (bytes.dropLast() + [0]).write(to: file)
      let error = #expect(throws: JournalError.self) { try Journal<Logbook>.share(at: url, on: address) }
      #expect(error?.code == .damaged)
      try FileManager.default.removeItem(at: file)
      try bytes.write(to: file)
      try Journal<Logbook>.share(at: url, on: address)
      let other = folder.url.appending(path: "Node1.journal")
      try Journal<Logbook>.join(address, at: other)
      let node = try Journal<Logbook>.open(at: other, options: Self.options)
      #expect(try node.blobs.data(of: image) == bytes)
      try node.close()
    }
  }

  /// A second flush may succeed although data was lost, so a commit that is tried again could name a lost image.
  @Test func aFailedFlushOfTheImagesInTheFolderEndsCommits() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let isFailing = Lock(false)
      var options = Self.options
      options.fileHook = { operation in
        operation.kind == .syncFolder && operation.path.hasSuffix("/images") && isFailing.withLock { $0 }
          ? .fail(EIO) : .proceed
      }
      let node = try Journal<Logbook>.open(at: folder.url.appending(path: "Node0.journal"), options: options)
      let image = try node.blobs.add(Data("image".utf8))
      isFailing.withLock { $0 = true }
      for _ in 0..<2 {
        let error = #expect(throws: JournalError.self) {
          try node.commit { try $0.write(2, "second", blob: image) }
        }
        #expect(error?.code == .poisoned, "\(String(describing: error))")
        isFailing.withLock { $0 = false }
      }
      try node.close()
    }
  }

  /// An app's own store for images, which can be made to fail.
  private final class Bucket: SharedImageStore {
    struct Failure: Error {}
    let images = Lock<[String: Data]>([:])
    let isDown = Lock(false)

    private func check() throws { if isDown.withLock({ $0 }) { throw Failure() } }

    func contains(_ blob: Blob) throws -> Bool {
      try check()
      return images.withLock { $0[blob.digest.hex]?.count == blob.byteCount }
    }

    func add(_ blob: Blob, _ next: () throws -> Data) throws {
      try check()
      var data = Data()
      while true {
        let piece = try next()
        if piece.isEmpty { break }
        data += piece
      }
      images.withLock { $0[blob.digest.hex] = data }
    }

    func read(_ blob: Blob, _ receive: (Data) throws -> Void) throws -> Bool {
      try check()
      guard let data = images.withLock({ $0[blob.digest.hex] }) else { return false }
      for start in stride(from: 0, to: data.count, by: 1000) {
        try receive(data.dropFirst(start).prefix(1000))
      }
      return true
    }
  }

  /// Images that were added before the app named a store are in the database, and are found there.
  @Test func imagesGoToTheStoreThatTheAppNames() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.create(at: url)
      let before = try journal.blobs.add(Data("before".utf8))
      try journal.commit { try $0.write(1, "before", blob: before) }
      try journal.close()
      try Journal<Logbook>.share(at: url, on: address)

      let bucket = Bucket()
      let options = JournalOptions().sharingThroughPostgres(images: bucket)
      let urls = [url, folder.url.appending(path: "Node1.journal")]
      try Journal<Logbook>.join(address, at: urls[1], options: options)
      let nodes = try urls.map { try Journal<Logbook>.open(at: $0, options: options) }
      let bytes = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let large = try nodes[0].blobs.add(bytes)

      bucket.isDown.withLock { $0 = true }
      let refused = #expect(throws: JournalError.self) {
        try nodes[0].commit { try $0.write(2, "after", blob: large) }
      }
      #expect(
        refused?.code == .unreachable && refused?.cause is Bucket.Failure, "\(String(describing: refused))")
      bucket.isDown.withLock { $0 = false }
      try nodes[0].commit { try $0.write(2, "after", blob: large) }
      #expect(bucket.images.withLock { $0 } == [large.digest.hex: bytes])
      #expect(
        try PostgresServer.shared.get().sql("SELECT count(*) FROM journal_images", at: address) == "1\n")

      try nodes[1].catchUp()
      #expect(try nodes[1].statistics().blobCount == 0)
      // An entity can be changed although its image is not on this node.
      try nodes[1].commit { try $0.write(2, "again", blob: large) }
      #expect(try nodes[1].blobs.data(of: before) == Data("before".utf8))
      bucket.images.withLock { $0[large.digest.hex]![5] ^= 1 }
      let altered = #expect(throws: JournalError.self) { try nodes[1].blobs.data(of: large) }
      #expect(altered?.code == .damaged)
      bucket.images.withLock { $0[large.digest.hex]![5] ^= 1 }
      #expect(try nodes[1].blobs.data(of: large) == bytes)
      #expect(try nodes[1].statistics().blobCount == 2)
      for node in nodes { try node.close() }
    }
  }
}
