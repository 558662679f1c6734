import CatalogModel
import Foundation
import JournalServer
import Locks
import TestSupport
import Testing

/// Clients that are slow, vanish, send too much or send nonsense: the server lives, and nothing is written that was not
/// asked for.
@Suite struct RudeClientTests {
  private let commit =
    "{\"author\":\"rude\",\"events\":[{\"operation\":\"add\",\"changes\":{\"kind\":\"x\",\"attributes\":{\"a\":1}}}]}"

  private func request(_ served: ServedJournal) -> [UInt8] {
    Array(
      ("POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(commit.utf8.count)\r\nConnection: close\r\n\r\n"
        + commit).utf8)
  }

  @Test func aRequestThatIsCutAnywhereWritesNothing() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
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

  @Test func whatIsTooLargeIsRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.imageByteLimit = 1000 }
      // Said beforehand, the body need not come.
      #expect(try served.get("/api/journal", ["X-Long": String(repeating: "x", count: 60_000)]).status >= 400)
      let declared = try Client(port: served.server.port)
      declared.send(
        Array(
          "POST /api/commits HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
            .utf8))
      #expect(try Answer(declared.receiveAll()).status == 413)
      #expect(try served.ask("POST", "/api/blobs", body: [UInt8](repeating: 1, count: 1001)).status == 413)
      // Not said beforehand, the connection ends.
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

  @Test func whoSendsAByteAtATimeIsCutOff() throws {
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

  @Test func nonsenseIsAnsweredOrCutAndWritesNothing() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      var generator = SeededGenerator()
      let valid = request(served)
      let paths = [
        "/api/items?where=%s", "/api/entries/%s", "/api/diff?from=%s", "/api/timeline?from=%s",
        "/api/entities/%s", "/api/images/%s/content", "/%s",
      ]
      for turn in 0..<400 {
        let client = try Client(port: served.server.port)
        if turn % 2 == 0 {
          // The body stays as it is: a commit that is asked for is no nonsense.
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
          // Without the token it can't be a commit, whatever else is altered.
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
      let before = Self.residentBytes
      // The app continues through the library meanwhile.
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
      if let before, let after = Self.residentBytes { #expect(after < before + 64 << 20) }
      served.server.stop()
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  private static var residentBytes: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 }
  }

  @Test func moreConnectionsThanAreAllowedAreTurnedAwayAndComeAgain() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal) { $0.connectionLimit = 8 }
      do {
        let idle = try (0..<20).map { _ in try Client(port: served.server.port) }
        withExtendedLifetime(idle) {}
      }
      var status = 0
      let end = Date() + 20
      while status != 200, Date() < end { status = (try? served.get("/api/journal").status) ?? 0 }
      #expect(status == 200)
      served.server.stop()
      try journal.close()
    }
  }
}
