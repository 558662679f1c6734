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
