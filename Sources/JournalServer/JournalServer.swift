public import CatalogModel
public import Foundation
import HTTPServer
import Locks

/// Serves a journal over HTTP on the loopback interface: the API in `/api/openapi.json`, and a page with the journal.
///
/// A client without a token or a session of this server learns nothing. Neither does a web page of another site,
/// because hosts and origins are checked, and no other origin is allowed.
///
/// Safe to use from any thread. The server does not close the journal, and keeps it open as long as the server exists.
public final class JournalServer: Sendable {
  /// Options of a server.
  public struct Options: Sendable {
    /// The port on the loopback interface, or 0 for any free port.
    public var port: UInt16 = 0
    /// Whether clients may commit. The journal must be open for writing.
    public var isEditable = false
    /// The author of commits that name no author.
    public var author = ""
    /// Permanent secrets, of at least 16 characters each, without blanks and control characters. A client that sends a
    /// token as `Authorization: Bearer …` has full access.
    public var tokens: [String] = []
    /// Additional host names, for a server behind a proxy. `127.0.0.1` and `localhost` are always accepted.
    public var hostNames: Set<String> = []
    /// The maximum number of connections, at least 1.
    public var connectionLimit = 256
    /// The maximum bytes of an uploaded image.
    public var imageByteLimit = 256 << 20
    /// The time limit for the head of a request, in seconds.
    package var headSeconds = 20.0

    /// The default options, which suit a person who looks at a journal.
    public init() {}
  }

  private let server: HTTPServer
  private let api: JournalAPI

  /// Starts serving a journal.
  /// - Throws: `JournalError` with code `io` if the port can't be used; `readOnly` if clients may commit but the
  ///   journal is not open for writing; `wrongUse` if a token is shorter than 16 characters or has a blank, a host
  ///   name is not valid, or the limit of connections is below 1.
  public init(_ journal: CatalogJournal, options: Options = Options()) throws {
    if options.isEditable, !journal.isOpenForWriting {
      throw JournalError(
        .readOnly, "the journal was opened for reading only, so nothing can be committed through it")
    }
    guard let connectionLimit = UInt32(exactly: options.connectionLimit), connectionLimit > 0 else {
      throw JournalError(
        .wrongUse,
        "the limit of connections is \(options.connectionLimit); it must be from 1 to \(UInt32.max)")
    }
    api = try JournalAPI(journal, options)
    do throws(HTTPServer.Failure) {
      server = try HTTPServer(
        port: options.port, connectionLimit: connectionLimit, headSeconds: options.headSeconds, handler: api)
    } catch {
      api.end()
      api.wait()
      throw JournalError(.io, error.description)
    }
    api.access.begin(port: server.port)
  }

  deinit { stop() }

  /// The port that the server listens on.
  public var port: UInt16 { server.port }

  /// The address of the page, with a token that works once. The browser that opens it has a session until the server is
  /// stopped.
  public func invitation() -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)/?token=\(api.access.invite())") else {
      preconditionFailure("a token has letters and digits only")
    }
    return url
  }

  /// Ends all connections and waits for them. Afterwards no thread of the server uses the journal. Stopping twice is
  /// allowed.
  public func stop() {
    api.end()
    server.stop()
    api.wait()
  }
}
