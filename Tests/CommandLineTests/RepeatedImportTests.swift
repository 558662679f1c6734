import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// A repeated import applies what changed in the source since the last import, what people added in the journal stays,
/// and a conflict is reported; the history has both.
@Suite struct RepeatedImportTests {
  private static let options = [
    "--records", "things.json", "--key", "id", "--category", "group", "--images", "images/{key}.svg",
  ]

  /// A repository and the journal that it is imported to.
  private final class Pair {
    var repository: MadeRepository
    let path: String
    let options: [String]

    init(_ folder: TemporaryFolder, _ options: [String] = RepeatedImportTests.options) throws {
      repository = try MadeRepository(folder.path("repository"))
      path = folder.path("J.journal")
      self.options = options
    }

    /// Adds a commit with these files, and imports it.
    /// - Returns: the outcome, and the reports without the names of commits.
    @discardableResult
    func change(_ changes: MadeRepository.Change...) throws -> (outcome: Outcome, reports: [String]) {
      repository.commit("a change", changes)
      return try importAll()
    }

    func importAll() throws -> (outcome: Outcome, reports: [String]) {
      try repository.write()
      let result = try journal(["import", path, "git", repository.path] + options)
      let outcome = result
      #expect(outcome.code == 0, "\(outcome)")
      let reports = outcome.error.split(separator: "\n").map { String($0.drop { $0 != ":" }.dropFirst(2)) }
      return (outcome, reports)
    }

    /// What people do.
    func edit(_ body: (inout Draft<Catalog>) throws -> Void) throws {
      let journal = try CatalogJournal.open(at: URL(filePath: path))
      try journal.commit(by: "ana", body)
      try journal.close()
    }

    func state() throws -> Catalog {
      let journal = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      #expect(try journal.verify().problems.isEmpty)
      return journal.state
    }
  }

  private func things(_ text: String) -> MadeRepository.Change { .file("things.json", Data(text)) }

  /// The attribute was gone from both items, the category was deleted, and nothing was reported.
  @Test func whatPeopleAddedToRecordsStays() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(
        things(#"[{"id":1,"n":1,"group":"x"},{"id":2,"n":1,"group":"x"},{"id":3,"group":"y"}]"#),
        .file("images/1.svg", Data("one")), .file("images/2.svg", Data("two")))
      try pair.edit { draft in
        let mine = try draft.addCategory(name: "mine")
        for number in [1, 2] {
          try draft.updateItem(Catalog.Item.ID(number), set: ["reviewed": .bool(true)])
          try draft.setCategory(ofItem: Catalog.Item.ID(number), to: mine)
        }
        let blob = draft.state.images.first { _ in true }!.blob
        try draft.addImage(to: 3, name: "photo", mediaType: "image/png", blob: blob)
        // Of another kind of key, and not in the source at all.
        try draft.addItem(kind: "things", attributes: ["id": .integer(9)])
      }
      let (_, reports) = try pair.change(
        things(#"[{"id":1,"n":2,"group":"x"},{"id":2,"n":1,"group":"x"},{"id":3,"group":"z"}]"#))
      #expect(reports == [])
      let state = try pair.state()
      #expect(state.itemCount == 4)
      #expect(
        state.item(1)?.attributes
          == ["id": .integer(1), "n": .integer(2), "group": .string("x"), "reviewed": .bool(true)])
      #expect(state.item(2)?["reviewed"] == .bool(true))
      #expect(state.images.map(\.name) == ["1.svg", "2.svg", "photo"])
      let categories = state.items.map { $0.category.flatMap { state.category($0)?.name } }
      #expect(categories == ["mine", "mine", "z", nil])
      // The category was made for the import, and lost its last item to the person.
      #expect(state.categories.map(\.name) == ["x", "mine", "z"])
    }
  }

