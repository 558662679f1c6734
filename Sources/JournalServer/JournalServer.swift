public import CatalogModel
public import Foundation
import HTTPServer
import Locks

/// Serves a journal over HTTP on the loopback: the API that is described in `openapi.json`, and a page to look at it.
///
/// ```swift
/// let server = try JournalServer(journal)
/// print("open", server.invitation())
/// …
/// server.stop()
/// ```
/// Who has neither a token nor a session of this server learns nothing, and neither does a web page from elsewhere: the
/// names of hosts and origins are checked, and no other origin is ever allowed.
///
/// Safe to use from any thread. It does not close the journal.
public final class JournalServer: Sendable {
  /// How a journal is served.
  public struct Options: Sendable {
    /// The port on the loopback; 0 for one that is free.
    public var port: UInt16 = 0
    /// Whether clients may commit. The journal must be open for writing.
    public var isEditable = false
    /// The author of commits that name none.
    public var author = ""
    /// Secrets that stay valid: who sends one as `Authorization: Bearer …` may do all that the server does.
    public var tokens: [String] = []
    /// Names that the server answers to besides `127.0.0.1` and `localhost`, for one that stands behind a proxy.
    public var hostNames: Set<String> = []
    /// How many connections there are at most.
    public var connectionLimit = 256
    /// How many bytes an image may have that is sent to the server.
    public var imageByteLimit = 256 << 20
    /// How many seconds a request may take until its head has come.
    package var headSeconds = 20.0

    /// What suits a person who looks at a journal.
    public init() {}
  }

  private let server: HTTPServer
  private let api: JournalAPI

  /// Starts to serve a journal.
  /// - Throws: ``JournalError`` with code `io` if the port is taken, `readOnly` when clients may commit and the journal
  ///   can't, or `outOfResources` when the system has no more threads.
  public init(_ journal: CatalogJournal, options: Options = Options()) throws {
    if options.isEditable, !journal.isOpenForWriting {
      throw JournalError(
        .readOnly, "the journal was opened for reading only, so nothing can be committed through it")
    }
    api = try JournalAPI(journal, options)
    var limits = HTTPServer.Limits()
    limits.connections = options.connectionLimit
    limits.headSeconds = options.headSeconds
    do throws(HTTPServer.Failure) {
      server = try HTTPServer(port: options.port, limits: limits, handler: api)
    } catch {
      api.end()
      throw JournalError(.io, error.description)
    }
    api.access.begin(port: server.port)
  }

  deinit { stop() }

  /// The port that it listens on.
  public var port: UInt16 { server.port }

  /// Where the page is, with a token that opens it once. Whoever opens it has a session until the server is stopped.
  public func invitation() -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)/?token=\(api.access.invite())") else {
      preconditionFailure("a token has letters and digits only")
    }
    return url
  }

  /// Ends all connections and waits for them. Stopping twice is fine.
  public func stop() {
    api.end()
    server.stop()
  }
}
