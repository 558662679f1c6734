import CatalogModel
import Files
import Foundation
import JSON
import JournalMaintenance
import JournalServer
import Locks
import TestSupport
import Testing

/// The answers of the API, compared with the library and with what the command line prints.
@Suite struct ReadingTests {
  /// One tag whose entry was pruned made the facts of the journal unreadable.
  @Test func aTagWhoseEntryWasPrunedIsListed() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      try journal.tag("early", at: .revision(2), by: "ana")
      let url = journal.url
      try journal.close()
      try CatalogJournal.prune(before: .head(), at: url)
      let opened = try CatalogJournal.open(at: url, mode: .follow)
      let served = try ServedJournal(opened, editable: false)
      let answer = try served.get("/api/journal")
      #expect(answer.status == 200, "\(answer.text)")
      let tag = try answer.json()["tags"]?.array?.last
      #expect(tag?["name"] == "early" && tag?["revision"] == 2 && tag?["author"]?.isNull == true)
      served.server.stop()
      try opened.close()
    }
  }

  /// The caches of past states, searches and authors used to keep what another process had erased. Now a journal that is
  /// open for writing can also be erased, and pruned.
  @Test(arguments: [CatalogJournal.Mode.follow, .readWrite])
  func whatIsErasedWhileItIsServedIsServedNoMore(_ mode: CatalogJournal.Mode) throws {
    try withTemporaryFolder { folder in
      let books = try makeBooks(folder)
      for stars in 1...5 {
        try books.commit(by: "eve") { try $0.updateItem(2, set: ["stars": .integer(Int64(stars))]) }
      }
      let revision = books.head.revision
      try books.close()
      let opened = try CatalogJournal.open(at: books.url, mode: mode)
      let served = try ServedJournal(opened, editable: false)
      let paths =
        [2, 4, 5, revision].map { "/api/state?at=\($0)" } + ["/api/items?at=4&text=Dune", "/api/timeline"]
      func answers() throws -> [String] {
        try paths.map { path in
          let answer = try served.get(path)
          #expect(answer.status == 200, "\(path): \(answer.text)")
          return answer.text
        }
      }
      _ = try answers()
      // The thread that reads authors may need a moment.
      for _ in 0..<1000 where try !served.get("/api/timeline").text.contains("\"ana\"") { usleep(10_000) }
      #expect(try answers().allSatisfy { $0.contains("Dun") || $0.contains("\"ana\"") })
      if mode == .follow {
        try CatalogJournal.erase(
          [.item(1)], at: books.url, reason: "by law", by: "clerk", includingWords: true)
        try opened.catchUp()
      } else {
        try opened.erase([.item(1)], reason: "by law", by: "clerk", includingWords: true)
      }
      for (path, answer) in zip(paths, try answers()) {
        #expect(!answer.contains("Dun") && !answer.contains("\"ana\""), "\(path): \(answer)")
      }
      if mode == .readWrite {
        try opened.prune(before: .revision(4))
        #expect(try served.get("/api/state?at=2").status == 410)
        for path in ["/api/state?at=5", "/api/items", "/api/timeline"] {
          #expect(try served.get(path).status == 200, "\(path)")
        }
      }
      served.server.stop()
      try opened.close()
    }
  }

  @Test func theJournalRouteGivesCountsDigestAndTags() throws {
    try withBooks { (served) throws in
      let facts = try served.get("/api/journal").json()
      #expect(facts["revision"] == 3)
      #expect(facts["items"] == 3)
      #expect(facts["digest"]?.string == served.journal.head.digest.hex)
      #expect(facts["name"] == "Books.journal")
      #expect(facts["tags"]?[0]?["name"] == "proofread")
      #expect(facts["editable"] == true)
    }
  }

  /// The first page of entries read a thousand entries, and the facts read the first entry, which has all items of an
  /// import, and those of all tags.
  @Test func theNewestEntriesAndTheFactsReadAsLittleOfALongJournalAsOfAShortOne() throws {
    let counts = try [2_000, 8_000].map { size in
      try withTemporaryFolder { folder in
        let reads = Lock(0)
        var options = JournalOptions()
        options.readHook = { _, _ in
          reads.withLock { $0 += 1 }
          return .proceed
        }
        let url = folder.url.appending(path: "Long.journal")
        let writer = try CatalogJournal.create(at: url)
        try writer.commit { draft in
          for number in 0..<size {
            try draft.addItem(kind: "book", attributes: ["number": .integer(Int64(number))])
          }
        }
        let text = String(repeating: "x", count: 600)
        try writer.withPipeline { pipeline in
          for number in 1...size {
            try pipeline.commit { try $0.updateItem(Catalog.Item.ID(number), set: ["text": .string(text)]) }
          }
        }
        for name in ["a", "b", "c"] { try writer.tag(name) }
        try writer.close()
        let journal = try CatalogJournal.open(at: url, options: options)
        let served = try ServedJournal(journal, editable: false)
        let counts = try ["/api/entries?limit=20", "/api/journal"].map { path in
          // The timeline reads all entries once, and the first request reads the index of a table.
          while try served.get("/api/timeline").json()["through"] != .integer(Int64(journal.head.revision)) {
            usleep(1000)
          }
          #expect(try served.get(path).status == 200)
          let before = reads.withLock { $0 }
          #expect(try served.get(path).status == 200)
          return reads.withLock { $0 } - before
        }
        served.server.stop()
        try journal.close()
        return counts
      }
    }
    #expect(counts.allSatisfy { 1...16 ~= $0[0] && $0[1] == 0 }, "\(counts)")
  }

  @Test func theStateRoutePrintsWhatReplayPrintsAtAnyRevision() throws {
    try withBooks { (served) throws in
      for revision in 0...3 {
        let version = try served.journal.version(asOf: .revision(revision))
        var (text, bytes) = (StateText(version), [UInt8]())
        while let piece = try text.next() { bytes += piece }
        let head =
          #"{"revision":\#(revision),"date":"\#(Timestamp(version.date)!.description)","#
          + #""digest":"\#(version.digest.hex)","categories":["#
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(head))
        #expect(try served.get("/api/state?at=r\(revision)").body == bytes)
      }
    }
  }

  private func titles(_ served: ServedJournal, _ query: String) throws -> [String] {
    let answer = try served.get("/api/items" + query)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.json()["items"]?.array?.compactMap { $0["attributes"]?["title"]?.string } ?? []
  }

  /// The second search got the kept answer of the first, because Swift's strings are equal if they are equivalent.
  @Test func searchesWhoseTextsDifferOnlyInTheirBytesHaveAnswersOfTheirOwn() throws {
    try withBooks { (served) throws in
      try served.journal.commit { draft in
        for title in ["Caf\u{E9}", "Cafe\u{301}"] {
          try draft.addItem(kind: "book", attributes: ["title": .string(title), title: 1])
        }
      }
      func scalars(_ condition: String) throws -> [Int] {
        try titles(served, "?where=\(condition)").map(\.unicodeScalars.count)
      }
      #expect(try scalars("title%3DCaf%C3%A9") == [4])
      #expect(try scalars("title%3DCafe%CC%81") == [5])
      #expect(try scalars("Caf%C3%A9%3D1") == [4])
      #expect(try scalars("Cafe%CC%81%3D1") == [5])
    }
  }

  @Test func itemsAreFoundFilteredSortedAndCounted() throws {
    try withBooks { (served) throws in
      func titles(_ query: String) throws -> [String] { try self.titles(served, query) }
      #expect(try titles("?kind=book") == ["Dune", "Emma"])
      #expect(try titles("?kind=book&at=r1") == ["Dun", "Emma"])
      #expect(try titles("?sort=-title&kind=book") == ["Emma", "Dune"])
      #expect(try titles("?sort=-@modified").first == "Dune")
      #expect(try titles("?text=dun") == ["Dune"] && titles("?words=dun") == [])
      #expect(try titles("?words=D%C3%BCne") == ["Dune"] && titles("?words=dun&at=r1") == ["Dun"])
      let ever = try served.get("/api/find?words=dun&ever=1").json()["found"]?.array
      #expect(ever?.count == 1 && ever?.first?["label"] == "Dune")
      #expect(ever?.first?["periods"]?.array?.first?["end"]?["revision"] == 2)
      #expect(try titles("?where=stars%3E%3D5") == ["Dune"])
      #expect(try titles("?where=stars%3C5&where=title%5E%3DEm") == ["Emma"])
      #expect(try titles("?where=stars!%3D5&kind=book") == ["Emma"])
      #expect(try titles("?where=stars!%3Dnull") == ["Dune", "Emma"])
      #expect(try served.get("/api/items?where=stars%3Dnull").json()["total"] == 1)
      #expect(try served.get("/api/items?where=@category%3Dnull").json()["total"] == 1)
      for novels in ["Novels", "1", "category:1"] {
        #expect(try titles("?category=\(novels)") == ["Dune", "Emma"])
      }
      #expect(try served.get("/api/items?category=item:1").status == 404)
      #expect(try titles("?limit=1&offset=1") == ["Emma"])
      #expect(try served.get("/api/items?limit=1").json()["total"] == 3)
      #expect(try served.get("/api/items?kind=book&limit=1").json()["total"] == 2)
      #expect(try served.get("/api/items?where=@kind!%3Dbook").json()["total"] == 1)
      #expect(try served.get("/api/items?where=@kind%3Ebook").json()["total"] == 1)
      #expect(try served.get("/api/items").json()["labels"]?["item:1"] == "Dune")
      #expect(try served.get("/api/items?where=stars").status == 400)
      #expect(try served.get("/api/items?limit=0").status == 400)
      #expect(try served.get("/api/items?frobnicate=1").text.contains("there is no parameter"))
    }
  }

  @Test(.timeLimit(.minutes(60))) func pastStatesAreTheSameHoweverTheyAreReached() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Many.journal"))
      for number in 1...300 {
        try journal.commit(by: "a\(number % 3)") { draft in
          try draft.addItem(kind: "k", attributes: ["n": .integer(Int64(number))])
          if number > 1 { try draft.updateItem(EntityID(number - 1), set: ["next": .integer(Int64(number))]) }
        }
      }
      let served = try ServedJournal(journal)
      var generator = SeededGenerator()
      for revision in [300, 299, 298, 150, 149, 151, 1, 0, 42]
        + (0..<40).map({ _ in Int.random(in: 0...300, using: &generator) })
      {
        let answer = try served.get("/api/items?at=r\(revision)&sort=-n&limit=1").json()
        #expect(answer["total"]?.integer == revision)
        #expect(answer["items"]?[0]?["id"]?.integer == (revision == 0 ? nil : revision))
      }
      // The timeline has each entry once, by its author.
      var histogram = try served.get("/api/timeline?buckets=7").json()
      while histogram["through"]?.integer != 300, !Task.isCancelled {
        histogram = try served.get("/api/timeline?buckets=7").json()
      }
      let counts =
        histogram["buckets"]?.array?.compactMap { $0["counts"]?.array?.compactMap(\.integer) } ?? []
      #expect(counts.flatMap { $0 }.reduce(0, +) == 300)
      #expect((0..<3).map { author in counts.reduce(0) { $0 + $1[author] } } == [100, 100, 100])
      #expect(histogram["authors"] == ["a0", "a1", "a2"])
      served.server.stop()
      try journal.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) func anErasedAuthorDiffersFromAMissingOne() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      try makeBooks(folder).close()
      try CatalogJournal.erase([.item(3)], at: url, reason: "by law", by: "eve", includingWords: true)
      let journal = try CatalogJournal.open(at: url)
      try journal.commit { try $0.updateItem(1, set: ["stars": 1]) }
      let served = try ServedJournal(journal)
      var histogram = try served.get("/api/timeline").json()
      while histogram["through"]?.integer != journal.head.revision, !Task.isCancelled {
        histogram = try served.get("/api/timeline").json()
      }
      #expect(histogram["authors"]?.array?.map(\.string) == [nil, "", "bob", "eve"])
      served.server.stop()
      try journal.close()
    }
  }

  /// Blame and plans had empty texts, and only the date that orders entries.
  @Test func blameAndPlansTellErasedAuthorsAndTheClocksDate() throws {
    try withTemporaryFolder { folder in
      let journal = try makeErasedBooks(folder)
      let served = try ServedJournal(journal)
      let blame = try served.get("/api/entities/item:1/blame").json()["blame"]?.array ?? []
      let stars = try #require(blame.first { $0["field"] == "stars" })
      let title = try #require(blame.first { $0["field"] == "title" })
      let plan = try served.post(
        "/api/restore", "{\"entities\":[\"item:1\"],\"at\":\"r2\",\"dryRun\":true}")
      let edit = try #require(try plan.json()["undoes"]?[0])
      let entry = try #require(try served.get("/api/entries/4").json()["entry"])
      for late in [stars, edit, entry] {
        #expect(late["revision"] == 4 && late["author"]?.isNull == true && late["note"]?.isNull == true)
        #expect(late["date"] == entry["date"] && late["clockDate"] == "2026-08-01T00:00:00.000000Z")
      }
      #expect(title["author"] == "bob" && title["note"] == "spelling" && title["clockDate"] == nil)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func entriesHistoriesBlameAndDifferencesEqualThoseOfTheLibrary() throws {
    try withBooks { (served) throws in
      let entries = try served.get("/api/entries").json()["entries"]?.array ?? []
      #expect(entries.map { $0["revision"]?.integer } == [3, 2, 1])
      #expect(entries.last?["counts"]?["add"] == 5)
      #expect(try served.get("/api/entries?author=bob&limit=1").json()["next"]?.integer == 2)
      #expect(try served.get("/api/entries?order=oldest&note=spell").json()["entries"]?.array?.count == 1)
      let entry = try served.get("/api/entries/2").json()
      #expect(entry["entry"]?["events"]?[0]?["changes"]?["title"] == ["old": "Dun", "new": "Dune"])
      #expect(entry["labels"]?["item:1"] == "Dune")
      let history = try served.get("/api/entities/item:1/history?digests=1").json()
      #expect(
        history["history"]?.array?.map { $0["revision"]?.integer } == [2, 1] && history["next"] == .null)
      let newest = try served.get("/api/entities/item:1/history?limit=1").json()
      #expect(newest["history"]?.array?.map { $0["revision"]?.integer } == [2] && newest["next"] == 1)
      let oldest = try served.get("/api/entities/item:1/history?limit=1&at=1").json()
      #expect(oldest["history"]?.array?.map { $0["revision"]?.integer } == [1] && oldest["next"] == .null)
      #expect(history["history"]?[0]?["changes"]?["stars"] == ["old": 3, "new": 5])
      #expect(history["digests"]?["2"]?.string == (try served.journal.entry(at: 2).digest.hex))
      let blame = try served.get("/api/entities/item:1/blame").json()["blame"]?.array ?? []
      #expect(blame.first { $0["field"] == "title" }?["author"] == "bob")
      let diff = try served.get("/api/diff?from=1&to=HEAD").json()
      #expect(diff["differences"]?[0]?["changes"]?["title"] == ["old": "Dun", "new": "Dune"])
      #expect(try served.get("/api/diff?from=1&to=2&entity=item:2").json()["total"] == 0)
      #expect(try served.get("/api/find?text=emma").json()["found"]?[0]?["entity"] == "item:2")
    }
  }

  /// They were not found.
  @Test func textsInsideArraysAndDictionariesAreFound() throws {
    try withBooks { (served) throws in
      try served.journal.commit { draft in
        try draft.updateItem(2, set: ["tags": ["wit", ["Regency"]], "place": ["name": "Highbury"]])
      }
      for text in ["regency", "WIT", "highb"] {
        #expect(try titles(served, "?text=\(text)") == ["Emma"], "\(text)")
        let found = try served.get("/api/find?text=\(text)").json()["found"]?.array
        #expect(found?.compactMap { $0["entity"]?.string } == ["item:2"], "\(text)")
      }
      // Keys are not texts.
      #expect(try titles(served, "?text=tags") == [])
    }
  }

  /// The answer had no body.
  @Test func aRequestThatIsNotUTF8IsRefusedInJSON() throws {
    try withBooks { (served) throws in
      for path in ["/api/items?at=%ff", "/api/items?%ff=1", "/api/entities/%ff"] {
        let answer = try served.get(path)
        #expect(answer.status == 400 && answer.code == "wrongUse", "\(path): \(answer.text)")
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.headers["x-content-type-options"] == "nosniff")
      }
    }
  }

  @Test func listsThatHadAnySizeEndAtFourMebibytesAndContinue() throws {
    try withBooks { (served) throws in
      let text = FieldValue.string(String(repeating: "x", count: 150_000))
      try served.journal.commit { draft in
        for _ in 1...60 { try draft.addItem(kind: "large", attributes: ["text": text]) }
      }
      func page(_ path: String) throws -> FieldValue {
        let answer = try served.get(path)
        #expect(answer.status == 200 && answer.body.count < 5 << 20, "\(path): \(answer.body.count) bytes")
        return try answer.json()
      }
      // The parts of a list have each element once.
      func elements(_ path: String, _ members: String..., name: String) throws -> [String?] {
        var names: [String?] = []
        while true {
          var list: FieldValue? = try page("\(path)&offset=\(names.count)")
          for member in members { list = list?[member] }
          guard let list = list?.array, !list.isEmpty else { return names }
          #expect(list.count < 60)
          names += list.map { $0[name]?.string ?? $0[name]?.integer.map { "item:\($0)" } }
        }
      }
      let names = (4...63).map { "item:\($0)" }
      #expect(try elements("/api/items?kind=large&limit=60", "items", name: "id") == names)
      #expect(try elements("/api/diff?from=3&limit=1000", "differences", name: "entity") == names)
      #expect(try elements("/api/entries/4?limit=1000", "entry", "events", name: "entity") == names)
      let entries = try page("/api/entries?events=1000&limit=1")["entries"]
      #expect(entries?[0]?["eventCount"] == 60)
      #expect((1..<60).contains(entries?[0]?["events"]?.array?.count ?? 0))
      // Labels may be long too.
      try served.journal.commit { draft in
        for number in 4...63 { try draft.updateItem(EntityID(number), set: ["title": text]) }
      }
      let found = try page("/api/find?kind=large&limit=60")
      #expect((1..<60).contains(found["found"]?.array?.count ?? 0) && found["more"] == true)
      let labels = try served.get("/api/diff?from=4&limit=1000").json()
      #expect(labels["labels"]?.dictionary?.count == labels["differences"]?.array?.count)
      let late = try served.post(
        "/api/commits", "{\"events\":[{\"operation\":\"delete\",\"entity\":\"item:4\"}]}",
        ["If-Match": (4...63).map { "\"item:\($0)@4\"" }.joined(separator: ", ")])
      #expect(late.status == 409 && late.body.count < 5 << 20, "\(late.body.count) bytes")
    }
  }

  @Test func everyErrorHasTheSameForm() throws {
    try withBooks { (served) throws in
      for (path, status, code) in [
        ("/api/entities/item:9", 404, "notFound"), ("/api/entities/thing:1", 404, "notFound"),
        ("/api/entries/99", 404, "notFound"), ("/api/items?at=then", 400, "invalidSelector"),
        ("/api/nothing", 404, "notFound"), ("/api/entries/r0", 404, "notFound"),
        ("/api/images/9/content", 404, "notFound"),
        ("/api/events?after=99", 404, "notFound"), ("/api/diff", 400, "wrongUse"),
      ] {
        let answer = try served.get(path)
        #expect(answer.status == status, "\(path): \(answer.text)")
        #expect(answer.code == code, "\(path): \(answer.text)")
      }
      #expect(try served.ask("DELETE", "/api/journal").status == 405)
    }
  }

  /// Each `@` was parsed by a recursive call, and many overflowed the stack of the connection's thread.
  @Test func aSelectorOfTooManyEntitiesIsRefusedAndTheServerContinues() throws {
    try withBooks { (served) throws in
      func selector(_ count: Int) -> String { String(repeating: "item:1@", count: count) + "1" }
      #expect(try served.get("/api/items?at=\(selector(8))").status == 200)
      let read = try served.get("/api/items?at=\(selector(1500))")
      #expect(read.status == 400 && read.code == "invalidSelector", "\(read.text)")
      let body = "{\"entities\":[\"item:1\"],\"at\":\"\(selector(10_000))\"}"
      let restored = try served.post("/api/restore", body)
      #expect(restored.status == 400 && restored.code == "invalidSelector", "\(restored.text)")
      #expect(try served.get("/api/journal").status == 200)
    }
  }

  @Test func imagesAreServedByTheirDigestAndInParts() throws {
    try withBooks { (served) throws in
      let whole = try served.get("/api/images/1/content")
      let bytes = try served.journal.blobs.data(of: served.journal.state.image(1)!.blob)
      #expect(whole.body == Array(bytes))
      #expect(whole.headers["content-type"] == "image/svg+xml")
      let tag = try #require(whole.headers["etag"])
      #expect(tag == "\"\(served.journal.state.image(1)!.blob.digest.hex)\"")
      #expect(try served.get("/api/images/1/content", ["If-None-Match": tag]).status == 304)
      let part = try served.get("/api/images/1/content", ["Range": "bytes=5-9"])
      #expect(part.status == 206)
      #expect(part.body == Array(bytes[5...9]))
      #expect(part.headers["content-range"] == "bytes 5-9/\(bytes.count)")
      #expect(try served.get("/api/images/1/content", ["Range": "bytes=-4"]).body == Array(bytes.suffix(4)))
      #expect(try served.get("/api/images/1/content", ["Range": "bytes=\(bytes.count)-"]).status == 416)
      #expect(try served.get("/api/images/1/content", ["Range": "bytes=0-1,4-5"]).status == 200)
      #expect(
        try served.get("/api/images/1/content", ["Range": "bytes=0-1", "If-Range": "\"x\""]).status == 200)
      // No script in the image runs, however it is opened.
      #expect(whole.headers["content-security-policy"]?.contains("sandbox") == true)
      #expect(whole.headers["x-content-type-options"] == "nosniff")
    }
  }

  /// The server ended.
  @Test func anItemOfAnErasedCategoryIsAnsweredWithItsReference() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooksOfErasedCategory(folder)
      let served = try ServedJournal(journal)
      let answer = try served.get("/api/entities/item:1")
      #expect(answer.status == 200)
      let item = try answer.json()
      #expect(item["entity"]?["category"] == 1, "\(answer.text)")
      #expect(item["category"] == ["id": 1, "erased": true], "\(answer.text)")
      let items = try served.get("/api/items?category=1").json()
      #expect(items["total"] == 2 && items["categories"] == [])
      let state = try served.get("/api/state").json()
      #expect(state["categories"] == [] && state["items"]?[0]?["category"] == 1)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func anImageThatIsDamagedIsNotServed() throws {
    try withBooks(isSound: false) { (served) throws in
      let url = served.journal.blobs.url(of: served.journal.state.image(1)!.blob)
      var bytes = try Data(contentsOf: url)
      bytes[3] ^= 1
      try bytes.write(to: url)
      let answer = try served.get("/api/images/1/content")
      #expect(answer.status == 500)
      #expect(answer.code == "damaged")
      #expect(!answer.text.contains(served.journal.url.path))
    }
  }

  @Test func eventsArriveAndContinueAfterAnInterruption() throws {
    try withBooks { (served) throws in
      func stream(after: Int) throws -> Client {
        let client = try Client(port: served.server.port)
        client.send(
          Array(
            "GET /api/events HTTP/1.1\r\nHost: \(served.host)\r\nAuthorization: Bearer \(ServedJournal.token)\r\nLast-Event-ID: \(after)\r\n\r\n"
              .utf8))
        return client
      }
      var text = ""
      var client: Client? = try stream(after: 1)
      #expect(client!.receive(until: "id: 3\n", in: &text))
      #expect(text.contains("id: 2\n") && !text.contains("id: 1\n"))
      try served.journal.commit(by: "eve") { try $0.deleteItem(2) }
      #expect(client!.receive(until: "id: 4\n", in: &text))
      // The client disconnects and comes back.
      client = nil
      try served.journal.commit(by: "eve") { try $0.deleteItem(3) }
      text = ""
      client = try stream(after: 4)
      #expect(client!.receive(until: "id: 5\n", in: &text))
      #expect(!text.contains("id: 4\n"))
      #expect(text.contains("event: entry\ndata: {\"revision\":5,"))
      // Stopping the server ends the stream.
      served.server.stop()
      while client!.receive() != nil {}
    }
  }
}
