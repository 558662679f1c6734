import CatalogModel
import Foundation

/// Journal's side of `Tools/benchmark-rivals`, with the same requests and replies as `rival.py`.
///
/// Each line of the input is a request, and its reply is a line of the output. When the input ends, the journal is
/// closed.
@main
struct Contestant {
  struct Plan: Decodable {
    struct Contact: Codable {
      var name: String
      var company: String
      var stage: String
      var stars: Int
      var amount: Double
    }
    struct Commit: Decodable {
      let item: Int
      let author: String
      let note: String
      var name: String?
      var company: String?
      var stage: String?
      var stars: Int?
      var amount: Double?

      var changes: [String: FieldValue] {
        let changes: [String: FieldValue?] = [
          "name": name.map { .string($0) }, "company": company.map { .string($0) },
          "stage": stage.map { .string($0) }, "stars": stars.map { .integer(Int64($0)) },
          "amount": amount.map { .double($0) },
        ]
        return changes.compactMapValues { $0 }
      }
    }
    let items: [Contact]
    let commits: [Commit]
  }
  struct Request: Decodable {
    let work: String
    let calls: [[Int]]
  }
  struct Reply: Encodable {
    let seconds: Double
    let answer: [String]
  }

  let plan: Plan
  let url: URL
  var journal: CatalogJournal?

  static func main() throws {
    let arguments = CommandLine.arguments
    let plan = try JSONDecoder().decode(Plan.self, from: Data(contentsOf: URL(filePath: arguments[1])))
    var contestant = Contestant(
      plan: plan,
      url: URL(filePath: arguments[2], directoryHint: .isDirectory).appending(path: "items.journal"))
    while let line = readLine() {
      let reply = try contestant.reply(to: JSONDecoder().decode(Request.self, from: Data(line.utf8)))
      try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(reply) + Data("\n".utf8))
    }
    try contestant.journal?.close()
  }

  private mutating func reply(to request: Request) throws -> Reply {
    let calls = request.calls
    switch request.work {
    case "create":
      journal = try create()
      return Reply(seconds: 0, answer: [])
    case "first":
      var opened: CatalogJournal?
      let reply = try measure(calls) { call in
        opened = try CatalogJournal.open(at: url)
        return opened?.state.item(EntityID(call[0]))?.attributes ?? [:]
      } lines: {
        lines($0)
      }
      journal = opened
      return reply
    default: break
    }
    let journal = try journal ?? CatalogJournal.open(at: url)
    self.journal = journal
    switch request.work {
    case "commit":
      return try measure(calls) { call in
        for commit in plan.commits[call[0]..<call[0] + call[1]] {
          try journal.commit(by: commit.author, note: commit.note) { draft in
            try draft.updateItem(EntityID(commit.item), set: commit.changes)
          }
        }
      } lines: { _ in
        []
      }
    case "history":
      return try measure(calls) { call in
        try journal.history(of: .item(call[0])).map { ($0, $0.parts) }
      } lines: { changes in
        changes.flatMap { change, parts in
          lines(parts).map { "\(change.revision) \(change.author) \($0)" }
        }
      }
    case "blame":
      return try measure(calls) { call in
        try journal.blame(.item(call[0])) ?? []
      } lines: { parts in
        parts.filter { name($0.key) != nil }.sorted { $0.revision > $1.revision }
          .map { "\($0.revision) \($0.author)" }
      }
    case "diff":
      return try measure(calls) { call in
        try journal.diff(from: .revision(call[0]), to: .revision(call[1])).map {
          ($0.entity.number, $0.parts)
        }
      } lines: { items in
        items.flatMap { item, parts in lines(parts).map { "\(item) \($0)" } }
      }
    case "item":
      return try measure(calls) { call in
        try journal.entity(.item(call[0]), asOf: .revision(call[1]))
          .map { Catalog.Item(number: call[0], row: $0).attributes } ?? [:]
      } lines: {
        lines($0)
      }
    case "page", "page-ordered":
      return try measure(calls) { call in
        try journal.state(asOf: .revision(call[0])).items.prefix(20).map { ($0.id.number, $0.attributes) }
      } lines: { items in
        items.flatMap { item, attributes in lines(attributes).map { "\(item) \($0)" } }
      }
    case "newest":
      return try measure(calls) { _ in
        let head = journal.head.revision
        let cursor = journal.entries(head - 19...head, newestFirst: true)
        var entries: [Entry] = []
        while let entry = try cursor.next() { entries.append(entry) }
        return entries
      } lines: { entries in
        entries.map { "\($0.revision) \($0.author) \($0.note)" }
      }
    default: throw CocoaError(.featureUnsupported)
    }
  }

  private func create() throws -> CatalogJournal {
    let journal = try CatalogJournal.create(at: url)
    for first in stride(from: 0, to: plan.items.count, by: 1_000) {
      try journal.commit(by: "ana", note: "import") { draft in
        for item in plan.items[first..<min(first + 1_000, plan.items.count)] {
          _ = try draft.addItem(kind: "contact", encoding: item)
        }
      }
    }
    return journal
  }

  /// Measures calls, without the making of the lines that show their results.
  private func measure<Result>(
    _ calls: [[Int]], _ work: ([Int]) throws -> Result, lines: (Result) -> [String]
  ) rethrows -> Reply {
    var results: [Result] = []
    let seconds = try ContinuousClock().measure { for call in calls { results.append(try work(call)) } }
    return Reply(seconds: seconds / .seconds(1), answer: results.flatMap(lines))
  }

  private func lines(_ attributes: [String: FieldValue]) -> [String] {
    attributes.sorted { $0.key < $1.key }.map { "\($0.key) \(text($0.value))" }
  }

  /// The changes of attributes that existed before, in the order of their names.
  private func lines(_ parts: [PartChange]) -> [String] {
    parts.compactMap { part in
      guard let name = name(part.key), let old = part.old else { return nil }
      return "\(name) \(text(old)) \(text(part.new))"
    }.sorted()
  }

  private func name(_ key: FieldKey) -> String? {
    if case .attribute(let name) = key { name } else { nil }
  }

  private func text(_ value: FieldValue?) -> String {
    switch value {
    case .string(let text): text
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    default: "?"
    }
  }
}
