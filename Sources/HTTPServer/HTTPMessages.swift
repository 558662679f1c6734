/// What a client asks for: the line and the headers of a request, all of it valid UTF-8.
package struct HTTPRequest: Sendable {
  /// `GET`, `POST` and their like, as they were sent.
  package let method: String
  /// The path without the query, percent escapes resolved. It may hold anything, `..` included.
  package let path: String
  /// What stands behind the `?`, in order, escapes resolved.
  package let query: [(name: String, value: String)]
  /// The headers by their names in lower case. Of one that was sent several times, the values are joined by ", ".
  package let headers: [String: String]

  package init(
    method: String, path: String, query: [(name: String, value: String)] = [], headers: [String: String] = [:]
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }

  /// The first value of that name in the query.
  package func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// All values of that name in the query.
  package func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

  /// How many bytes the body has; nil if it has none or does not say.
  package var contentLength: Int? { headers["content-length"].flatMap { Int($0) } }

  /// Whether a body follows.
  package var hasBody: Bool { (contentLength ?? 0) > 0 || headers["transfer-encoding"] != nil }
}

/// What a client is answered.
package struct HTTPResponse {
  /// What a response consists of.
  package enum Body {
    /// All of it.
    case bytes([UInt8])
    /// Pieces that are asked for one after the other, on the connection's own thread, so a piece may take its time.
    /// - Parameter length: how many bytes they make; nil if that is not known.
    case stream(length: Int?, any HTTPBodySource)
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

/// Gives the pieces of a body. Used by the thread of one connection.
package protocol HTTPBodySource: AnyObject {
  /// The next piece, of so many bytes at most; nil at the end. An empty one asks to be asked again.
  /// - Throws: what makes the body end too early; the connection is then cut, so that the client sees that the body is incomplete.
  func nextPiece(atMost count: Int) throws -> [UInt8]?
}

/// Takes the body of a request, on the connection's own thread.
package protocol HTTPBodyReader: AnyObject {
  /// Takes a piece.
  /// - Returns: false when it is too much; the connection is then cut.
  func take(_ piece: [UInt8]) -> Bool
  /// The answer, once all of the body has come.
  func answer() -> HTTPResponse
}

/// What becomes of a request whose head has come.
package enum HTTPReception {
  /// It is answered at once; a body is not read, and the connection is closed behind it.
  case answer(HTTPResponse)
  /// Its body is read first.
  case read(any HTTPBodyReader)
}

/// Answers requests. Called from many threads at once.
package protocol HTTPHandler: Sendable {
  /// Decides about a request when its head is there.
  func receive(_ request: HTTPRequest) -> HTTPReception
}