  @Test func conflictsOfRecordsAreReportedAndTheHistoryHasBoth() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(
        things(#"[{"id":"a","n":1,"group":"x"},{"id":"b","n":1,"group":"x"},{"id":"c"},{"id":"d","n":1}]"#),
        .file("images/a.svg", Data("one")), .file("images/b.svg", Data("one")))
      try pair.edit { draft in
        try draft.updateItem(1, set: ["n": .integer(7)])
        try draft.setCategory(ofItem: 1, to: draft.addCategory(name: "mine"))
        try draft.updateImage(1, blob: draft.state.image(2)!.blob)
        try draft.updateImage(1, name: "renamed")
        try draft.updateItem(2, set: ["n": .integer(8)])
        try draft.deleteItem(3)
        try draft.updateItem(4, set: ["n": .integer(2)])
      }
      let (_, reports) = try pair.change(
        things(#"[{"id":"a","n":2,"group":"y"},{"id":"c","n":3},{"id":"d","n":2}]"#),
        .file("images/a.svg", Data("two")), .delete("images/b.svg"))
      #expect(
        reports == [
          "item:2 (b) is no longer in the source, but was changed in the journal, so it stays",
          "item:1 (a): category and n were changed in the journal too; the source's values are used, and the history "
            + "has the others",
          "item:3 (c) was deleted in the journal, and is back, because the source has changed it",
        ])
      let state = try pair.state()
      #expect(
        state.items.map(\.attributes) == [
          ["id": .string("a"), "n": .integer(2), "group": .string("y")],
          ["id": .string("b"), "n": .integer(8), "group": .string("x")],
          ["id": .string("c"), "n": .integer(3)], ["id": .string("d"), "n": .integer(2)],
        ])
      #expect(state.images.map(\.name) == ["renamed", "b.svg"])
      #expect(try journal("show", pair.path, "item:1@2", "--json").output.contains("\"n\":7"))
      // What is settled is not reported again.
      let again = try pair.change(things(#"[{"id":"a","n":2,"group":"y"},{"id":"c","n":4},{"id":"d"}]"#))
      #expect(again.reports == [])
    }
  }

