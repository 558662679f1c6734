/// The request line and the headers of a request, all valid UTF-8.
package struct HTTPRequest: Sendable {
  /// The method as sent, such as `GET`.
  package let method: String
  /// The path without the query, with percent escapes resolved. Untrusted: it may contain `..`.
  package let path: String
  /// The query parameters in order, with escapes resolved.
  package let query: [(name: String, value: String)]
  /// The headers by their names in lower case. The values of a repeated header are joined by ", ".
  package let headers: [String: String]

  package init(
    method: String, path: String, query: [(name: String, value: String)] = [], headers: [String: String] = [:]
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }

  package func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  package func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

  /// The length of the body in bytes. Nil if there is no body, or its length is unknown.
  package var contentLength: Int? { headers["content-length"].flatMap { Int($0) } }

  /// Whether a body follows the headers.
  package var hasBody: Bool { (contentLength ?? 0) > 0 || headers["transfer-encoding"] != nil }

  /// Whether the headers contradict each other about the length of the body. A proxy may believe the other
  /// header, and treat a part of the body as another request.
  package var hasContradictingLengths: Bool {
    guard let length = headers["content-length"] else { return false }
    return headers["transfer-encoding"] != nil || !length.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}

package struct HTTPResponse {
  package enum Body {
    case bytes([UInt8])
    /// Pieces of any size. `next` is called for one piece after the other on the connection's own thread, so it may
    /// block.
    /// - Parameters:
    ///   - length: the number of bytes, or nil if it is unknown.
    ///   - next: returns nil at the end. An error ends the body early: the connection is then closed, so that the
    ///     client sees that the body is incomplete.
    case stream(length: Int?, next: () throws -> [UInt8]?)
  }

  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: Body

  package init(_ status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// Receives the body of a request, on the connection's own thread.
package final class HTTPBodyReader {
  private let byteLimit: Int
  private let receive: ([UInt8]) throws -> Void
  private let respond: (Result<Void, any Error>) -> HTTPResponse
  private var byteCount = 0
  private var received: Result<Void, any Error> = .success(())

  /// - Parameters:
  ///   - byteLimit: the maximum bytes of the body. If a body is larger, its connection is closed.
  ///   - receive: receives a piece. After an error, further pieces are discarded.
  ///   - respond: called after the whole body was received, with the first error of `receive`, if there was one.
  package init(
    byteLimit: Int, receive: @escaping ([UInt8]) throws -> Void,
    respond: @escaping (Result<Void, any Error>) -> HTTPResponse
  ) {
    self.byteLimit = byteLimit
    self.receive = receive
    self.respond = respond
  }

  /// - Returns: false if the body is too large.
  func take(_ piece: [UInt8]) -> Bool {
    byteCount += piece.count
    guard byteCount <= byteLimit else { return false }
    received = received.flatMap { Result { try receive(piece) } }
    return true
  }

  func answer() -> HTTPResponse { respond(received) }
}

/// How to continue with a request after its head.
package enum HTTPReception {
  /// Respond at once. If there is a body, it is not read, and the connection is closed afterwards.
  case answer(HTTPResponse)
  /// Read the body, then respond.
  case read(HTTPBodyReader)
}

/// Handles requests. Called from many threads at once.
package protocol HTTPHandler: Sendable {
  func receive(_ request: HTTPRequest) -> HTTPReception
  /// The response to a request that is not valid UTF-8, or whose headers contradict each other about the body.
  var answerToInvalidText: HTTPResponse { get }
}
