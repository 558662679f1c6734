import CatalogModel
import Foundation
import JournalMaintenance
import JournalServer
import Journaling
import TestSupport
import Testing

/// Journals that are damaged or can't be opened. What can be read is shown, and the rest is explained.
@Suite struct DamagedJournalTests {
  @Test func damageHidesNoOtherEntryAndNoState() throws {
    try withDamagedJournal(removingSnapshots: false) { url in
      let journal = try CatalogJournal.open(at: url, mode: .follow)
      let served = try ServedJournal(journal, editable: false)
      // The check in the background finds the damage.
      let end = Date() + 300
      var health = try served.get("/api/journal").json()["health"]
      while health?["problem"]?.isNull ?? true, Date() < end {
        usleep(50_000)
        health = try served.get("/api/journal").json()["health"]
      }
      #expect(health?["problem"]?["code"] == "damaged")
      #expect(health?["problem"]?["advice"]?.string?.contains("journal salvage") == true)
      #expect(health?["endsAtDamage"] == false)
      #expect(try served.get("/api/items").json()["total"] == 100)
      for order in ["newest", "oldest"] {
        let answer = try served.get("/api/entries?limit=500&events=0&order=\(order)").json()
        let entries = answer["entries"]?.array?.compactMap { $0["revision"]?.integer } ?? []
        let unreadable = answer["unreadable"]?.array?.compactMap { $0["revision"]?.integer } ?? []
        #expect(!unreadable.isEmpty && unreadable.count < 20)
        #expect((entries + unreadable).sorted() == Array(1...100))
        #expect(answer["unreadable"]?[0]?["code"] == "damaged")
        #expect(try served.get("/api/entries/\(unreadable[0])").status == 500)
      }
      // The timeline continues after the damaged entry.
      var timeline = try served.get("/api/timeline").json()
      while timeline["through"] != 100, Date() < end {
        usleep(20_000)
        timeline = try served.get("/api/timeline").json()
      }
      #expect(timeline["through"] == 100)
      // An entry that can't be read has no author.
      let buckets = try #require(timeline["buckets"]?.array)
      let unreadable = buckets.reduce(0) { $0 + ($1["unreadable"]?.integer ?? 0) }
      let counted = buckets.flatMap { $0["counts"]?.array ?? [] }.reduce(0) { $0 + ($1.integer ?? 0) }
      #expect(timeline["authors"] == ["ana"])
      #expect(unreadable > 0 && unreadable < 20 && counted + unreadable == 100)
      // A state that layers hold needs no entry before it.
      #expect(try served.get("/api/items?at=HEAD~1").status == 200)
      served.server.stop()
      try journal.close()
    }
  }

