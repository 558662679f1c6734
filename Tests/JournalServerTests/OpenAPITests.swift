import CatalogModel
import Foundation
import JSON
import JournalServer
import TestSupport
import Testing

/// The description of the API, compared with the API. Each path exists, each parameter is known, and answers have the
/// members of their examples.
@Suite struct OpenAPITests {
  @Test func theOpenAPIDescriptionMatchesTheAnswers() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      let document = try served.get("/api/openapi.json").json()
      let paths = try #require(document["paths"]?.dictionary)
      #expect(paths.count == 20)
      for (path, methods) in paths.sorted(by: { $0.key < $1.key }) {
        for (method, operation) in methods.dictionary ?? [:] {
          try check(operation, method, path, served)
        }
      }
      served.server.stop()
      try journal.close()
    }
  }

  /// What clients rely on: `!` marks a parameter that is required, the others are optional.
  @Test func thePathsAndParametersStay() throws {
    try withBooks { served in
      let document = try served.get("/api/openapi.json").json()
      var found: [String] = []
      for (path, methods) in document["paths"]?.dictionary ?? [:] {
        for (method, operation) in methods.dictionary ?? [:] {
          let parameters = try operation["parameters"]?.array?.map { parameter in
            let schema = try #require(parameter["schema"])
            let bounds = [schema["minimum"], schema["maximum"]].map { $0?.integer.map { "\($0)" } ?? "" }
            return (parameter["name"]?.string ?? "") + (parameter["required"] == true ? "!" : "")
              + (schema["type"] == "string" ? "" : ": \(schema["type"]?.string ?? "")")
              + (bounds[0].isEmpty ? "" : " \(bounds[0])...\(bounds[1])")
          }
          found.append("\(method) \(path)(\(parameters?.joined(separator: ", ") ?? ""))")
        }
      }
      #expect(
        found.sorted() == [
          "get /api/diff(from!, to, entity, offset: integer 0..., limit: integer 1...1000)",
          "get /api/entities/{entity}(entity!, at)",
          "get /api/entities/{entity}/blame(entity!, at, origin)",
          "get /api/entities/{entity}/history(entity!, at, limit: integer 1...1000, digests)",
          "get /api/entries(since, until, order, author, note, events: integer 0...1000, limit: integer 1...500)",
          "get /api/entries/{revision}(revision!, offset: integer 0..., limit: integer 1...1000)",
          "get /api/events(after: integer, Last-Event-ID: integer)",
          "get /api/find(at, text, words, kind, deleted, ever, limit: integer 1...500)",
          "get /api/images/{number}/content(number!: integer, at)",
          "get /api/items(at, text, words, kind, category, where: array, sort, offset: integer 0..., limit: integer 1...500)",
          "get /api/journal()",
          "get /api/state(at)",
          "get /api/timeline(from, to, buckets: integer 1...2000)",
          "post /api/blobs()",
          "post /api/commits(If-Match)",
          "post /api/redo(If-Match)",
          "post /api/restore(If-Match)",
          "post /api/revert(If-Match)",
          "post /api/session()",
          "post /api/undo(If-Match)",
        ])
    }
  }

  private func check(_ operation: FieldValue, _ method: String, _ path: String, _ served: ServedJournal)
    throws
  {
    let concrete = path.replacing("{entity}", with: "item:1").replacing("{number}", with: "1")
      .replacing("{revision}", with: "2")
    if path == "/api/events" || path == "/api/session" { return }
    if method == "get" {
      let values = [
        "from": "1", "to": "2", "at": "2", "order": "oldest", "where": "stars%3E1", "sort": "title",
        "entity": "item:1",
      ]
      var query: [String] = []
      for parameter in operation["parameters"]?.array ?? [] where parameter["in"] == "query" {
        let name = try #require(parameter["name"]?.string)
        let isNumber = parameter["schema"]?["type"] == "integer"
        let isMoment = path == "/api/timeline" && !isNumber
        let value =
          isMoment ? "2026-08-0\(name == "from" ? 1 : 3)T00:00:00Z" : values[name] ?? (isNumber ? "1" : nil)
        if let value { query.append("\(name)=\(value)") }
      }
      let answer = try served.get(concrete + "?" + query.joined(separator: "&"))
      #expect(answer.status == 200, "\(path): \(answer.text)")
      let plain = try served.get(concrete + (path == "/api/diff" ? "?from=1" : ""))
      guard let example = operation["responses"]?["200"]?["content"]?["application/json"]?["example"] else {
        return
      }
      try expect(try plain.json(), hasMembersOf: example, at: path)
    } else {
      let content = operation["requestBody"]?["content"]
      guard let example = content?["application/json"]?["example"] else {
        let answer = try served.ask("POST", path, body: Array("12345678".utf8))
        #expect(answer.status == 201)
        return try expect(
          try answer.json(),
          hasMembersOf: try #require(
            operation["responses"]?["201"]?["content"]?["application/json"]?["example"]), at: path)
      }
      // Each request gets its own new journal.
      try withTemporaryFolder { folder in
        let journal = try makeBooks(folder)
        let other = try ServedJournal(journal)
        if path == "/api/redo" { #expect(try other.post("/api/undo", example.json).status == 201) }
        let answer = try other.post(path, example.json)
        #expect(answer.status == 201, "\(path): \(answer.text)")
        try expect(
          try answer.json(),
          hasMembersOf: try #require(
            operation["responses"]?["201"]?["content"]?["application/json"]?["example"]), at: path)
        other.server.stop()
        try journal.close()
      }
    }
  }

  /// Compares the names of members, and in arrays those of the first element.
  private func expect(_ value: FieldValue, hasMembersOf example: FieldValue, at place: String) throws {
    switch (value, example) {
    case (.dictionary(let members), .dictionary(let expected)):
      // The members of user data differ.
      if place.hasSuffix("labels") || place.hasSuffix("attributes") || place.hasSuffix("changes")
        || place.hasSuffix("metadata")
      {
        return
      }
      let optional: Set<String> = ["category", "base", "digests", "clockDate"]
      #expect(Set(members.keys).subtracting(optional) == Set(expected.keys).subtracting(optional), "\(place)")
      for (name, member) in expected {
        if let found = members[name] { try expect(found, hasMembersOf: member, at: "\(place) \(name)") }
      }
    case (.array(let elements), .array(let expected)):
      if let first = elements.first, let example = expected.first {
        try expect(first, hasMembersOf: example, at: place)
      }
    case (.null, _), (_, .null): break
    case (.dictionary, _), (_, .dictionary), (.array, _), (_, .array):
      Issue.record("\(place): \(value) does not have the form of \(example)")
    default: break
    }
  }
}
