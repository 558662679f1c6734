import CatalogModel
import ClubModel
import Foundation
import JSON
import Locks
import TestSupport
import Testing

/// The way over HTTP into a journal of a club.
struct HTTPDoor: ClubDoor {
  let served: ServedJournal

  func commit(_ changes: [ClubChange], by author: String, group: String?) throws -> ClubAnswer {
    try answer(served.post("/api/commits", ClubDocument.commit(changes, by: author, group: group)))
  }

  func carryOut(
    _ request: ClubRequest, by author: String, _ later: LaterEdits, _ plan: RestorePlan?
  ) throws -> ClubAnswer {
    let (path, body) = ClubDocument.request(request, by: author, later)
    if let plan, !plan.isEmpty {
      let preview = try served.post(path, ClubDocument.text(body.merging(["dryRun": true]) { $1 })).json()
      #expect(preview["conflicts"]?.array?.count == plan.conflicts.count)
      #expect(preview["changes"]?.array?.count == plan.changes.count)
      #expect(preview["problem"]?.string == plan.problem)
    }
    return try answer(served.post(path, ClubDocument.text(body)))
  }

  private func answer(_ answer: Answer) throws -> ClubAnswer {
    switch answer.status {
    case 201: return .done
    case 200, 404: return .nothing
    case 409: return .conflict
    case 422: return .rejected(try answer.json()["error"]?["message"]?.string ?? "")
    default: throw ClientFailure(description: answer.text)
    }
  }
}

/// The bodies of requests.
enum ClubDocument {
  static func text(_ members: [String: FieldValue]) -> String {
    var writer = JSONWriter()
    writer.value(FieldValue.dictionary(members))
    return writer.text
  }

  static func commit(_ changes: [ClubChange], by author: String, note: String = "", group: String? = nil)
    -> String
  {
    text([
      "author": .string(author), "note": .string(note), "events": .array(changes.map(event)),
      "metadata": .dictionary(group.map { ["journal.group": .string($0)] } ?? [:]),
    ])
  }

  private static func event(_ change: ClubChange) -> FieldValue {
    func event(_ operation: String, _ number: Int?, _ changes: [String: FieldValue]) -> FieldValue {
      .dictionary([
        "operation": .string(operation), "entity": .string(number.map { "item:\($0)" } ?? "item"),
        "changes": .dictionary(changes),
      ])
    }
    switch change {
    case .add(let kind, let attributes):
      return event("add", nil, ["kind": .string(kind), "attributes": .dictionary(attributes)])
    case .update(let number, let set, let remove):
      return event(
        "update", number, ["attributes": .dictionary(set), "removed": .array(remove.map { .string($0) })])
    case .setKind(let number, let kind): return event("update", number, ["kind": .string(kind)])
    case .delete(let number): return event("delete", number, [:])
    }
  }

  static func request(
    _ request: ClubRequest, by author: String, _ later: LaterEdits
  ) -> (path: String, body: [String: FieldValue]) {
    var body: [String: FieldValue] = ["author": .string(author), "later": .string("\(later)")]
    switch request {
    case .undo, .redo: break
    case .revert(let revision): body["revision"] = .integer(Int64(revision))
    case .restore(let items, let point):
      body["entities"] = .array(items.map { .string(Catalog.name(of: $0)) })
      body["at"] = .string("r\(point)")
    case .restoreAll(let point):
      body["all"] = true
      body["at"] = .string("r\(point)")
    }
    let name = if case .restoreAll = request { "restore" } else { request.name }
    return ("/api/\(name)", body)
  }
}

/// The way in by `journal import`: members in a file of a git repository.
struct ImportDoor {
  private let repository: String
  private var records: [Int: [String: FieldValue]] = [:]
  /// The records at each commit.
  private var versions: [String: [Int: [String: FieldValue]]] = [:]

  init(_ repository: String) throws {
    self.repository = repository
    try FileManager.default.createDirectory(atPath: repository, withIntermediateDirectories: false)
    try git("init", "-q", "-b", "main")
    try commit()
  }

  @discardableResult
  private func git(_ arguments: String...) throws -> String {
    let names = ["-c", "user.name=ana", "-c", "user.email=ana@example.com"]
    let result = try Programs.run("/usr/bin/git", ["-C", repository] + names + arguments, withErrors: true)
    let text = String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .newlines)
    if !result.succeeded { throw ClientFailure(description: "git \(arguments): \(text)") }
    return text
  }

  private mutating func commit() throws {
    let array = records.sorted { $0.key < $1.key }.map { key, members in
      FieldValue.dictionary(members.merging(["id": .integer(Int64(key))]) { $1 })
    }
    var writer = JSONWriter()
    writer.value(FieldValue.array(array))
    try writer.text.write(toFile: "\(repository)/member.json", atomically: false, encoding: .utf8)
    try git("add", "member.json")
    try git("commit", "-q", "--allow-empty", "-m", "\(versions.count)")
    versions[try git("rev-parse", "HEAD")] = records
  }

  /// Imports some random commits into a closed journal.
  /// - Returns: whether the journal has refused one of them.
  mutating func step(_ url: URL, _ club: Club, _ random: inout SeededGenerator) throws -> Bool {
    for _ in 0...Int.random(in: 0..<3, using: &random) {
      for _ in 0...Int.random(in: 0..<2, using: &random) {
        let key = Int.random(in: 1...6, using: &random)
        let member = club.randomMember(&random).compactMapValues { $0 }
        records[key] = random.chance(1, in: 4) ? nil : member
      }
      try commit()
    }
    let (output, succeeded) = try Programs.run(
      journalPath, ["import", url.path, "git", repository, "--records", "member.json", "--key", "id"],
      withErrors: true)
    if succeeded { return false }
    let text = String(decoding: output, as: UTF8.self)
    let refused = try #require(
      text.firstMatch(of: /stopped before commit ([0-9a-f]{40}), which the journal refuses: item:/), "\(text)"
    )
    #expect(text.contains("rule:"), "\(text)")
    try git("reset", "-q", "--hard", "\(refused.1)^")
    records = try #require(versions[try git("rev-parse", "HEAD")])
    return true
  }
}

/// Where the command line was built: next to the tests.
var journalPath: String {
  URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "journal").path
}
