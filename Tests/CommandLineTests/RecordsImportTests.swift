import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import TestSupport
import Testing

@testable import journal

@Suite struct RecordsImportTests {
  private static let options = [
    "--records", "data/things.json", "--key", "id", "--category", "group", "--images",
    "images/{key.lowercased}.svg",
  ]

  private func importRecords(
    _ folder: TemporaryFolder, _ repository: String, _ options: [String] = Self.options
  ) throws -> Outcome {
    let arguments = ["import", folder.path("J.journal"), "git", repository] + options
    return try journal(arguments)
  }

  private func things(_ text: String) -> MadeRepository.Change { .file("data/things.json", Data(text)) }

  private func makeRepository(_ path: String) throws -> MadeRepository {
    var repository = try MadeRepository(path)
    repository.commit("no file yet", [.file("images/a.svg", Data("<svg>a</svg>"))])
    repository.commit("broken", [things("[{\"id\": \"A\",}]")])
    repository.commit(
      "first",
      [
        things(
          """
          [{"id":"A","group":"z"},{"id":"B","group":"y","n":1.0,"list":[1,"é",null,true,{"k":-0.5e3}]},
          {"id":7,"group":""},{"group":"keyless"},"no object",{"id":"A","group":"x","n":1},{"id":null}]
          """)
      ])
    repository.commit(
      "an image comes", [.file("images/b.svg", Data("<svg>b</svg>")), .file("other", Data("o"))])
    repository.commit(
      "whitespace only",
      [
        things(
          """
          [ {"id":"A","group":"x","n":1}, {"id":"B","group":"y","n":1.0,"list":[1,"é",null,true,{"k":-0.5e3}]},
          {"id":7,"group":""} ]
          """)
      ])
    repository.commit(
      "moved, one changed",
      [
        things(
          "[{\"id\":7,\"group\":\"x\",\"e\\u0301\":2},{\"id\":\"B\",\"group\":\"y\",\"n\":1},{\"id\":\"A\",\"group\":\"x\"}]"
        )
      ])
    repository.commit("the image changes", [.file("images/a.svg", Data([0xFF, 0]))])
    repository.commit("no array, but an image", [things("{}"), .file("images/7.svg", Data("7"))])
    repository.commit("the image goes", [.delete("images/b.svg")])
    repository.commit("one goes", [things("[{\"id\":\"B\",\"group\":\"y\"},{\"id\":\"7\"}]")])
    repository.commit("the file goes", [.delete("data/things.json")])
    repository.commit("it comes back", [things("[{\"id\":\"B\",\"big\":18446744073709551615}]")])
    try repository.write()
    return repository
  }

  /// Reads a commit in the simplest way.
  private func objects(at commit: String, _ oracle: GitOracle, _ last: [String: FieldValue]) throws
    -> [String:
    FieldValue]
  {
    guard let file = try oracle.tree(of: commit)[ExactText("data/things.json")] else { return [:] }
    guard case .array(let elements)? = try? FieldValue(json: oracle.content(file.hash)) else { return last }
    var objects: [String: FieldValue] = [:]
    for element in elements {
      guard case .dictionary(let fields) = element, let key = fields["id"]?.keyForTest else { continue }
      objects[key] = element
    }
    return objects
  }

  @Test func everyCommitEqualsTheJSONOfThatCommit() throws {
    try withTemporaryFolder { folder in
      let repository = try makeRepository(folder.path("repository"))
      let outcome = try importRecords(folder, repository.path)
      #expect(outcome.code == 0)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let oracle = GitOracle(path: repository.path)
      var expected: [String: FieldValue] = [:]
      for (commit, revision) in try revisions(of: opened, oracle) {
        expected = try objects(at: commit, oracle, expected)
        let catalog = try opened.state(asOf: .revision(revision))
        try expectRecords(catalog, opened.blobs, equal: expected, at: commit, oracle)
      }
      #expect(opened.head.revision == 9)
      #expect(try opened.verify().problems.isEmpty)
    }
  }

