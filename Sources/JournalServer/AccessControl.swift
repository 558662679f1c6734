import CatalogModel
import Foundation
import HTTPServer
import Locks
import SHA256

/// Decides who may send requests, by hosts, origins, tokens and sessions.
///
/// 1. The `Host` must be a name of this server, which prevents DNS rebinding.
/// 2. An `Origin` header, and the site that a browser names as the source of a request, must be this server.
/// 3. A one-time token becomes a session. A session is a bearer token, or a cookie that scripts can't read
///    and other sites can't send. Secrets are stored and looked up as digests, so that timing reveals nothing
///    about the secrets.
/// 4. A request that changes the journal and has a cookie instead of a token must name its origin.
///
/// Safe to use from any thread.
final class AccessControl: Sendable {
  private struct Secrets: Sendable {
    var invitations: Set<ContentDigest> = []
    /// The newest session is last.
    var sessions: [ContentDigest] = []
    var port: UInt16 = 0
  }

  /// The maximum number of sessions, and of unused one-time tokens.
  private static let mostKept = 1000

  /// The minimum bytes of a permanent token, because a shorter one could be guessed.
  private static let leastTokenBytes = 16

  private let tokens: Set<ContentDigest>
  private let hostNames: Set<String>
  private let secrets = Lock(Secrets())

  /// - Throws: `JournalError` with code `wrongUse` if a token or a host name is not valid.
  init(_ options: JournalServer.Options) throws(JournalError) {
    let isToken = { (token: String) in
      token.utf8.count >= Self.leastTokenBytes
        && !token.unicodeScalars.contains {
          $0.properties.isWhitespace || $0.value < 0x20 || $0.value == 0x7F
        }
    }
    guard options.tokens.allSatisfy(isToken) else {
      throw JournalError(
        .wrongUse,
        "a token needs at least \(Self.leastTokenBytes) characters, without blanks and control characters, which "
          + "clients can't send; openssl rand -hex 32 makes one")
    }
    // An empty name would admit requests with an empty `Host`.
    let isName = { (name: String) in !name.isEmpty && !name.contains { $0 == "/" || $0.isWhitespace } }
    if let name = options.hostNames.first(where: { !isName($0) }) {
      throw JournalError(
        .wrongUse,
        "\"\(name)\" is not a host name; write the one that clients use, such as books.example.org")
    }
    tokens = Set(options.tokens.map { SHA256Hash.digest(Array($0.utf8)) })
    hostNames = Set(options.hostNames.map { $0.lowercased() })
  }

  func begin(port: UInt16) { secrets.withLock { $0.port = port } }

  private var port: UInt16 { secrets.withLock { $0.port } }

  // MARK: Hosts and origins

  /// The error for a request with a wrong host or origin, whether or not it has a session; nil if both are right.
  func refusal(of request: HTTPRequest) -> APIError? {
    guard let host = request.headers["host"]?.lowercased(), isOwn(host: host) else {
      return APIError(421, "wrongHost", "this server does not have that name")
    }
    if let origin = request.headers["origin"]?.lowercased(), origin != "http://\(host)",
      !(origin == "https://\(host)" && hostNames.contains(host))
    {
      return APIError(403, "wrongOrigin", "requests from another origin are refused")
    }
    let isNavigation = request.headers["sec-fetch-mode"] == "navigate" && request.method == "GET"
    if let site = request.headers["sec-fetch-site"], !["same-origin", "none"].contains(site),
      !(isNavigation && !request.path.hasPrefix("/api/"))
    {
      return APIError(403, "wrongOrigin", "requests from another site are refused")
    }
    return nil
  }

  private func isOwn(host: String) -> Bool {
    let port = port
    return ["127.0.0.1", "localhost"].contains { name in
      // Clients omit the default port.
      host == "\(name):\(port)" || (port == 80 && host == name)
    } || hostNames.contains(host)
  }

  // MARK: Tokens and sessions

  /// Makes a token that can be exchanged for a session once.
  func invite() -> String {
    let token = Self.secret()
    secrets.withLock { secrets in
      if secrets.invitations.count >= Self.mostKept { secrets.invitations.removeAll() }
      secrets.invitations.insert(Self.digest(token))
    }
    return token
  }

  /// Exchanges a one-time token for a new session; nil if the token is not valid.
  func session(for token: String) -> String? {
    let session = Self.secret()
    return secrets.withLock { secrets in
      guard secrets.invitations.remove(Self.digest(token)) != nil else { return nil }
      if secrets.sessions.count >= Self.mostKept { secrets.sessions.removeFirst() }
      secrets.sessions.append(Self.digest(session))
      return session
    }
  }

  func cookie(_ session: String) -> (name: String, value: String) {
    ("Set-Cookie", "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict")
  }

  // The name has the port, because browsers send a cookie to all ports of a host.
  private var cookieName: String { "journal-\(port)" }

  /// The error for a request without a valid token or session; nil if the request is allowed.
  func refusalWithoutSession(_ request: HTTPRequest) -> APIError? {
    if let header = request.headers["authorization"] {
      let parts = header.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "bearer", isKnown(String(parts[1])) else {
        return APIError(401, "unauthorized", "the token is not valid for this server")
      }
      return nil
    }
    guard hasCookie(request) else {
      return APIError(
        401, "unauthorized",
        "a token is missing: send Authorization: Bearer …, or open the address that was printed")
    }
    // A browser sends the cookie automatically, so a change needs proof that this page requested the change.
    if request.method != "GET", request.method != "HEAD", request.headers["origin"] == nil,
      request.headers["sec-fetch-site"] != "same-origin"
    {
      return APIError(403, "wrongOrigin", "a change with a cookie needs an Origin header")
    }
    return nil
  }

  /// Whether the request has the cookie of a session.
  func hasCookie(_ request: HTTPRequest) -> Bool {
    let cookies = request.headers["cookie"]?.split(separator: ";") ?? []
    return cookies.contains { cookie in
      let parts = cookie.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
      return parts.count == 2 && parts[0] == cookieName && isKnown(String(parts[1]))
    }
  }

  private func isKnown(_ secret: String) -> Bool {
    let digest = Self.digest(secret)
    return tokens.contains(digest) || secrets.withLock { $0.sessions.contains(digest) }
  }

  private static func digest(_ text: String) -> ContentDigest { SHA256Hash.digest(Array(text.utf8)) }

  /// 256 random bits in hexadecimal.
  private static func secret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let word = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - word.count) + word
    }.joined()
  }
}
