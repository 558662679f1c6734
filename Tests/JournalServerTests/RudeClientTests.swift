import CatalogModel
import Foundation
import JournalMaintenance
import JournalServer
import Locks
import TestSupport
import Testing

/// Clients that are slow, disappear, send too much or send invalid requests. The server keeps working, and writes only
/// what was requested.
@Suite struct RudeClientTests {
  private let commit =
    "{\"author\":\"rude\",\"events\":[{\"operation\":\"add\",\"changes\":{\"kind\":\"x\",\"attributes\":{\"a\":1}}}]}"

  private func request(_ served: ServedJournal) -> [UInt8] {
    Array(
      ("POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(commit.utf8.count)\r\nConnection: close\r\n\r\n"
        + commit).utf8)
  }

  @Test func aRequestTruncatedAnywhereWritesNothing() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      // A busy server may notice late that clients have ended.
      let served = try ServedJournal(journal) { $0.connectionLimit = 1024 }
      let whole = request(served)
      for count in whole.indices {
        let client = try Client(port: served.server.port)
        client.send(whole[..<count])
      }
      #expect(try served.get("/api/journal").status == 200)
      #expect(journal.head.revision == 3)
      let client = try Client(port: served.server.port)
      client.send(whole)
      #expect(try Answer(client.receiveAll()).status == 201)
      #expect(journal.head.revision == 4)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func tooLargeRequestsAreRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.imageByteLimit = 1000 }
      // If the size is declared, the request is refused before its body.
      #expect(try served.get("/api/journal", ["X-Long": String(repeating: "x", count: 60_000)]).status >= 400)
      let declared = try Client(port: served.server.port)
      declared.send(
        Array(
          "POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
            .utf8))
      #expect(try Answer(declared.receiveAll()).status == 413)
      #expect(try served.ask("POST", "/api/blobs", body: [UInt8](repeating: 1, count: 1001)).status == 413)
      // If the size is not declared, the connection ends when it is exceeded.
      let chunked = try Client(port: served.server.port)
      chunked.send(
        Array(
          "POST /api/blobs HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\nTransfer-Encoding: chunked\r\n\r\n"
            .utf8))
      let chunk = Array("400\r\n".utf8) + [UInt8](repeating: 7, count: 0x400) + Array("\r\n".utf8)
      for _ in 0..<100 where !chunked.send(chunk) { break }
      #expect(!String(decoding: chunked.receiveAll(), as: UTF8.self).contains("201"))
      let names = try FileManager.default.contentsOfDirectory(
        atPath: journal.url.appending(path: "images").path)
      #expect(names.count == 1)
      #expect(try served.get("/api/journal").status == 200)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func aClientThatSendsAByteAtATimeIsDisconnected() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.headSeconds = 1 }
      let client = try Client(port: served.server.port)
      var isCut = false
      for byte in Array("GET /api/journal HTTP/1.1\r\nX: ".utf8)
        + [UInt8](repeating: UInt8(ascii: "x"), count: 300)
      {
        if !client.send([byte]) {
          isCut = true
          break
        }
        usleep(50_000)
      }
      #expect(isCut)
      #expect(try served.get("/api/journal").status == 200)
      served.server.stop()
      try journal.close()
    }
  }

  /// Behind a proxy that reads them in another way, such requests would pass its rules.
  @Test func requestsThatCanBeReadInTwoWaysAreRefused() throws {
    try withBooks { (served) throws in
      for path in ["/api/items%00foo", "/api/entities/item:1%00/blame"] {
        #expect(try served.get(path).status == 404, "\(path)")
      }
      let json = #"{"events":[{"operation":"add","changes":{"kind":"k"}}]}"#
      #expect(try served.post("/api/commits%00x", json).status == 404)
      #expect(try served.post("/api/commits", json, ["Content-Encoding": "gzip"]).status == 415)
      for lengths in [
        "Content-Length: \(json.utf8.count)\r\nContent-Length: 3",
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
      ] {
        let client = try Client(port: served.server.port)
        client.send(
          Array(
            "POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n\(lengths)\r\nContent-Type: application/json\r\n\r\n\(json)"
              .utf8))
        // The connection is closed, so nothing of the body can be taken for a request.
        let answer = String(decoding: client.receiveAll(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 400"), "\(lengths): \(answer)")
        #expect(!answer.dropFirst().contains("HTTP/1.1"), "\(answer)")
      }
      #expect(try served.post("/api/commits", json, ["Content-Encoding": "identity"]).status == 201)
      #expect(served.journal.head.revision == 4)
    }
  }

  @Test func invalidRequestsAreAnsweredOrDisconnectedAndWriteNothing() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.connectionLimit = 1024 }
      var generator = SeededGenerator()
      let valid = request(served)
      let paths = [
        "/api/items?where=%s", "/api/entries/%s", "/api/diff?from=%s", "/api/timeline?from=%s",
        "/api/entities/%s", "/api/images/%s/content", "/%s",
      ]
      for turn in 0..<400 {
        let client = try Client(port: served.server.port)
        if turn % 2 == 0 {
          // The body is not altered here. Another test alters bodies.
          var bytes = valid
          let end = valid.count - commit.utf8.count
          for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let index = Int.random(in: 0..<end, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            default: bytes.insert(contentsOf: generator.bytes(3), at: index)
            }
          }
          // Without the token the request can't commit, whatever else is altered.
          client.send(
            Array(String(decoding: bytes, as: UTF8.self).replacing(ServedJournal.token, with: "none").utf8))
        } else {
          let noise = generator.bytes(Int.random(in: 0...20, using: &generator))
            .map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
          let path = paths[turn / 2 % paths.count].replacing("%s", with: noise)
          client.send(
            Array(
              "GET \(path) HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\nConnection: close\r\n\r\n"
                .utf8))
          let answer = client.receiveAll()
          if !answer.isEmpty {
            let status = try Answer(answer).status
            #expect(status < 500, "\(path): \(String(decoding: answer, as: UTF8.self))")
          }
        }
      }
      #expect(try served.get("/api/journal").json()["revision"] == 3)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func alteredBodiesAreRefusedOrWriteExactlyWhatTheyAskFor() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      var random = SeededGenerator()
      let requests = [
        (
          "/api/commits",
          """
          {"author":"fuzz","note":"n","metadata":{"device":"d"},"events":[{"operation":"add","entity":"category",\
          "changes":{"name":"C","color":"#112233"}},{"operation":"add","changes":{"kind":"k","category":1,\
          "attributes":{"a":1,"b":[2.5,{"c":"d"}],"when":{"$date":"2026-01-02T00:00:00Z"},"x":{"$data":"AQI="}}}},\
          {"operation":"update","entity":"item:1","changes":{"attributes":{"stars":9},"removed":["title"]}}]}
          """
        ),
        (
          "/api/restore",
          """
          {"entities":["item:1","item:2"],"fields":["title"],"at":"r1","keepNew":false,"dryRun":true}
          """
        ),
        ("/api/restore", #"{"category":1,"at":"r1","author":"fuzz","note":"n","dryRun":true}"#),
        ("/api/revert", "{\"revision\":2,\"later\":\"keep\",\"dryRun\":true}"),
        ("/api/undo", "{\"author\":\"bob\",\"later\":\"override\",\"dryRun\":true}"),
        ("/api/redo", "{\"author\":\"bob\",\"dryRun\":true}"),
      ]
      var statuses: [Int: Int] = [:]
      let count = TestLength.size(600, long: 30_000)
      var turn = 0
      // Few of the altered bodies are still valid.
      while turn < count || statuses[201] == nil && turn < 20_000 {
        let (path, valid) = requests[turn % requests.count]
        turn += 1
        let body = Self.spoiled(Array(valid.utf8), &random)
        let before = journal.head.revision
        let answer = try served.ask("POST", path, body: body)
        statuses[answer.status, default: 0] += 1
        let shown = String(decoding: body.prefix(600), as: UTF8.self)
        #expect(answer.status < 500, "\(path): \(shown): \(answer.text)")
        if answer.status == 201 {
          #expect(journal.head.revision == before + 1, "\(shown)")
          try expect(answer, isWhatWasAskedFor: body, at: path)
        } else {
          #expect(journal.head.revision == before, "\(shown): \(answer.text)")
        }
      }
      print("bodies: \(statuses)")
      #expect(statuses[400] ?? 0 > 100 && statuses[201] ?? 0 > 0)
      // Nesting as deep as the limit for bodies allows.
      for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let depth = (8 << 20) / (open.utf8.count + close.utf8.count)
        let deep = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        let update = #"{"events":[{"operation":"update","entity":"item:1","changes":{"attributes":{"a":"#
        for body in [deep, String(repeating: open, count: depth), update + deep + "}}}]}"] {
          let before = journal.head.revision
          let answer = try served.post("/api/commits", body)
          #expect((400..<500).contains(answer.status), "\(answer.status) \(answer.text.prefix(200))")
          #expect(journal.head.revision == before)
        }
      }
      #expect(try served.get("/api/journal").status == 200)
      served.server.stop()
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  /// A body that is altered in one or a few ways.
  private static func spoiled(_ body: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var text = String(decoding: body, as: UTF8.self)
    let tokens = text.matches(of: /"[^"]*"|-?[0-9.]+|true|false/).map(\.range)
    let token = tokens.randomElement(using: &random) ?? text.startIndex..<text.startIndex
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return Array(body.prefix(Int.random(in: 0..<body.count, using: &random)))
    case 1:
      var bytes = body
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      return bytes
    case 2:
      let numbers = [
        "1e999", "-1e999", "99999999999999999999999", "-9223372036854775809", "1e-999", "0.1", "-0", "01",
        "+1", "NaN", "9223372036854775807", String(repeating: "9", count: 100_000),
        "0." + String(repeating: "1", count: 100_000),
      ]
      text.replaceSubrange(token, with: numbers.randomElement(using: &random) ?? "")
    case 3:
      let others = [
        "null", "true", "{}", "[]", #""""#, "0", "[[]]", #"{"$date":"x"}"#, #"{"$data":7}"#,
        #"{"$date":1,"a":2}"#, #""\ud800""#, #""\u0000""#, #""\x""#, "\"\u{FEFF}\"",
        #""item:99999999999999999999""#, #""r9999""#,
      ]
      text.replaceSubrange(token, with: others.randomElement(using: &random) ?? "")
    case 4:
      // A member that occurs twice, with another value.
      guard let place = text.firstIndex(of: "{") else { break }
      let names = ["dryRun", "events", "at", "author", "entities", "revision", "later", "note"]
      let name = names.randomElement(using: &random) ?? ""
      text.insert(contentsOf: "\"\(name)\":false,", at: text.index(after: place))
    case 5: text += ["x", "{}", ",", "\u{0}", text].randomElement(using: &random) ?? ""
    case 6:
      let depth = Int.random(in: 1...3000, using: &random)
      text.replaceSubrange(
        token, with: String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
    default: text.removeSubrange(token)
    }
    return Array(text.utf8)
  }

  /// Reads the body with another parser, and compares it with what was done.
  private func expect(_ answer: Answer, isWhatWasAskedFor body: [UInt8], at path: String) throws {
    let asked = try #require(
      try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    let done = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    guard path == "/api/commits" else {
      // A dry run must not be carried out.
      #expect(asked["dryRun"] as? Bool != true)
      return
    }
    #expect(done["author"] as? String == asked["author"] as? String ?? "ana")
    #expect(done["note"] as? String == asked["note"] as? String ?? "")
    let events = asked["events"] as? [[String: Any]] ?? []
    for event in done["events"] as? [[String: Any]] ?? [] {
      let name = event["entity"] as? String ?? ""
      let isAsked = events.contains { other in
        let target = other["entity"] as? String ?? "item"
        let attributes = (other["changes"] as? [String: Any])?["attributes"] as? NSDictionary ?? [:]
        let found = (event["changes"] as? [String: Any])?["attributes"] as? NSDictionary ?? [:]
        return other["operation"] as? String == event["operation"] as? String
          && (target == name || name.hasPrefix(target + ":"))
          && found.allKeys.allSatisfy { key in
            // A number may come back in another form of the same value.
            attributes[key] != nil
          }
      }
      #expect(isAsked, "\(event) was not in \(String(decoding: body.prefix(600), as: UTF8.self))")
    }
  }

  @Test func manyClientsCommitAndFollowAtOnceAndMemoryStaysFlat() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      let followers = try (0..<32).map { _ in
        let client = try Client(port: served.server.port)
        client.send(
          Array(
            "GET /api/events?after=3 HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n\r\n"
              .utf8))
        return client
      }
      let failures = Lock(0)
      func round() {
        let port = served.server.port
        let whole = request(served)
        Threads.forEach(below: 128, width: 32) { _ in
          let client = try? Client(port: port)
          client?.send(whole)
          let answer = try? Answer(client?.receiveAll() ?? [])
          if answer?.status != 201 { failures.withLock { $0 += 1 } }
        }
      }
      round()
      let before = residentByteCount
      // The app commits through the library meanwhile.
      for number in 1...3 {
        round()
        try journal.commit(by: "app") { try $0.updateItem(2, set: ["turn": .integer(Int64(number))]) }
      }
      #expect(failures.withLock { $0 } == 0)
      #expect(journal.head.revision == 3 + 4 * 128 + 3)
      for follower in followers {
        var text = ""
        #expect(follower.receive(until: "id: \(journal.head.revision)\n", in: &text))
        #expect(text.components(separatedBy: "event: entry").count - 1 == 4 * 128 + 3)
      }
      // Other tests in this process take memory too, except in a long run.
      if TestLength.isLong, let before, let after = residentByteCount { #expect(after < before + 64 << 20) }
      served.server.stop()
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  @Test func connectionsAboveTheLimitAreRefusedUntilOthersEnd() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.connectionLimit = 8 }
      do {
        let idle = try (0..<20).map { _ in try Client(port: served.server.port) }
        #expect(throws: ClientFailure.self) { try served.get("/api/journal") }
        withExtendedLifetime(idle) {}
      }
      var status = 0
      let end = Date() + 300
      while status != 200, Date() < end { status = (try? served.get("/api/journal").status) ?? 0 }
      #expect(status == 200)
      served.server.stop()
      try journal.close()
    }
  }
}
