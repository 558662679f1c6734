import CatalogModel
import Foundation
import JournalMaintenance
import JournalServer
import Locks
import TestSupport
import Testing

/// 64 clients of every kind at once, while the app commits through the library: for some seconds, or for ten minutes
/// with `JOURNAL_BATTERY=long`.
@Suite(.serialized) struct CrowdTests {
  @Test func everyAcknowledgedCommitIsThereOnceAndNothingElseIs() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      try journal.commit { draft in
        for _ in 4...Crowd.memberCount + 4 { _ = try draft.addItem(kind: "counter", attributes: ["n": 0]) }
      }
      // Connections may take a while to end after their clients have gone.
      let served = try ServedJournal(journal) { $0.connectionLimit = 1024 }
      let crowd = Crowd(served)
      let seconds = Double(TestLength.size(6, long: 600))
      let memory = Lock<[Int]>([])
      crowd.run(for: seconds) { part in
        // The caches are full after the first part. After that, each commit adds some bytes to the timeline.
        if part >= 0.2, let bytes = residentByteCount { memory.withLock { $0.append(bytes) } }
      }
      let counts = crowd.counts
      print("crowd: \(counts) in \(Int(seconds)) s; memory \(memory.withLock { $0 }.map { $0 >> 20 }) MiB")
      #expect(crowd.faults == [])
      #expect(counts.acknowledged > 0 && counts.followed > 0 && counts.cut > 0 && counts.vanished > 0)
      // The server closes connections whose clients have gone, so few stay open.
      #expect(try served.get("/api/journal").json()["revision"]?.integer == journal.head.revision)
      let end = Date() + 300
      while crowd.connectionCount > 24, Date() < end { usleep(50_000) }
      #expect(crowd.connectionCount <= 24)
      let samples = memory.withLock { $0 }
      // Other tests in this process take memory too, except in a long run.
      if TestLength.isLong, let first = samples.first, let last = samples.last {
        #expect(last < first + 96 << 20, "\(samples)")
      }
      served.server.stop()
      try crowd.check(journal)
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }
}

/// Clients of one server, and the answers that they got.
private final class Crowd: Sendable {
  static let memberCount = 64

  struct Counts: Sendable {
    var acknowledged = 0
    var ofTheApp = 0
    var followed = 0
    var read = 0
    var cut = 0
    var vanished = 0
  }

  /// The outcome of a commit of one member. The note of a commit is `member-number`.
  private enum Outcome: UInt8 {
    /// It may be in the journal or not.
    case unknown
    case acknowledged
    /// The request did not arrive whole.
    case cut
  }

  private struct Records: Sendable {
    var counts = Counts()
    var faults: [String] = []
    /// The outcomes of each member's commits, in order.
    var outcomes = [[Outcome]](repeating: [], count: Crowd.memberCount + 1)
  }

  private let served: ServedJournal
  private let records = Lock(Records())
  private let isOver = Lock(false)

  init(_ served: ServedJournal) { self.served = served }

  var counts: Counts { records.withLock { $0.counts } }
  var faults: [String] { records.withLock { $0.faults } }

