import CatalogModel
import Foundation
import Locks
import TestSupport
import Testing

/// Verbs on a node of a shared journal that other nodes have written to, or write to meanwhile.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct NodeVerbTests {
  /// Makes two nodes of an empty journal.
  private func makeNodes(in folder: TemporaryFolder) throws -> (one: String, other: String) {
    let address = try PostgresServer.shared.get().makeDatabase()
    let (one, other) = (folder.path("One.journal"), folder.path("Other.journal"))
    try CatalogJournal.create(at: URL(filePath: one)).close()
    #expect(try journal("share", one, address).code == 0)
    #expect(try journal("join", address, other).code == 0)
    return (one, other)
  }

  /// A property list of a to-do app.
  private func makeList(_ titles: [String], _ path: String) throws {
    let list = try PropertyListSerialization.data(
      fromPropertyList: titles.map { ["titleKey": $0] }, format: .xml, options: 0)
    try list.write(to: URL(filePath: path))
  }

  /// Makes the node local, and returns its items.
  private func items(of path: String) throws -> [Catalog.Item] {
    #expect(try journal("unshare", path).code == 0)
    #expect(try journal("verify", path, "--deep").code == 0)
    let journal = try CatalogJournal.open(at: URL(filePath: path))
    defer { try? journal.close() }
    return Array(journal.state.items)
  }

  /// Each node runs a body again if another one was faster, so a key is checked against what that one has stored.
  @Test func nodesThatCompeteBreakNoRule() throws {
    @Sendable func commit(_ path: String, _ events: String) throws -> Outcome {
      let result = try run(journalPath, ["commit", path], input: Data("[\(events)]".utf8))
      return Outcome(
        code: result.code, output: String(decoding: result.output, as: UTF8.self),
        error: String(decoding: result.error, as: UTF8.self))
    }
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(in: folder)
      let rules = [
        #"{"form":"unique","kind":"member","attributes":{"paths":[["shirt"]]}}"#,
        #"{"form":"reference","kind":"member","attributes":{"paths":[["team"]],"onDelete":"deny","target":"team"}}"#,
      ].map { #"{"operation":"add","entity":"rule","changes":\#($0)}"# }
      let teams = (1...6).map { _ in #"{"operation":"add","changes":{"kind":"team"}}"# }
      #expect(try commit(one, (rules + teams).joined(separator: ",")).code == 0)
      let outcomes = Lock<[Outcome]>([])
      let group = DispatchGroup()
      for path in [one, other] {
        group.enter()
        let isStarted = Threads.start {
          for turn in 1...12 {
            let event =
              turn.isMultiple(of: 4)
              ? #"{"operation":"delete","entity":"item:\#(turn / 4 * 2)"}"#
              : #"{"operation":"add","changes":{"kind":"member","attributes":{"shirt":\#(turn % 7),"team":\#(turn % 6 + 1)}}}"#
            do {
              let outcome = try commit(path, event)
              outcomes.withLock { $0.append(outcome) }
            } catch {
              Issue.record(error)
            }
          }
          group.leave()
        }
        try #require(isStarted)
      }
      group.wait()
      let refusals = outcomes.withLock { $0 }.filter { $0.code != 0 }
      #expect(refusals.contains { $0.error.contains("has the same shirt as item:") })
      for refusal in refusals {
        #expect(refusal.error.contains("rule:") || refusal.error.contains("can't be changed"), "\(refusal)")
      }
      let members = try items(of: other).filter { $0.kind == "member" }
      #expect(members.count > 3 && Set(members.map { $0["shirt"] }).count == members.count)
    }
  }

  /// It imported everything a second time.
  @Test func aGitImportContinuesAfterWhatOtherNodesHaveImported() throws {
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(in: folder)
      var repository = try MadeRepository(folder.path("repository"))
      for number in 0..<5 { repository.commit("\(number)", [.file("\(number).txt", Data("x".utf8))]) }
      try repository.write()
      #expect(try journal("import", one, "git", repository.path).code == 0)
      try check("import", other, "git", repository.path, prints: "imported 0 commits")
      #expect(try items(of: other).count == 5)
    }
  }

  /// An importer that ran again after losing its revision changed the items of other nodes.
  @Test func aGitImportBesideCommitsOfAnotherNodeChangesOnlyItsOwnItems() throws {
    // With fewer commits during the import, the nodes have not competed.
    var count = 0
    for _ in 0..<10 where count < 2 { count = try importBesideCommits() }
    #expect(count > 1)
  }

  /// Imports a repository while another node imports lists.
  /// - Returns: how many lists there were.
  private func importBesideCommits() throws -> Int {
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(in: folder)
      var repository = try MadeRepository(folder.path("repository"))
      let paths = (0..<10).map { "\($0 % 3)/\($0).txt" }
      for number in 0..<300 {
        repository.commit("\(number)", [.file(paths[number % 10], Data("\(number)".utf8))])
      }
      try repository.write()
      let list = folder.path("toDoItems.plist")
      try makeList((0..<3).map { "task \($0)" }, list)

      let path = repository.path
      let isDone = Lock(false)
      let writing = Thread {
        let outcome = try? journal("import", one, "git", path)
        #expect(outcome?.code == 0, "\(String(describing: outcome))")
        isDone.withLock { $0 = true }
      }
      writing.start()
      var count = 0
      while !isDone.withLock({ $0 }) {
        #expect(try journal("import", other, "plist", list, "--store", "\(count)").code == 0)
        count += 1
      }
      try check("import", one, "git", repository.path, prints: "imported 0 commits")
      let items = try items(of: one)
      let files = items.filter { $0.kind == "file" }
      #expect(files.count == paths.count)
      for file in files {
        let name = try #require(paths.firstIndex { .string($0) == file["path"] })
        #expect(file["text"] == .string("\(290 + name)"))
      }
      let tasks = items.filter { $0.kind == "toDo" }
      #expect(tasks.count == 3 * count)
      #expect(tasks.allSatisfy { $0["title"] != nil && $0["path"] == nil && $0["text"] == nil })
      return count
    }
  }

  /// `undo` undid an older entry without a word, and `tag` refused a name that another node had made free.
  @Test func verbsThatCommitPlanForTheNewestState() throws {
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(in: folder)
      let list = folder.path("toDoItems.plist")
      try makeList(["first"], list)
      #expect(try journal("import", one, "plist", list, "--by", "bob").code == 0)
      #expect(try journal("tag", one, "draft").code == 0)
      #expect(try journal("join", try address(of: one), other).code == 0)

      try makeList(["first", "second"], list)
      #expect(try journal("import", one, "plist", list, "--by", "bob").code == 0)
      #expect(try journal("tag", one, "--delete", "draft").code == 0)
      try check("undo", other, "--by", "bob", prints: "entry 3")
      #expect(try journal("tag", other, "draft").code == 0)
      #expect(try journal("tag", other, "end").output.contains("tagged revision 6 as end"))
      #expect(try items(of: other).count { $0.kind == "toDo" } == 1)
    }
  }

  private func address(of path: String) throws -> String {
    let lines = try journal("stat", path).output.split(separator: "\n")
    return String(try #require(lines.first { $0.hasPrefix("shared at") }?.split(separator: " ").last))
  }
}
