import CatalogModel
import Foundation
import HTTPServer
import JSON

/// The failure of a request: a status, a code for programs and a sentence for people.
struct APIError: Error {
  var status: Int
  let code: String
  let message: String
  var revision: Revision?
  var advice: String?
  var headers: [(name: String, value: String)] = []
  /// Writes further members of the response; nil if there are none.
  var details: (@Sendable (inout JSONWriter) -> Void)?

  init(_ status: Int, _ code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  static func wrongUse(_ message: String) -> APIError { APIError(400, "wrongUse", message) }

  /// Converts any error. Paths on the disk are removed from its message.
  init(_ error: any Error, hiding path: String) {
    switch error {
    case let error as APIError: self = error
    case let error as Absence:
      self.init(404, error.revision == nil ? "notFound" : "deleted", error.description)
      revision = error.revision
    case let error as JournalError:
      self.init(
        Self.status(of: error.code), error.code.rawValue,
        // Only the messages of causes contain the path.
        error.messageForClients.replacing(path, with: "the journal"))
      revision = error.revision
      if error.code == .damaged {
        advice =
          "If there is no backup to restore, journal salvage makes another journal of everything that can be proven. "
          + "journal doctor lists every problem."
      }
    default: self.init(500, "internal", "the request failed unexpectedly")
    }
  }

  static var busy: APIError {
    var error = APIError(503, "busy", "the server is busy; try again")
    error.headers.append(("Retry-After", "2"))
    return error
  }

  private static func status(of code: JournalError.Code) -> Int {
    switch code {
    case .invalidSelector, .wrongUse: 400
    case .readOnly: 403
    case .notFound: 404
    case .conflict: 409
    case .pruned: 410
    case .tooLarge: 413
    case .rejected: 422
    case .outOfResources, .closed, .unreachable: 503
    default: 500
    }
  }

  var json: JSONObject {
    ["code": code, "message": message, "revision": ifAny(revision), "advice": ifAny(advice)]
  }

  /// `{"error":{"code":"notFound","message":"…","revision":120}}`
  var response: HTTPResponse {
    var response = HTTPResponse.json(status) { writer in
      writer.member("error", json)
      details?(&writer)
    }
    response.headers += headers
    if status == 401 { response.headers.append(("WWW-Authenticate", "Bearer")) }
    return response
  }
}

extension JournalError {
  /// Whether a commit that failed with this error leaves the journal unable to commit until it is opened again. A
  /// shared journal whose server was unreachable commits again when it can be reached.
  var endsCommits: Bool {
    switch code {
    case .poisoned: return true
    case .outcomeUnknown:
      let reason = (cause as? JournalError)?.code
      return reason != .unreachable && reason != .diverged
    default: return false
    }
  }

  /// The message with advice for clients, which can't open the journal again.
  fileprivate var messageForClients: String {
    guard endsCommits else { return message }
    let advice = "the journal takes no more commits: its server must be started again"
    let start = code == .poisoned ? "" : "writing failed: the commit is wholly there or wholly absent, and "
    let end = code == .poisoned ? "" : ", and then shows which"
    let reasons = causes.isEmpty ? "" : "; the cause: \(causes.joined(separator: ": "))"
    return start + advice + end + reasons
  }

  /// The messages of the error's causes, with the names of files instead of their paths.
  private var causes: [String] {
    guard let cause = cause as? JournalError else { return [] }
    var message = cause.message
    if let path = cause.path, let name = path.split(separator: "/").last {
      message = message.replacing(path, with: name)
    }
    return [message] + cause.causes
  }
}

extension HTTPResponse {
  static func json(_ object: JSONObject, status: Int = 200) -> HTTPResponse {
    json(status) { $0.members(object) }
  }

  /// A response with a JSON object whose members `write` writes. Clients must not cache it.
  static func json<Failure: Error>(
    _ status: Int = 200, _ write: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) -> HTTPResponse {
    var writer = JSONWriter()
    try writer.object(nil, write)
    writer.newline()
    return HTTPResponse(
      status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .bytes(writer.bytes))
  }
}

extension JSONWriter {
  /// The maximum bytes of JSON in a list. Further elements are in the next page.
  static var listByteLimit: Int { 4 << 20 }

  var hasRoom: Bool { bytes.count < Self.listByteLimit }

  /// Writes a key and an array with as many of the elements as fit ``listByteLimit``.
  /// - Returns: the number of elements written.
  @discardableResult
  mutating func list<Elements: Sequence, Failure: Error>(
    _ key: String, of elements: Elements, _ json: (Elements.Element) throws(Failure) -> JSONObject
  ) throws(Failure) -> Int {
    var count = 0
    try array(key) { writer throws(Failure) in
      for element in elements where writer.hasRoom {
        writer.value(try json(element))
        count += 1
      }
    }
    return count
  }
}