  /// How many connections the server has open; 0 on systems without `/proc`. The descriptors of the process
  /// can't be counted, because other tests open some too.
  var connectionCount: Int {
    let port = ":" + hexadecimal(served.server.port)
    return ["tcp", "tcp6"].reduce(0) { count, table in
      let text = (try? String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8)) ?? ""
      let rows = text.split(separator: "\n").map { $0.split(separator: " ") }
      // Number, local address, remote address, state (0A: listening), queues, timer, retransmissions, user,
      // timeout, inode (0: no process has it open), and more.
      return count
        + rows.count { $0.count > 9 && $0[1].hasSuffix(port) && $0[3] != "0A" && $0[9] != "0" }
    }
  }

  private func hexadecimal(_ port: UInt16) -> String {
    let digits = String(port, radix: 16, uppercase: true)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// Starts all members, and calls `body` now and then with the fraction of the time that has passed.
  func run(for seconds: Double, _ body: @escaping @Sendable (Double) -> Void) {
    let start = Date()
    Threads.forEach(below: Self.memberCount + 2, width: Self.memberCount + 2) { [self] member in
      if member == Self.memberCount + 1 {
        for step in 1...20 {
          let time = start + seconds * Double(step) / 20
          usleep(UInt32(max(0, time.timeIntervalSinceNow) * 1_000_000))
          body(Double(step) / 20)
        }
        isOver.withLock { $0 = true }
        return
      }
      var random = SeededGenerator(seed: UInt64(member))
      while !isOver.withLock({ $0 }) {
        do {
          switch member {
          case Self.memberCount: try commitAsTheApp()
          case 0..<24: try commitOnOneConnection(member)
          case 24..<32: try commitOnce(member)
          case 32..<40: try vanish(member, &random)
          case 40..<44: try dawdle(member, &random)
          case 44..<50: try read(&random)
          case 50..<60: try follow(&random)
          default: try followSlowly(&random)
          }
        } catch { fault("member \(member): \(error)") }
      }
    }
  }

  private func fault(_ text: String) {
    records.withLock { records in if records.faults.count < 20 { records.faults.append(text) } }
  }

  private func count(_ member: any WritableKeyPath<Counts, Int> & Sendable) {
    records.withLock { $0.counts[keyPath: member] += 1 }
  }

  // MARK: Members

  /// A commit of a member, not yet sent.
  private func nextCommit(_ member: Int, closes: Bool = true) -> (bytes: [UInt8], number: Int) {
    let number = records.withLock { records in
      records.outcomes[member].append(.unknown)
      return records.outcomes[member].count
    }
    let body =
      "{\"author\":\"m\",\"note\":\"\(member)-\(number)\",\"events\":[{\"operation\":\"update\","
      + "\"entity\":\"item:\(member + 4)\",\"changes\":{\"attributes\":{\"n\":\(number)}}}]}"
    let head =
      "POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n"
      + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
      + (closes ? "Connection: close\r\n\r\n" : "\r\n")
    return (Array((head + body).utf8), number)
  }

  private func acknowledge(_ member: Int, _ number: Int, _ answer: Answer) throws {
    guard answer.status == 201 else { throw ClientFailure(description: "\(answer.status) \(answer.text)") }
    guard answer.text.contains("\"note\":\"\(member)-\(number)\"") else {
      throw ClientFailure(description: "the answer to another request: \(answer.text)")
    }
    records.withLock { records in
      records.outcomes[member][number - 1] = .acknowledged
      records.counts.acknowledged += 1
    }
  }

  private func commitAsTheApp() throws {
    let member = Self.memberCount
    let (_, number) = nextCommit(member)
    try served.journal.commit(by: "m", note: "\(member)-\(number)") { draft in
      try draft.updateItem(EntityID(member + 4), set: ["n": .integer(Int64(number))])
    }
    records.withLock { records in
      records.outcomes[member][number - 1] = .acknowledged
      records.counts.ofTheApp += 1
    }
    usleep(2000)
  }

  private func commitOnOneConnection(_ member: Int) throws {
    let client = try Client(port: served.server.port)
    for _ in 0..<100 where !isOver.withLock({ $0 }) {
      let (bytes, number) = nextCommit(member, closes: false)
      client.send(bytes)
      try acknowledge(member, number, try Answer(client.receiveAnswer()))
    }
  }

  private func commitOnce(_ member: Int) throws {
    let client = try Client(port: served.server.port)
    let (bytes, number) = nextCommit(member)
    client.send(bytes)
    try acknowledge(member, number, try Answer(client.receiveAll()))
  }

  /// Sends a request up to a random byte, and disconnects without waiting for an answer.
  private func vanish(_ member: Int, _ random: inout SeededGenerator) throws {
    let client = try Client(port: served.server.port)
    let (bytes, number) = nextCommit(member)
    let end = random.chance(1, in: 4) ? bytes.count : Int.random(in: 0..<bytes.count, using: &random)
    client.send(bytes[..<end])
    if end < bytes.count {
      records.withLock { $0.outcomes[member][number - 1] = .cut }
      count(\.cut)
    } else {
      count(\.vanished)
    }
    usleep(UInt32.random(in: 0...20_000, using: &random))
  }

  /// Sends a request in small pieces, with pauses.
  private func dawdle(_ member: Int, _ random: inout SeededGenerator) throws {
    let client = try Client(port: served.server.port)
    let (bytes, number) = nextCommit(member)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Int.random(in: 1...40, using: &random)
      client.send(rest.prefix(count))
      rest = rest.dropFirst(count)
      usleep(UInt32.random(in: 0...30_000, using: &random))
    }
    try acknowledge(member, number, try Answer(client.receiveAll()))
  }

  private func read(_ random: inout SeededGenerator) throws {
    let at = Int.random(in: 4...max(4, served.journal.head.revision), using: &random)
    let path = [
      "items?at=r\(at)&limit=20", "items?sort=-n", "entities/item:9?at=r\(at)",
      "entries?limit=20&until=r\(at)", "timeline", "diff?from=r\(max(1, at - 20))&to=r\(at)", "journal",
      "entities/item:1/history",
    ].randomElement(using: &random)!
    let answer = try served.get("/api/" + path)
    guard answer.status == 200 else {
      throw ClientFailure(description: "\(path): \(answer.status) \(answer.text.prefix(300))")
    }
    count(\.read)
  }

  private func followers(after revision: Int) throws -> Client {
    let client = try Client(port: served.server.port)
    client.send(
      Array(
        ("GET /api/events HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n"
          + "Last-Event-ID: \(revision)\r\n\r\n").utf8))
    return client
  }

  /// Follows for a while, disconnects, and continues where it was. No entry may be missing or come twice.
  private func follow(_ random: inout SeededGenerator) throws {
    var last = served.journal.head.revision
    for _ in 0..<3 where !isOver.withLock({ $0 }) {
      let client = try followers(after: last)
      let end = Date() + Double.random(in: 0.1...1.5, using: &random)
      var text = ""
      while Date() < end, !isOver.withLock({ $0 }), let piece = client.receive() {
        // Remove the carriage returns of the chunks, which would form one character with the line feed.
        text += String(decoding: piece.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let lines = text.components(separatedBy: "\n")
        for line in lines.dropLast() where line.hasPrefix("id: ") {
          guard line == "id: \(last + 1)" else {
            throw ClientFailure(description: "\(line) comes after \(last)")
          }
          last += 1
          count(\.followed)
        }
        text = lines.last ?? ""
      }
    }
  }

  /// Reads little and seldom, and disconnects in the middle.
  private func followSlowly(_ random: inout SeededGenerator) throws {
    let client = try followers(after: max(3, served.journal.head.revision - 1000))
    for _ in 0..<Int.random(in: 1...20, using: &random) where !isOver.withLock({ $0 }) {
      _ = client.receive(atMost: 100)
      usleep(50_000)
    }
  }

  // MARK: Afterwards

  /// Checks that each acknowledged commit is in the journal once, each unanswered one at most once, and no others.
  func check(_ journal: CatalogJournal) throws {
    var rest = records.withLock { $0.outcomes }.map { $0.map { Optional($0) } }
    let cursor = journal.entries(5...max(5, journal.head.revision))
    var strangers: [String] = []
    while let entry = try cursor.next() {
      let parts = entry.note.split(separator: "-").compactMap { Int($0) }
      guard parts.count == 2, rest.indices.contains(parts[0]), rest[parts[0]].indices.contains(parts[1] - 1),
        [.unknown, .acknowledged].contains(rest[parts[0]][parts[1] - 1]), entry.events.count == 1,
        entry.events[0].entity == .item(parts[0] + 4)
      else {
        strangers.append("\(entry.revision): \(entry.note)")
        continue
      }
      rest[parts[0]][parts[1] - 1] = nil
    }
    #expect(strangers.prefix(5) == [])
    let lost = rest.joined().count { $0 == .acknowledged }
    #expect(lost == 0)
  }
}
