import CatalogModel
import Foundation
import TestSupport
import Testing

private struct Firm: CatalogItem {
  static let kind = "firm"
  var name: String
}

private struct Person: CatalogItem {
  static let kind = "person"
  static let rules: [Rule] = [.reference(\.firm, onDelete: .deny), .unique(\.mail)]
  var name: String
  var mail: String?
  var firm: ItemID<Firm>?
}

/// Rules that an app has declared, for a program that does not know its types.
@Suite struct RuleVerbTests {
  private func withJournal(_ body: (String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "People.journal")
      let journal = try CatalogJournal.create(at: url)
      try journal.declare(Firm.self, Person.self)
      try journal.commit(by: "ana", note: "first") { draft in
        let acme = try draft.insert(Firm(name: "Acme"))
        try draft.insert(Person(name: "Bob", mail: "b@c", firm: acme))
      }
      try journal.close()
      try body(url.path)
    }
  }

  private func commit(_ path: String, by author: String = "eve", _ events: String) throws -> Outcome {
    let result = try run(
      journalPath, ["commit", path, "--by", author], input: Data(#"{"events":[\#(events)]}"#.utf8))
    return Outcome(
      code: result.code, output: String(decoding: result.output, as: UTF8.self),
      error: String(decoding: result.error, as: UTF8.self))
  }

  @Test func aCommitOfTheCommandLineKeepsTheRules() throws {
    try withJournal { path in
      let refused = [
        #"{"operation":"delete","entity":"item:1"}"#:
          "item:1 can't be deleted: item:2 refers to it (rule:1: firm of person refers to firm, on delete deny)",
        #"{"operation":"update","entity":"item:2","changes":{"attributes":{"firm":7}}}"#:
          "item:2 refers to item:7, which does not exist (rule:1: firm of person refers to firm, on delete deny)",
        #"{"operation":"add","changes":{"kind":"person","attributes":{"mail":"b@c"}}}"#:
          "item:3 has the same mail as item:2 (rule:2: mail of person is unique)",
        #"{"operation":"add","entity":"rule","changes":{"form":"reference","kind":"person","attributes":{"paths":[["b"]]}}}"#:
          #"rule:3 has the form "reference", but lacks an attribute of it or has others"#,
        #"{"operation":"add","entity":"rule","changes":{"form":"migration","kind":"person"}}"#:
          "a migration is recorded by journal.migrate",
        #"{"operation":"add","entity":"rule","changes":{"form":"check","kind":"person"}}"#:
          #"rule:3 has the form "check", which this version does not know"#,
        #"{"operation":"add","entity":"rule","changes":{"form":"required","kind":"person","attributes":{"paths":[["phone"]]}}}"#:
          "rule:3 does not hold yet (phone of person is required): item:2 has no phone. Change or delete these items",
      ]
      for (event, message) in refused {
        let outcome = try commit(path, event)
        #expect(outcome.code != 0 && outcome.error.contains(message), "\(outcome)")
      }
      #expect(try journal("log", path, "-n", "1").output.contains("first"))
      // A rule and what it demands in one entry, without a Swift type.
      let made = try commit(
        path,
        #"""
        {"operation":"add","entity":"rule","changes":{"form":"unique","kind":"firm","attributes":{"paths":[["name"]],
        "ignoresCase":true}}},{"operation":"add","changes":{"kind":"firm","attributes":{"name":"Bolt"}}}
        """#)
      #expect(made.code == 0, "\(made.error)")
      #expect(
        try commit(path, #"{"operation":"add","changes":{"kind":"firm","attributes":{"name":"BOLT"}}}"#).code
          != 0)
      #expect(
        try commit(path, #"{"operation":"update","entity":"rule:3","changes":{}}"#).error.contains(
          "a rule can't be changed"))
      #expect(try commit(path, #"{"operation":"delete","entity":"rule:3"}"#).code == 0)
      #expect(
        try commit(path, #"{"operation":"add","changes":{"kind":"firm","attributes":{"name":"BOLT"}}}"#).code
          == 0)
      #expect(try journal("verify", path, "--deep").code == 0)
    }
  }

  @Test func whatIsReferredToIsNamed() throws {
    try withJournal { path in
      let shown = try journal("show", path, "item:2").output
      #expect(shown.contains("item:1 (Acme)"), "\(shown)")
      #expect(try journal("show", path, "item:1").output.contains("item:2 (Bob)"))
      #expect(try journal("history", path, "item:2").output.contains("firm: item:1 (Acme)"))
      #expect(try journal("blame", path, "item:2").output.contains("item:1 (Acme)"))
      #expect(try journal("diff", path, "1", "2").output.contains("firm: item:1 (Acme)"))
      #expect(try journal("show", path, "rule:1").output.contains("reference"))
      #expect(
        try journal("show", path, "rule:2", "--json").output.contains(#""text":"mail of person is unique""#))
      #expect(try journal("log", path).output.contains("declared rules"))
    }
  }

  @Test func anUndoThatWouldBreakARuleIsRefusedAndNamesTheItem() throws {
    try withJournal { path in
      #expect(try commit(path, by: "ana", #"{"operation":"delete","entity":"item:2"}"#).code == 0)
      #expect(
        try commit(path, #"{"operation":"add","changes":{"kind":"person","attributes":{"mail":"b@c"}}}"#).code
          == 0)
      for arguments in [
        ["undo", path, "--by", "ana"], ["undo", path, "--by", "ana", "--dry-run"], ["revert", path, "3"],
        ["restore", path, "item:2", "--at", "2"],
      ] {
        let outcome = try journal(arguments)
        #expect(
          outcome.code == 1
            && outcome.error.contains("item:2 has the same mail as item:3 (rule:2: mail of person is unique)"),
          "\(arguments): \(outcome)")
      }
      let json = try journal("undo", path, "--by", "ana", "--dry-run", "--json")
      #expect(json.output.contains(#""problem":"item:2 has the same mail as item:3"#))
      #expect(try journal("restore", path, "rule:1", "--at", "1").error.contains("rules hold for all states"))
      #expect(try journal("revert", path, "1").error.contains("rule:1"))
      #expect(try journal("verify", path).code == 0)
    }
  }
}