  @Test func imagesThatPeopleChangedAreConflictsOnlyIfTheSourceChangesThem() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      let list = #"[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]"#
      let files = ["a", "b", "c", "d"].map {
        MadeRepository.Change.file("images/\($0).svg", Data("first \($0)"))
      }
      pair.repository.commit("first", [things(list)] + files)
      _ = try pair.importAll()
      try pair.edit { draft in
        let other = draft.state.image(4)!.blob
        try draft.updateImage(1, blob: other)
        try draft.deleteImage(2)
        try draft.deleteImage(3)
      }
      #expect(try pair.change(things(#"[{"id":"a","n":1},{"id":"b"},{"id":"c"},{"id":"d"}]"#)).reports == [])
      #expect(try pair.state().images.map(\.id) == [1, 4])
      let (_, reports) = try pair.change(
        .file("images/a.svg", Data("second a")), .file("images/c.svg", Data("second c")))
      #expect(
        reports == [
          "item:1 (a): image:1 was changed in the journal too; the source's is used, and the history has the other",
          "item:3 (c): the image was deleted in the journal, and is back, because the source has changed it",
        ])
      let state = try pair.state()
      #expect(state.images.map(\.name) == ["a.svg", "d.svg", "c.svg"])
      #expect(state.images(of: 2).first { _ in true } == nil)
    }
  }

  @Test func anItemIsFoundAfterPeopleChangedItsKeyOrTheNameOfItsCategory() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(things(#"[{"id":"a","n":1,"group":"x"},{"id":"b","n":1,"group":"x"}]"#))
      try pair.edit { draft in
        try draft.updateItem(1, set: ["id": .string("b")])
        try draft.setName(ofCategory: 1, to: "ex")
      }
      let (_, reports) = try pair.change(
        things(#"[{"id":"a","n":2,"group":"x"},{"id":"b","n":3,"group":"x"},{"id":"c","group":"x"}]"#))
      #expect(reports == [])
      let state = try pair.state()
      #expect(state.items.map { $0["id"] } == [.string("b"), .string("b"), .string("c")])
      #expect(state.items.map { $0["n"] } == [.integer(2), .integer(3), nil])
      #expect(state.categories.map(\.name) == ["ex"])
      #expect(state.items.allSatisfy { $0.category == 1 })
    }
  }

  /// Such items were deleted in silence, or added twice when the source had them again.
  @Test func itemsOfWhichPeopleChangedTheKindOrTheKeyOrWhichTheyAddedStay() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(things(#"[{"id":"a","n":1},{"id":"b","n":1}]"#))
      try pair.edit { draft in
        let kind = try #require(draft.state.item(1)).kind
        try draft.setKind(ofItem: 1, to: "idea")
        try draft.updateItem(2, set: ["id": .string("z")])
        try draft.addItem(kind: kind, attributes: ["id": .string("c")])
      }
      let lost = "is no longer in the source, but was changed in the journal, so it stays"
      #expect(
        try pair.change(things("[]")).reports.sorted() == ["item:1 (a) \(lost)", "item:2 (b) \(lost)"])
      try pair.change(things(#"[{"id":"c","n":5}]"#))
      #expect(try pair.change(things("[]")).reports == ["item:3 (c) \(lost)"])
      // The same item comes back, and the source's key counts.
      let reports = try pair.change(things(#"[{"id":"b","n":7}]"#)).reports
      #expect(reports.count == 1 && reports[0].contains("changed in the journal too"), "\(reports)")
      let state = try pair.state()
      #expect(state.items.map { $0["id"] } == [.string("a"), .string("b"), .string("c")])
      #expect(state.items.map { $0["n"] } == [.integer(1), .integer(7), .integer(5)])
    }
  }

  /// `1` became another item than `1.0`, and the same as `"1"`.
  @Test func numbersAreKeysByTheirValue() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(things(#"[{"id":1,"n":1},{"id":"1","n":2},{"id":10000000000000000000}]"#))
      try pair.change(things(#"[{"id":1.0,"n":3},{"id":"1","n":2},{"id":1e19,"n":5}]"#))
      let (outcome, reports) = try pair.change(
        things(#"[{"id":10e-1,"n":3},{"id":1,"n":4},{"id":"1","n":2},{"id":1e19}]"#))
      #expect(reports == ["things.json: skipped 1 object whose \"id\" a later one has (1)"], "\(outcome)")
      let state = try pair.state()
      #expect(state.items.map { $0["n"] } == [.integer(4), .integer(2), nil])
      #expect(state.items.map { $0["id"] } == [.integer(1), .string("1"), .double(1e19)])
    }
  }

  /// It was another item each time.
  @Test(arguments: [true, false]) func aRecordThatComesBackIsTheSameItem(atOnce: Bool) throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      let versions = [
        #"[{"id":"a","n":1,"group":"x"},{"id":"b"}]"#, #"[{"id":"b"}]"#, #"[{"id":"b"},{"id":"a","n":2}]"#,
        "[]",
        #"[{"id":"a","n":2}]"#, #"[{"id":"a","n":2},{"id":"b"}]"#,
      ]
      for version in versions {
        pair.repository.commit("a change", [things(version), .file("images/a.svg", Data("a"))])
        if !atOnce { _ = try pair.importAll() }
      }
      #expect(try pair.importAll().reports == [])
      let state = try pair.state()
      #expect(state.items.map(\.id) == [1, 2])
      #expect(state.item(1)?.attributes == ["id": .string("a"), "n": .integer(2)])
      #expect(state.images(of: 1).map(\.name) == ["a.svg"])
    }
  }

  /// Its image was reported as a conflict, although people had changed only an attribute; and in another run, an
  /// attribute that the source had not changed was overwritten.
  @Test(arguments: [true, false]) func aRecordThatComesBackToAnItemThatStayedIsComparedWithItsLastVersion(
    atOnce: Bool
  ) throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(
        things(#"[{"id":"a","n":1,"m":1},{"id":"b"}]"#), .file("images/a.svg", Data("first")),
        .file("images/b.svg", Data("b")))
      try pair.change(.file("images/a.svg", Data("second")))
      try pair.edit { draft in try draft.updateItem(1, set: ["m": .integer(7)]) }
      pair.repository.commit("away", [things(#"[{"id":"b"}]"#), .delete("images/a.svg")])
      let stays = "item:1 (a) is no longer in the source, but was changed in the journal, so it stays"
      if !atOnce { #expect(try pair.importAll().reports == [stays]) }
      let (_, reports) = try pair.change(
        things(#"[{"id":"a","n":2,"m":1},{"id":"b"}]"#), .file("images/a.svg", Data("third")))
      #expect(reports == (atOnce ? [stays] : []))
      let state = try pair.state()
      #expect(state.item(1)?.attributes == ["id": .string("a"), "n": .integer(2), "m": .integer(7)])
      #expect(state.image(1)?.blob.byteCount == 5 && state.images(of: 1).map(\.id) == [1])
    }
  }

  @Test func aFileThatComesBackToAnItemThatStayedIsComparedWithItsLastVersion() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder, [])
      try pair.change(.file("a", Data("first")), .file("b", Data([0xFF, 1])), .file("c", Data("c")))
      try pair.edit { draft in
        for number in [1, 2] { try draft.updateItem(Catalog.Item.ID(number), set: ["mine": .bool(true)]) }
      }
      #expect(try pair.change(.delete("a"), .delete("b")).reports.count == 2)
      let (_, reports) = try pair.change(.file("a", Data("second")), .file("b", Data([0xFF, 2, 3])))
      #expect(reports == [])
      let state = try pair.state()
      #expect(state.items.map { $0["mine"] } == [.bool(true), .bool(true), nil])
      #expect(state.item(1)?["text"] == .string("second"))
      #expect(state.images.map(\.blob.byteCount) == [3])
    }
  }

  /// Each later run handled and reported it again, because no entry named it.
  @Test func aCommitOfWhichOnlyAConflictIsLeftIsHandledOnce() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(
        things(#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#), .file("images/b.svg", Data("b")),
        .file("images/c.svg", Data("c")))
      try pair.edit { draft in
        try draft.updateItem(1, set: ["n": .integer(1)])
        try draft.updateImage(1, blob: draft.state.image(2)!.blob)
      }
      let stays = "is no longer in the source, but was changed in the journal, so it stays"
      #expect(try pair.change(things(#"[{"id":"b"},{"id":"c"}]"#)).reports == ["item:1 (a) \(stays)"])
      #expect(try pair.change(.delete("images/b.svg")).reports == ["item:2 (b): image:1 \(stays)"])
      let again = try pair.importAll()
      #expect(again.reports == [] && again.outcome.output.hasPrefix("imported 0 commits"))
      let history = try journal("history", pair.path, "item:1", "--stat", "-n", "1").output
      #expect(history.contains(/Ana +update +a change/), "\(history)")
      #expect(try journal("verify", pair.path, "--deep").code == 0)
    }
  }

  /// One number rejected the whole version.
  @Test func anObjectThatCantBeKeptHidesNoOther() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      try pair.change(things(#"[{"id":"a","n":1,"m":1},{"id":"b","n":1},{"id":"c"}]"#))
      let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
      let (outcome, reports) = try pair.change(
        things(
          #"[{"id":"a","m":2,"n":1e400},{"id":"b","n":2},{"n":\#(deep),"id":"c"},{"id":"d","\#u{e9}":1,"e\#u{301}":2},1e999,"#
            + #"{"id":"e"}]"#))
      #expect(
        reports == [
          "things.json: skipped 1 element that is no object",
          "things.json: 3 objects can't be kept at all, and change nothing (a: a number beyond the largest Double, "
            + "about 1.8e308)",
        ], "\(outcome)")
      #expect(
        try pair.state().items.map(\.attributes) == [
          ["id": .string("a"), "n": .integer(1), "m": .integer(1)], ["id": .string("b"), "n": .integer(2)],
          ["id": .string("c")], ["id": .string("e")],
        ])
      try pair.change(things(#"[{"id":"a","m":2,"n":1e400},{"id":"b","n":3},{"id":"c","n":0},{"id":"e"}]"#))
      pair.repository.commit(
        "in one run", [things(#"[{"id":"a","m":2,"n":-1e999},{"id":"b","n":4},{"id":"c"}]"#)])
      #expect(try pair.change(things(#"[{"id":"a","m":2},{"id":"b","n":4},{"id":"c"}]"#)).reports.count == 1)
      #expect(
        try pair.state().items.map(\.attributes) == [
          ["id": .string("a"), "m": .integer(2)], ["id": .string("b"), "n": .integer(4)],
          ["id": .string("c")],
        ])
    }
  }

  /// Records beyond the catalog's limits are in the middle of a list of versions.
  @Test func aVersionOfARecordThatIsRejectedLosesNoChange() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder)
      let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
      pair.repository.commit("1", [things(#"[{"id":"a","n":1,"m":1}]"#)])
      pair.repository.commit("2", [things(#"[{"id":"a","n":2,"m":\#(deep)}]"#)])
      let (_, reports) = try pair.change(things(#"[{"id":"a","n":2,"m":3}]"#))
      #expect(reports.count == 1 && reports[0].hasPrefix("the object \"a\" is skipped"), "\(reports)")
      #expect(try pair.state().item(1)?["n"] == .integer(2))
      #expect(try pair.state().item(1)?["m"] == .integer(3))
    }
  }

  @Test func whatPeopleChangedInFilesStaysOrIsReported() throws {
    try withTemporaryFolder { folder in
      let pair = try Pair(folder, [])
      let names = ["a", "b", "c", "d", "e", "f"]
      pair.repository.commit(
        "first", names.map { .file("x/\($0)", Data("first \($0)")) } + [.file("y/i", Data([0xFF, 1]))])
      _ = try pair.importAll()
      try pair.edit { draft in
        for number in 1...7 { try draft.updateItem(Catalog.Item.ID(number), set: ["reviewed": .bool(true)]) }
        try draft.updateItem(2, set: ["text": .string("ana's")])
        try draft.setCategory(ofItem: 3, to: draft.addCategory(name: "mine"))
        try draft.updateItem(4, set: ["path": .string("x/renamed")])
        try draft.deleteItem(5)
        try draft.setColor(ofCategory: 2, to: Catalog.Color(red: 1, green: 0, blue: 0))
      }
      let (_, reports) = try pair.change(
        .file("x/a", Data("second a")), .file("x/b", Data("second b")), .file("x/c", Data("second c")),
        .file("x/d", Data("second d")), .file("x/e", Data("second e")), .delete("x/f"), .delete("y/i"))
      #expect(
        reports == [
          "item:2 (x/b): text was changed in the journal too; the source's value is used, and the history has the "
            + "other",
          "item:5 (x/e) was deleted in the journal, and is back, because the source has changed it",
          "item:6 (x/f) is no longer in the source, but was changed in the journal, so it stays",
          "item:7 (y/i) is no longer in the source, but was changed in the journal, so it stays",
        ])
      let state = try pair.state()
      #expect(
        state.items.map { $0["text"] } == [
          .string("second a"), .string("second b"), .string("second c"), .string("second d"),
          .string("second e"),
          .string("first f"), nil,
        ])
      #expect(state.item(4)?["path"] == .string("x/renamed"))
      #expect(state.items.map { $0["reviewed"] == nil } == [false, false, false, false, true, false, false])
      #expect(
        state.items.map { $0.category.flatMap { state.category($0)?.name } } == [
          "x", "x", "mine", "x", "x", "x", "y",
        ])
      #expect(state.images.map(\.name) == ["i"])
      // A change of the mode alone is none of the text.
      try pair.edit { draft in try draft.updateItem(1, set: ["text": .string("ana's")]) }
      #expect(try pair.change(.file("x/a", Data("second a"), mode: "100755")).reports == [])
      #expect(try pair.state().item(1)?["text"] == .string("ana's"))
      #expect(try pair.state().item(1)?["mode"] == .string("100755"))
    }
  }

  /// Compares the fields with a model that knows only the rule.
  @Test func manyImportsBetweenEditsEqualANaiveModel() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let pair = try Pair(folder, ["--records", "things.json", "--key", "id"])
      let keys = (0..<8).map { "k\($0)" }
      var source: [String: [String: Int]] = [:]
      var model: [String: [String: Int]] = [:]
      // Items that stayed although the source lost them.
      var kept: Set<String> = []
      for round in 0..<25 {
        // Several commits are imported in one run.
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
          let key = keys.filter { !kept.contains($0) }.randomElement(using: &generator)!
          let old = source[key]
          var new = old ?? [:]
          for name in ["a", "b", "c"] where Bool.random(using: &generator) {
            new[name] = [nil, 1, 2, 3].randomElement(using: &generator)!
          }
          if let old, Int.random(in: 0..<5, using: &generator) == 0 {
            source[key] = nil
            if model[key] == old { model[key] = nil } else if model[key] != nil { kept.insert(key) }
          } else {
            source[key] = new
            if old != new, old == nil || model[key] == nil { model[key] = new }
            for name in ["a", "b", "c"] where old != nil && old?[name] != new[name] {
              model[key]?[name] = new[name]
            }
          }
          let objects = source.sorted { $0.key < $1.key }.map { key, record in
            "{\"id\":\"\(key)\"" + record.sorted { $0.key < $1.key }.map { ",\"\($0)\":\($1)" }.joined() + "}"
          }
          pair.repository.commit("\(round)", [things("[\(objects.joined(separator: ","))]")])
        }
        _ = try pair.importAll()
        let state = try pair.state()
        var found: [String: [String: Int]] = [:]
        for item in state.items {
          guard let key = item["id"]?.string else { continue }
          found[key] = item.attributes.filter { $0.key != "id" }.mapValues { Int($0.integer ?? 0) }
        }
        #expect(found == model, "round \(round)")
        #expect(state.itemCount == model.count)
        try pair.edit { draft in
          guard let item = Array(draft.state.items).randomElement(using: &generator) else { return }
          let key = item["id"]!.string!
          switch Int.random(in: 0..<5, using: &generator) {
          case 0:
            try draft.deleteItem(item.id)
            model[key] = nil
            kept.remove(key)
          case 1:
            try draft.updateItem(item.id, set: ["mine": .integer(Int64(round))])
            model[key]?["mine"] = round
          case 2:
            try draft.updateItem(item.id, remove: ["b"])
            model[key]?["b"] = nil
          default:
            try draft.updateItem(item.id, set: ["a": .integer(Int64(100 + round))])
            model[key]?["a"] = 100 + round
          }
        }
      }
    }
  }
}