  @Test func aCommitThatBreaksARuleOfTheJournalIsNamedAndTheOnesBeforeItStay() throws {
    struct Thing: CatalogItem {
      static let kind = "things"
      static let rules: [Rule] = [.unique(\.name)]
      var name: String?
    }
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "J.journal")
      let ruled = try CatalogJournal.create(at: url)
      try ruled.declare(Thing.self)
      try ruled.close()
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [things(#"[{"id":"A","name":"lamp"}]"#)])
      repository.commit("two", [things(#"[{"id":"A","name":"lamp"},{"id":"B","name":"lamp"}]"#)])
      try repository.write()
      let refused = try importRecords(folder, repository.path)
      let head = String(
        decoding: try run("git", ["-C", repository.path, "rev-parse", "HEAD"]).output, as: UTF8.self)
      #expect(refused.code == 1)
      #expect(
        refused.error.hasSuffix(
          "the import stopped before commit \(head.prefix { $0 != "\n" }), which the journal refuses: "
            + "item:2 has the same name as item:1 (rule:1: name of things is unique); everything before it is "
            + "imported; run it again after changing the journal\n"), "\(refused)")
      #expect(try journal("verify", url.path).code == 0)
      let kept = try CatalogJournal.open(at: url)
      #expect(kept.state.items.map { $0["id"] } == ["A"] && kept.head.revision == 2)
      try kept.commit { try $0.updateItem(1, set: ["name": "candle"]) }
      try kept.close()
      // The change of the name in the journal stays, so both commits are in order now.
      #expect(try importRecords(folder, repository.path).code == 0)
      #expect(try journal("verify", url.path, "--deep").code == 0)
    }
  }

  private func expectRecords(
    _ catalog: Catalog, _ store: BlobStore, equal expected: [String: FieldValue], at commit: String,
    _ oracle: GitOracle
  ) throws {
    #expect(catalog.itemCount == expected.count)
    let tree = try oracle.tree(of: commit)
    var groups: Set<String> = []
    for item in catalog.items {
      let key = try #require(item["id"]?.keyForTest)
      #expect(item.kind == "things")
      #expect(FieldValue.dictionary(item.attributes).json == expected[key]?.json)
      var group: String?
      if case .string(let text)? = item["group"], !text.isEmpty { group = text }
      #expect(item.category.flatMap { catalog.category($0)?.name } == group)
      if let group { groups.insert(group) }
      let path = "images/\(key.lowercased()).svg"
      let bytes = try tree[ExactText(path)].map { try oracle.content($0.hash) }
      let images = Array(catalog.images(of: item.id))
      let stored = try images.map { try store.data(of: $0.blob) }
      #expect(stored == (bytes.map { [$0] } ?? []))
      #expect(images.allSatisfy { $0.mediaType == "image/svg+xml" && path.hasSuffix("/\($0.name)") })
    }
    #expect(catalog.categories.map(\.name).sorted() == groups.sorted())
    #expect(catalog.problems() == [])
  }

  @Test func recordsAndFilesThatAreLeftOutAreReported() throws {
    try withTemporaryFolder { folder in
      let repository = try makeRepository(folder.path("repository"))
      let outcome = try importRecords(folder, repository.path)
      let lines = outcome.error.split(separator: "\n").map { line in String(line.drop { $0 != ":" }) }
      let expected = [
        ": data/things.json is not a valid JSON array, so it changes nothing: line 1, column 13 (byte 12): "
          + "'}' where a key in quotation marks should be",
        ": data/things.json: skipped 2 objects without a usable \"id\", 1 element that is no object, "
          + "1 object whose \"id\" a later one has (A)",
        ": data/things.json is not a valid JSON array, so it changes nothing: line 1, column 1 (byte 0): "
          + "a value that is not an array where '[' should be",
      ]
      #expect(lines == expected)
      #expect(outcome.output.hasPrefix("imported 12 commits of \(repository.path): 9 entries, "))
      #expect(outcome.output.contains(" 3 reported, "))
    }
  }

  /// With a wrong key, the import looked successful.
  @Test func anImportThatFindsNoRecordExitsWithOne() throws {
    try withTemporaryFolder { folder in
      let repository = try makeRepository(folder.path("repository"))
      let options = ["--records", "data/things.json", "--key", "number"]
      let outcome = try importRecords(folder, repository.path, options)
      #expect(outcome.code == 1 && outcome.error.contains("without a usable \"number\""), "\(outcome)")
      #expect(outcome.output.contains(" 0 entries, "))
    }
  }

  /// A wrong name made an empty journal, and the import looked successful.
  @Test func aFileOfRecordsThatNoCommitHasIsRefused() throws {
    try withTemporaryFolder { folder in
      let repository = try makeRepository(folder.path("repository"))
      let path = folder.path("J.journal")
      let outcome = try journal(
        "import", path, "git", repository.path, "--records", "data/thing.json", "--key", "id")
      #expect(outcome.code == 2 && outcome.error.contains("has a file data/thing.json"), "\(outcome)")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func anUpdateHasOnlyTheFieldsThatChanged() throws {
    try withTemporaryFolder { folder in
      let repository = try makeRepository(folder.path("repository"))
      _ = try importRecords(folder, repository.path)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let entry = try opened.entry(at: 3)
      #expect(entry.note == "moved, one changed")
      let changes = Dictionary(uniqueKeysWithValues: entry.events.map { ($0.entity, $0.change) })
      #expect(changes[.item(3)] == .update(RecordChanges(remove: ["n"])))
      #expect(changes[.item(1)] == .update(RecordChanges(set: ["n": .integer(1)], remove: ["list"])))
      #expect(changes.count == 3)
    }
  }

  @Test func aFileWhoseNameDiffersOnlyInUnicodeNormalizationIsAnotherFile() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      // Git lists the decomposed name first.
      repository.commit(
        "both",
        [
          .file("e\u{301}.json", Data("[{\"id\":\"other\"}]")),
          .file("\u{e9}.json", Data("[{\"id\":\"A\"}]")),
        ])
      repository.commit("the other", [.file("e\u{301}.json", Data("[{\"id\":\"another\"}]"))])
      repository.commit("the file", [.file("\u{e9}.json", Data("[{\"id\":\"A\",\"n\":1}]"))])
      try repository.write()
      let outcome = try importRecords(
        folder, repository.path, ["--records", "\u{e9}.json", "--key", "id", "--category", "group"])
      #expect(outcome.code == 0, "\(outcome)")
      let state = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal"))).state
      #expect(state.items.map(\.attributes) == [["id": .string("A"), "n": .integer(1)]])
    }
  }

  @Test func aSecondRunContinuesAfterTheLastCommit() throws {
    try withTemporaryFolder { folder in
      var repository = try makeRepository(folder.path("repository"))
      _ = try importRecords(folder, repository.path)
      repository.commit("one more", [things("[{\"id\":\"B\"},{\"id\":\"A\"}]")])
      try repository.write()
      let outcome = try importRecords(folder, repository.path)
      #expect(outcome.output.hasPrefix("imported 1 commit of \(repository.path): 1 entry, "))
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      #expect(opened.state.itemCount == 2)
      #expect(opened.state.imageCount == 1)
    }
  }
}

extension FieldValue {
  fileprivate var keyForTest: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): "\(number)"
    default: nil
    }
  }
}
