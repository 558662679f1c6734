import CatalogModel
import Foundation
import JournalServer
import TestSupport
import Testing

/// Attempts to reach a journal without permission.
@Suite struct AccessTests {
  /// Clients leave out the default port, and every request was refused.
  @Test func onPort80TheHostHasNoPort() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      // Not every machine lets tests have this port.
      if let served = try? ServedJournal(journal, editable: true, { $0.port = 80 }) {
        for host in ["127.0.0.1", "localhost", "127.0.0.1:80"] {
          #expect(try served.get("/api/journal", ["Host": host]).status == 200)
        }
        #expect(try served.get("/api/journal", ["Host": "example.org"]).status == 421)
        served.server.stop()
      }
      try journal.close()
    }
  }

  private let paths = [
    "/api/journal", "/api/state", "/api/items", "/api/find", "/api/entities/item:1",
    "/api/entities/item:1/history",
    "/api/entities/item:1/blame", "/api/entries", "/api/entries/1", "/api/diff?from=1", "/api/timeline",
    "/api/events",
    "/api/images/1/content", "/api/openapi.json",
  ]

  @Test func nothingIsServedWithoutAToken() throws {
    try withBooks { (served) throws in
      for path in paths {
        #expect(try served.get(path, ServedJournal.withoutToken).status == 401, "\(path)")
        #expect(try served.get(path, ["Authorization": "Bearer guess"]).status == 401, "\(path)")
        #expect(
          try served.get(
            path, ServedJournal.withoutToken.merging(["Cookie": "journal-\(served.server.port)=guess"]) { $1 }
          ).status == 401)
      }
      for path in ["/api/commits", "/api/restore", "/api/revert", "/api/undo", "/api/redo", "/api/blobs"] {
        #expect(try served.post(path, "{}", ServedJournal.withoutToken).status == 401, "\(path)")
      }
      #expect(try served.get("/", ServedJournal.withoutToken).status == 401)
      #expect(served.journal.head.revision == 3)
    }
  }

  @Test func anotherOriginAndAGuessedHostNameGetNothing() throws {
    try withBooks { (served) throws in
      for host in [
        "evil.example:\(served.server.port)", "evil.example", "127.0.0.1", "127.0.0.1:1", "",
        "\(served.host), \(served.host)",
      ] {
        for path in paths + ["/", "/assets/app.js"] {
          let status = try served.get(path, ["Host": host]).status
          #expect(status == 421 || status == 400, "\(host) \(path)")
        }
      }
      for origin in ["http://evil.example", "null", "http://localhost:1", "https://\(served.host)"] {
        #expect(try served.get("/api/journal", ["Origin": origin]).status == 403)
        #expect(try served.post("/api/undo", "{}", ["Origin": origin]).status == 403)
      }
      #expect(try served.get("/api/journal", ["Sec-Fetch-Site": "cross-site"]).status == 403)
      #expect(try served.get("/api/images/1/content", ["Sec-Fetch-Site": "same-site"]).status == 403)
      // No answer allows another origin, and the preflight requests of browsers are refused.
      let asked = try served.ask("OPTIONS", "/api/commits", ["Origin": "http://\(served.host)"])
      #expect(asked.status == 405)
      for answer in [asked, try served.get("/api/journal", ["Origin": "http://\(served.host)"])] {
        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") })
      }
      #expect(served.journal.head.revision == 3)
    }
  }

  @Test func aOneTimeTokenOpensOneSession() throws {
    try withBooks { (served) throws in
      let token = try #require(served.server.invitation().query?.dropFirst("token=".count)).description
      let free = ServedJournal.withoutToken
      let page = try served.get("/?token=\(token)", free)
      #expect(page.status == 200)
      let cookie = try #require(page.headers["set-cookie"])
      #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
      let session = String(cookie.prefix { $0 != ";" })
      #expect(try served.get("/?token=\(token)", free).status == 401)
      let withCookie = free.merging(["Cookie": session]) { $1 }
      #expect(try served.get("/", withCookie).status == 200)
      #expect(try served.get("/items/1?at=r1", withCookie).status == 200)
      #expect(try served.get("/api/journal", withCookie).status == 200)
      // A change with a cookie needs an Origin header.
      #expect(try served.post("/api/undo", "{\"dryRun\":true,\"author\":\"bob\"}", withCookie).status == 403)
      #expect(
        try served.post(
          "/api/undo", "{\"dryRun\":true,\"author\":\"bob\"}",
          withCookie.merging(["Origin": "http://\(served.host)"]) { $1 }
        ).status == 200)
      // A program exchanges a one-time token for a bearer token.
      let second = try #require(served.server.invitation().query?.dropFirst("token=".count)).description
      let opened = try served.ask("POST", "/api/session", ["Authorization": "Bearer \(second)"])
      let bearer = try #require(try opened.json()["token"]?.string)
      #expect(try served.get("/api/journal", ["Authorization": "Bearer \(bearer)"]).status == 200)
      #expect(try served.ask("POST", "/api/session", ["Authorization": "Bearer \(second)"]).status == 401)
      #expect(try served.get("/api/journal", ["Authorization": "Bearer \(second)"]).status == 401)
    }
  }

  /// The server started. With an empty name, it answered clients that send none.
  @Test func aHostNameThatIsNoneIsRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      for name in ["", " ", "https://books.example.org"] {
        let error = #expect(throws: JournalError.self) {
          try ServedJournal(journal, editable: true, { $0.hostNames = ["books.example.org", name] })
        }
        #expect(error?.code == .wrongUse)
        #expect(error?.message.contains("\"\(name)\" is not a host name") == true)
      }
      try journal.close()
    }
  }

  /// A short token can be guessed. The command line refused it, and a program could use it. No client can send one with a
  /// line feed.
  @Test func aTokenThatIsShortOrHasBlanksIsRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      for tokens in [
        ["a"], [""], [ServedJournal.token, "fifteen-letters"], ["a token with blanks"],
        ["a-token-with-a-line-feed\n"], ["a-token-with-a\u{0}"],
      ] {
        let error = #expect(throws: JournalError.self) {
          try ServedJournal(journal, editable: true, { $0.tokens = tokens })
        }
        #expect(error?.code == .wrongUse)
        #expect(error?.message.contains("at least 16 characters") == true)
      }
      let served = try ServedJournal(journal, editable: true, { $0.tokens = ["sixteen-letters."] })
      #expect(try served.get("/api/journal", ["Authorization": "Bearer sixteen-letters."]).status == 200)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func noPathLeadsOutOfTheServer() throws {
    try withBooks { (served) throws in
      for path in [
        "/../../../etc/passwd", "/assets/../../etc/passwd", "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/api/images/../../FORMAT/content", "/api/images/..%2f..%2fFORMAT/content", "/..%00/",
        "/api/../FORMAT", "/FORMAT",
        "/assets/app.js/", "/assets/", "//etc/passwd", "/api/entities/..%2f..", "/items/../../..",
      ] {
        let answer = try served.get(path)
        #expect((400..<500).contains(answer.status), "\(path): \(answer.status)")
        #expect(!answer.text.contains(served.journal.url.path), "\(path)")
        #expect(!answer.text.contains("root:"))
      }
    }
  }

  @Test func everyAnswerHasTheHeadersThatRestrictBrowsers() throws {
    try withBooks { (served) throws in
      let token = try #require(served.server.invitation().query)
      for path in paths.filter({ $0 != "/api/events" }) + ["/?\(token)", "/assets/app.js", "/nowhere"] {
        let answer = try served.get(path)
        #expect(answer.headers["x-content-type-options"] == "nosniff", "\(path)")
        #expect(answer.headers["content-security-policy"]?.contains("default-src 'none'") == true, "\(path)")
        #expect(answer.headers["cross-origin-resource-policy"] == "same-origin", "\(path)")
        #expect(answer.headers["referrer-policy"] == "no-referrer", "\(path)")
        #expect(!answer.text.contains(served.journal.url.path), "\(path)")
      }
      let index = try served.get("/?\(try #require(served.server.invitation().query))")
      #expect(index.headers["content-security-policy"]?.contains("script-src 'self'") == true)
      #expect(!index.text.contains("http://") && !index.text.contains("https://"))
    }
  }

  @Test func aMediaTypeFromTheJournalIsNotTrustedAsAHeader() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let blob = try journal.blobs.add(Data("<script>1</script>".utf8))
      try journal.commit { draft in
        try draft.addImage(to: 1, name: "x", mediaType: "text/html", blob: blob)
        try draft.addImage(to: 1, name: "y", mediaType: "image/png\r\nSet-Cookie: a=b", blob: blob)
      }
      let served = try ServedJournal(journal)
      for number in [2, 3] {
        let answer = try served.get("/api/images/\(number)/content")
        #expect(answer.headers["content-type"] == "application/octet-stream")
        #expect(answer.headers["content-disposition"] == "attachment")
        #expect(answer.headers["set-cookie"] == nil)
      }
      served.server.stop()
      try journal.close()
    }
  }

  /// With a negative limit, the process ended. With a limit of 0, the server answered no request.
  @Test func aLimitOfConnectionsThatMakesNoSenseIsRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      for limit in [-1, 0, 1 << 32, .min, .max] {
        let error = #expect(throws: JournalError.self) {
          try ServedJournal(journal, editable: true, { $0.connectionLimit = limit })
        }
        #expect(error?.code == .wrongUse)
        #expect(error?.message.contains("the limit of connections is \(limit)") == true)
      }
      try journal.close()
    }
  }

  @Test func aReadOnlyServerChangesNothing() throws {
    try withBooks(editable: false) { (served) throws in
      #expect(try served.post("/api/commits", "{\"events\":[]}").code == "readOnly")
      #expect(try served.ask("POST", "/api/blobs", body: [1, 2]).code == "readOnly")
      #expect(try served.post("/api/restore", "{\"all\":true,\"at\":\"1\"}").code == "readOnly")
      // A preview writes nothing.
      #expect(try served.post("/api/restore", "{\"all\":true,\"at\":\"1\",\"dryRun\":true}").status == 200)
      #expect(served.journal.head.revision == 3)
    }
  }
}
