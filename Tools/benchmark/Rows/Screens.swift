import CatalogModel
import Foundation
import JournalServer

// What the screens of an app and of the page ask for, in a journal of 20,000 items and 50,000 commits of one to three
// attributes, and in one of a fifth of each.

/// Measures an item, and the first 20 items, as of random revisions; and over HTTP also the newest 20 entries and the facts
/// of the journal.
func screens(_ bench: Workbench) async throws {
  let passes = 200
  let journals = try [1, 5].map { part in
    let (items, commits) = (20_000 / part, 50_000 / part)
    bench.show("writing \(commits) commits")
    return try writtenJournal(bench, items: items, commits: commits)
  }
  let connections = try journals.map { try Connection(to: JournalServer($0, options: .measured)) }
  func race(
    _ work: String, atMost limit: Double? = nil,
    _ ask: @escaping (_ journal: Int, _ revision: Revision, _ item: Int) throws -> Void
  ) async throws {
    var race = Race(bench, work, operations: passes)
    for index in journals.indices {
      let journal = journals[index]
      var random = SeededGenerator(seed: bench.seed)
      race.add(index == 0 ? "20,000 items" : "4,000 items") {
        let asked = (0..<passes).map { _ in
          (
            Int.random(in: 1..<journal.head.revision, using: &random),
            Int.random(in: 1...journal.state.itemCount, using: &random)
          )
        }
        return try timed { for (revision, item) in asked { try ask(index, revision, item) } }
      }
    }
    try await race.report(
      "\(work), 20,000 items and 50,000 commits", .duration, .against(1, atMost: limit ?? 2))
  }
  try await race("an item as of a random revision") {
    guard try journals[$0].entity(.item($2), asOf: .revision($1)) != nil else { throw PeerFailure("no item") }
  }
  try await race("the same, from the state") {
    guard try journals[$0].state(asOf: .revision($1)).item(Catalog.Item.ID($2)) != nil else {
      throw PeerFailure("no item")
    }
  }
  try await race("the first 20 items as of a random revision") { journal, revision, _ in
    let items = try journals[journal].state(asOf: .revision(revision)).items(Sample.self).prefix(20)
    guard try items.values.count == 20 else { throw PeerFailure("not all items") }
  }
  for (work, path) in [
    ("an item as of a random revision, over HTTP", "/api/entities/item:ITEM?at=rREVISION"),
    ("the first 20 items as of a random revision, over HTTP", "/api/items?limit=20&at=rREVISION"),
    ("the newest 20 entries, over HTTP", "/api/entries?limit=20"),
    ("the facts of the journal, over HTTP", "/api/journal"),
  ] {
    try await race(work) {
      try connections[$0].get(
        path.replacing("REVISION", with: "\($1)").replacing("ITEM", with: "\($2)"))
    }
  }
}

private func writtenJournal(_ bench: Workbench, items: Int, commits: Int) throws -> CatalogJournal {
  var random = SeededGenerator(seed: bench.seed)
  let url = bench.path("screens.journal")
  let journal = try CatalogJournal.create(at: url)
  let samples = Sample.attributes(count: items, seed: bench.seed)
  try journal.commit { draft in for sample in samples { try draft.addSample(sample) } }
  try journal.fill(commits) { draft, index in
    let sample = samples[index % items]
    let names = sample.keys.sorted().shuffled(using: &random).prefix(.random(in: 1...3, using: &random))
    let other = samples.randomElement(using: &random) ?? sample
    try draft.updateItem(
      EntityID(.random(in: 1...items, using: &random)),
      set: Dictionary(uniqueKeysWithValues: names.map { ($0, other[$0] ?? .null) }))
  }
  journal.waitForLayers()
  try journal.close()
  return try CatalogJournal.open(at: url)
}

extension JournalServer.Options {
  fileprivate static var measured: JournalServer.Options {
    var options = JournalServer.Options()
    options.tokens = [Connection.token]
    return options
  }
}

/// A connection to a server, which stays open for all requests.
private final class Connection {
  static let token = "a-token-for-the-benchmark"
  private let server: JournalServer
  private let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 1 << 20)

  init(to server: JournalServer) throws {
    self.server = server
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = server.port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw PeerFailure("no server listens at port \(server.port)") }
  }

  deinit { close(descriptor) }

  /// Sends a request, and reads the whole answer.
  func get(_ path: String) throws {
    let request =
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(Self.token)\r\n\r\n"
    var bytes = Array(request.utf8)
    guard unsafe send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw PeerFailure("the request can't be sent")
    }
    var hasHead = false
    var missing = 1
    while missing > 0 {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw PeerFailure("the answer ends early") }
      if hasHead {
        missing -= count
        continue
      }
      // Only the head is searched, because a search of the whole answer would be measured too.
      guard let end = buffer[..<count].firstRange(of: Array("\r\n\r\n".utf8)) else {
        throw PeerFailure("the head of the answer comes in parts")
      }
      let head = buffer[..<end.upperBound]
      guard head.starts(with: "HTTP/1.1 200".utf8),
        let name = head.firstRange(of: Array("Content-Length: ".utf8)),
        let length = Int(
          String(decoding: head[name.upperBound...].prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self))
      else { throw PeerFailure("an unexpected answer: \(String(decoding: head.prefix(200), as: UTF8.self))") }
      hasHead = true
      missing = end.upperBound + length - count
    }
  }
}

/// Measures what each commit costs more while a live query shows 20,000 items, until the query shows it.
func liveQuery(_ bench: Workbench) async throws {
  let (items, commits) = (20_000, 200)
  let (_, journal) = try bench.openJournal(items: items)
  var random = SeededGenerator(seed: bench.seed)
  let live = await LiveQuery(journal) { $0.items(Sample.self) }
  var plain: [Double] = []
  var shown: [Double] = []
  for round in 1...bench.rounds {
    bench.show("live query: round \(round) of \(bench.rounds)")
    for watches in [true, false] {
      let clock = ContinuousClock()
      let start = clock.now
      for _ in 0..<commits {
        let revision = try await journal.commit {
          try $0.setCount(.random(in: 1...items, using: &random), .random(in: 0...1_000_000, using: &random))
        }.revision
        while watches, await live.newest?.revision ?? 0 < revision { await Task.yield() }
      }
      let seconds = (clock.now - start) / .seconds(1) / Double(commits)
      if watches { shown.append(seconds) } else { plain.append(seconds) }
    }
  }
  bench.add(
    "what a commit takes longer until a live query of \(items) items shows it", "s",
    zip(shown, plain).map { max($0 - $1, 0) }, atMost: 0.001)
}
