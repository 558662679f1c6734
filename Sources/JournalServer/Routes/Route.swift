import CatalogModel
import HTTPServer

/// A method and a path of the API, with a description and the function that handles requests.
///
/// Routes also check parameters, and `GET /api/openapi.json` is generated from the routes.
struct Route: Sendable {
  enum Work: Sendable {
    case read(@Sendable (JournalAPI, Parameters) throws -> HTTPResponse)
    /// Handles a JSON body. With `always`, a read-only server refuses the request before it reads the body.
    case change(
      always: Bool, @Sendable (JournalAPI, FieldValue, HTTPRequest) throws -> HTTPResponse)
    case upload
    /// Handled before a route is looked up.
    case session
  }

  /// A body of a request or a response, with an example in JSON.
  struct Content: Sendable {
    var mediaType = "application/json"
    /// The JSON type of the schema.
    var type: String? = "object"
    var example: String?

    static func json(_ example: String) -> Content { Content(example: example) }
  }

  struct Answer: Sendable {
    let status: Int
    let description: String
    var content: Content?
  }

  let path: String
  let summary: String
  let details: String?
  let parameters: [Parameter]
  let body: Content?
  let answers: [Answer]
  let work: Work
  private let steps: [Substring]

  var method: String { if case .read = work { "GET" } else { "POST" } }

  static func get(
    _ path: String, _ summary: String, details: String? = nil, _ parameters: [Parameter] = [],
    answers: [Answer], _ handle: @escaping @Sendable (JournalAPI, Parameters) throws -> HTTPResponse
  ) -> Route {
    Route(path, summary, details, parameters, body: nil, answers, .read(handle))
  }

  static func get(
    _ path: String, _ summary: String, details: String? = nil, _ parameters: [Parameter] = [],
    returns description: String, _ example: String,
    _ handle: @escaping @Sendable (JournalAPI, Parameters) throws -> HTTPResponse
  ) -> Route {
    let answer = Answer(status: 200, description: description, content: .json(example))
    return get(path, summary, details: details, parameters, answers: [answer], handle)
  }

  static func post(
    _ path: String, _ summary: String, details: String, _ parameters: [Parameter] = [],
    body: Content? = nil, returns description: String = "The change was made.", _ example: String,
    _ work: Work
  ) -> Route {
    let answer = Answer(status: 201, description: description, content: .json(example))
    return Route(path, summary, details, parameters, body: body, [answer], work)
  }

  private init(
    _ path: String, _ summary: String, _ details: String?, _ parameters: [Parameter], body: Content?,
    _ answers: [Answer], _ work: Work
  ) {
    (self.path, self.summary, self.details, self.parameters) = (path, summary, details, parameters)
    (self.body, self.answers, self.work) = (body, answers, work)
    steps = path.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The values in the path of this route's steps in braces; nil if the path does not match this route.
  func match(_ path: String) -> [String: String]? {
    let given = path.split(separator: "/", omittingEmptySubsequences: false)
    guard given.count == steps.count else { return nil }
    var values: [String: String] = [:]
    for (step, value) in zip(steps, given) {
      if step.hasPrefix("{") {
        values[String(step.dropFirst().dropLast())] = String(value)
      } else if step != value {
        return nil
      }
    }
    return values
  }

  /// The route of a request, and the values of the steps in braces.
  /// - Throws: ``APIError`` if no route matches.
  static func of(_ request: HTTPRequest) throws(APIError) -> (route: Route, path: [String: String]) {
    let method = request.method == "HEAD" ? "GET" : request.method
    for route in all where route.method == method {
      if let path = route.match(request.path) { return (route, path) }
    }
    throw APIError(404, "notFound", "there is no such resource; /api/openapi.json lists all of them")
  }
}

struct Parameter: Sendable {
  enum Form: Sendable {
    case text
    /// A text in a parameter that may be repeated.
    case texts
    case integer
    /// A whole number in a range; without the parameter, a default.
    case count(ClosedRange<Int>, else: Int)
  }

  enum Place: String, Sendable {
    case path
    case query
    case header
  }

  let name: String
  let description: String
  var place = Place.query
  var form = Form.text
  var isRequired = false

  static func text(_ name: String, _ description: String) -> Parameter {
    Parameter(name: name, description: description)
  }

  static func path(_ name: String, _ description: String, _ form: Form = .text) -> Parameter {
    Parameter(name: name, description: description, place: .path, form: form, isRequired: true)
  }

  static func header(_ name: String, _ description: String, _ form: Form = .text) -> Parameter {
    Parameter(name: name, description: description, place: .header, form: form)
  }

  static func flag(_ name: String, _ description: String) -> Parameter {
    Parameter(name: name, description: "1: \(description)")
  }

  static func count(
    _ name: String, _ what: String, _ standard: Int, in range: ClosedRange<Int>
  ) -> Parameter {
    Parameter(
      name: name, description: "\(what): \(standard) by default, at most \(range.upperBound).",
      form: .count(range, else: standard))
  }

  static func limit(_ standard: Int, atMost most: Int) -> Parameter {
    count("limit", "How many results to return", standard, in: 1...most)
  }

  static let at = text(
    "at",
    "The point in time: a revision (120 or r120), HEAD~3, a date, yesterday or a tag. By default now.")
  static let entity = path("entity", "Its name, such as item:42, category:3, image:7 or tag:1.")
  static let offset = Parameter(
    name: "offset", description: "How many results to skip.", form: .count(0...Int(Int32.max), else: 0))
}

/// The parameters of a request, read as its route describes.
struct Parameters {
  let request: HTTPRequest
  private let route: Route
  private let path: [String: String]

  /// - Throws: ``APIError`` if a parameter is unknown, is required but missing, or is repeated but not of form `texts`.
  init(_ request: HTTPRequest, of route: Route, path: [String: String]) throws(APIError) {
    (self.request, self.route, self.path) = (request, route, path)
    let known = route.parameters.filter { $0.place == .query }
    var seen: Set<String> = []
    for (name, _) in request.query {
      guard let parameter = known.first(where: { $0.name == name }) else {
        let names = known.map(\.name).sorted().joined(separator: ", ")
        throw .wrongUse(
          "there is no parameter \"\(name)\" here; "
            + (names.isEmpty ? "there are none" : "there are \(names)"))
      }
      if seen.insert(name).inserted { continue }
      guard case .texts = parameter.form else { throw .wrongUse("the parameter \"\(name)\" is given twice") }
    }
    for parameter in known where parameter.isRequired && text(parameter.name) == nil {
      throw .wrongUse("\(parameter.name) is missing: \(parameter.description)")
    }
  }

  func step(_ name: String) -> String { path[name] ?? "" }

  /// The text of a query parameter; nil if it is missing or empty.
  func text(_ name: String) -> String? { request.value(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// Whether the query parameter is present with the value `1`, `true` or an empty one.
  func flag(_ name: String) throws(APIError) -> Bool {
    switch request.value(name) {
    case nil, "0"?, "false"?: return false
    case "1"?, "true"?, ""?: return true
    default: throw .wrongUse("\(name) is 1 or 0")
    }
  }

  func count(_ name: String) throws(APIError) -> Int {
    guard case .count(let range, let standard)? = route.parameters.first(where: { $0.name == name })?.form
    else {
      preconditionFailure("the route has no number \(name)")
    }
    guard let text = text(name) else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw .wrongUse("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func selector(_ name: String, else standard: RevisionSelector = .head()) throws(JournalError)
    -> RevisionSelector
  {
    try text(name).map { text throws(JournalError) in try RevisionSelector(text) } ?? standard
  }
}