  /// Each request for the facts failed, so the page showed nothing.
  @Test func theFactsAreAnsweredIfTheFirstEntryCanNotBeRead() throws {
    try withLargeJournal { url in
      let journal = try CatalogJournal.open(at: url, mode: .follow)
      try damage(url, at: { _ in 20_000 })
      let served = try ServedJournal(journal, editable: false)
      #expect(try served.get("/api/entries/1").status == 500)
      let facts = try served.get("/api/journal").json()
      #expect(facts["revision"] == 100 && facts["items"] == 100)
      #expect(facts["firstDate"]?.isNull == true && facts["date"]?.string != nil)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func theNextPageOfADifferenceReadsNoEntry() throws {
    try withLargeJournal { url in
      let journal = try CatalogJournal.open(at: url, mode: .follow)
      let served = try ServedJournal(journal, editable: false)
      var entities: [String] = []
      for offset in stride(from: 0, to: 99, by: 20) {
        let page = try served.get("/api/diff?from=1&offset=\(offset)&limit=20").json()
        #expect(page["total"] == 99)
        for difference in page["differences"]?.array ?? [] {
          let entity = try #require(difference["entity"]?.string)
          entities.append(entity)
          #expect(difference["operation"] == "add")
          #expect(difference["changes"]?["title"]?["new"]?.string == String(entity.dropFirst("item:".count)))
        }
        _ = try served.get("/api/items?at=r1")
        // Both states are cached now. From here on, the entries between them can't be read.
        if offset == 0 { try damage(url) }
      }
      #expect(entities == (2...100).map { "item:\($0)" })
      #expect(try served.get("/api/diff?from=1&to=99").status == 500)
      served.server.stop()
      try journal.close()
    }
  }

  @Test func aJournalThatDoesNotOpenIsShownUpToTheDamage() throws {
    try withDamagedJournal(removingSnapshots: true) { url in
      let error = #expect(throws: JournalError.self) { try CatalogJournal.open(at: url, mode: .follow) }
      #expect(error?.code == .damaged)
      let journal = try CatalogJournal.openUpToDamage(at: url)
      #expect(journal.head.revision > 0 && journal.head.revision < 100)
      let served = try ServedJournal(journal, editable: false)
      let facts = try served.get("/api/journal").json()
      #expect(facts["health"]?["endsAtDamage"] == true)
      #expect(facts["health"]?["problem"]?["code"] == "damaged")
      #expect(facts["health"]?["problem"]?["revision"]?.integer == journal.head.revision + 1)
      #expect(facts["revision"]?.integer == journal.head.revision)
      for path in [
        "state", "items", "items?at=2", "entities/item:1", "entities/item:1/history",
        "entities/item:1/blame", "entries", "entries/1", "diff?from=1", "timeline", "find?text=1",
      ] {
        let answer = try served.get("/api/" + path)
        #expect(answer.status == 200, "\(path): \(answer.text.prefix(300))")
        #expect(!answer.text.contains(url.path))
      }
      #expect(try served.get("/api/items").json()["total"]?.integer == journal.head.revision)
      #expect(try served.post("/api/undo", "{}").status == 403)
      served.server.stop()
      try journal.close()
    }
  }
}

/// Calls `body` with a journal of 100 large entries.
private func withLargeJournal(_ body: (_ url: URL) throws -> Void) throws {
  try withTemporaryFolder { folder in
    let url = folder.url.appending(path: "Large.journal")
    let journal = try CatalogJournal.create(at: url)
    var random = SeededGenerator(seed: 1)
    for number in 1...100 {
      let text = Data(random.bytes(72_000)).base64EncodedString()
      try journal.commit(by: "ana", note: "number \(number)") { draft in
        try draft.addItem(kind: "note", attributes: ["title": .string("\(number)"), "text": .string(text)])
      }
      if number == 90 { try journal.takeSnapshot() }
    }
    try journal.takeSnapshot()
    try journal.close()
    try body(url)
  }
}

/// Damages a few entries of that journal, which may be open, by default in its first half.
/// - Parameter place: where in the oldest table, from its size. Opening reads the first block to learn where the table
///   begins.
private func damage(_ url: URL, at place: (UInt64) -> UInt64 = { $0 / 3 }) throws {
  let table = try #require(try entryTables(of: url).first)
  let file = try FileHandle(forUpdating: table)
  defer { try? file.close() }
  let place = place(try file.seekToEnd())
  try file.seek(toOffset: place)
  let byte = try #require(try file.read(upToCount: 1)?.first)
  try file.seek(toOffset: place)
  try file.write(contentsOf: Data([byte ^ 1]))
}

private func withDamagedJournal(
  removingSnapshots: Bool, _ body: (_ url: URL) throws -> Void
) throws {
  try withLargeJournal { url in
    if removingSnapshots {
      let snapshots = url.appending(path: "snapshots")
      for name in try FileManager.default.contentsOfDirectory(atPath: snapshots.path) {
        try FileManager.default.removeItem(at: snapshots.appending(path: name))
      }
    }
    try damage(url)
    try body(url)
  }
}

extension PageTests {
  @Test func aDamagedJournalShowsTheReadableEntriesAndSaysWhatToDo() throws {
    for removesSnapshots in [true, false] {
      try withDamagedJournal(removingSnapshots: removesSnapshots) { url in
        let journal =
          removesSnapshots
          ? try CatalogJournal.openUpToDamage(at: url) : try CatalogJournal.open(at: url, mode: .follow)
        let served = try ServedJournal(journal, editable: false)
        let browser = try Browser()
        try browser.open(served.server.invitation().absoluteString)
        try browser.wait("document.querySelectorAll('.row').length > 3")
        try browser.wait("document.getElementById('alarm').innerText.includes('This journal is damaged.')")
        let alarm = try browser.text("return document.getElementById('alarm').innerText")
        #expect(alarm.contains("backup") && alarm.contains("journal salvage"))
        #expect(
          alarm.contains("ends with revision \(journal.head.revision)") == removesSnapshots, "\(alarm)")
        if !removesSnapshots {
          try browser.wait("document.querySelector('.legend').innerText.includes('can’t be read')")
        }
        try browser.photograph("damaged-\(removesSnapshots ? "closed" : "open")")
        try browser.open("http://\(served.host)/proof")
        try browser.wait("document.querySelector('#checked.bad')")
        try browser.open("http://\(served.host)/entries")
        try browser.wait("document.querySelectorAll('.entries li').length > 10")
        if !removesSnapshots {
          try browser.wait("document.querySelector('main button').innerText == 'Older entries'")
          try browser.click("main button")
          try browser.wait("document.querySelectorAll('.entries li').length >= 100")
          #expect(
            try browser.run("return document.querySelectorAll('.entries .bad').length") as? Int ?? 0 > 0)
          try browser.run("document.querySelector('.entries .bad').scrollIntoView({ block: 'center' })")
          try browser.photograph("damaged-entries")
        }
        served.server.stop()
        try journal.close()
      }
    }
  }
}
