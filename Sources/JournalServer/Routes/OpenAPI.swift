import CatalogModel
import HTTPServer
import JSON

extension Route {
  static let all = [
    session, journal, state, items, find, entity, history, blame, image, entries, entry, diff, timeline,
    events,
    commits, blobs, restore, revert, undo, redo, openAPI,
  ]

  static let session = post(
    "/api/session", "Exchanges the one-time token of the printed address for a session",
    details: """
      Send the one-time token as Authorization: Bearer. The response has a token that is valid until the server ends. \
      Browsers also get it as a cookie.
      """,
    returns: "The session.", #"{"token":"…"}"#, .session)

  /// The description does not list this route.
  static let openAPI = get("/api/openapi.json", "", answers: []) { _, _ in
    HTTPResponse(200, headers: [("Content-Type", "application/json")], body: .bytes(document))
  }

  /// The OpenAPI 3.1 description of the API.
  private static let document: [UInt8] = {
    var json = JSONWriter()
    json.object { json in
      json.member("openapi", "3.1.0")
      json.object("info") { json in
        json.member("title", "Journal")
        json.member("version", "0.1.0")
        json.member(
          "description",
          """
          Reads and changes a journal over HTTP, on the loopback interface. Values are plain JSON, {"$date":…} and \
          {"$data":…}, as the command line prints them. Entries, changes, blamed values and later edits have a date, by \
          which entries are ordered, an author and a note. author and note are null if they were erased. clockDate is the \
          date by the clock; it is present only if it differs from date by more than a second. Requests from other \
          origins are refused, and no response contains a path on the disk.
          """)
      }
      json.member("servers", [["url": "http://127.0.0.1:8080"]] as FieldValue)
      json.member("security", [["token": []]] as FieldValue)
      json.object("paths") { json in
        for route in all where !route.summary.isEmpty { route.write(to: &json) }
      }
      json.object("components") { json in
        json.member("securitySchemes", ["token": ["type": "http", "scheme": "bearer"]] as FieldValue)
        json.object("responses") { json in
          json.object("Error") { json in
            json.member(
              "description",
              """
              400 invalid request, 401 no valid token, 403 not allowed, 404 not found, 409 conflict with a later change, \
              410 pruned, 413 too large, 416 range outside the image, 421 unknown host name, 422 rejected by a rule, 500 \
              the journal is damaged or the disk fails, 503 busy, or the journal was closed.
              """)
            Content.json(
              #"{"error":{"code":"notFound","message":"there is no revision 99; the newest one is 3"}}"#
            ).write(to: &json)
          }
        }
      }
    }
    json.newline()
    return json.bytes
  }()

  private func write(to json: inout JSONWriter) {
    json.object(path) { json in
      json.object(method.lowercased()) { json in
        json.member("summary", summary)
        if let details { json.member("description", details) }
        json.member("parameters", parameters.map(\.json))
        if let body {
          json.object("requestBody") { json in
            json.member("required", true)
            body.write(to: &json)
          }
        }
        json.object("responses") { json in
          for answer in answers {
            json.object("\(answer.status)") { json in
              json.member("description", answer.description)
              answer.content?.write(to: &json)
            }
          }
          json.member("default", ["$ref": "#/components/responses/Error"] as FieldValue)
        }
      }
    }
  }
}

extension Route.Content {
  fileprivate func write(to json: inout JSONWriter) {
    json.object("content") { json in
      json.object(mediaType) { json in
        if let type { json.member("schema", ["type": type] as JSONObject) }
        if let example {
          json.key("example")
          json.json(example)
        }
      }
    }
  }
}

extension Parameter {
  fileprivate var json: JSONObject {
    let schema: FieldValue =
      switch form {
      case .text: ["type": "string"]
      case .texts: ["type": "array", "items": ["type": "string"]]
      case .integer: ["type": "integer"]
      case .count(let range, _) where range.upperBound == Int(Int32.max):
        ["type": "integer", "minimum": .integer(Int64(range.lowerBound))]
      case .count(let range, _):
        [
          "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
          "maximum": .integer(Int64(range.upperBound)),
        ]
      }
    return [
      "name": name, "in": place.rawValue, "description": description, "required": isRequired,
      "schema": schema,
    ]
  }
}
