import CatalogModel
import Files
import Foundation
import JournalServer

enum Serve: Verb {
  static let text = """
    serve: serves a journal over HTTP on the loopback interface

    Serves the HTTP API of a journal, and the page of journal view, on the loopback interface until it is interrupted.
    Each line of --token-file is a token, which programs send as Authorization: Bearer …. Without that option, the
    printed address has a token for one session. With --edit clients may commit. GET /api/openapi.json describes the API.
    If an entry can't be written, the server prints why, and takes no more commits until it is started again. If the
    server of a shared journal gets out of reach, --edit says so on standard error, and when it is back.

    To serve other machines, put a TLS proxy in front. --host is the name by which clients know the proxy.

    Arguments: JOURNAL
    [--edit]: let clients commit, restore, revert and undo
    [--token-file FILE]: a file with one token a line, each of at least 16 characters
    [--port N]
    [--host NAME]…: the host name of a proxy in front; may be repeated
    [--by AUTHOR]

    $ journal serve Books.journal --port 8080  # the API, read-only
    $ journal serve Books.journal --edit --token-file tokens --port 8080  # the API, with commits
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    var options = try options(arguments)
    options.hostNames = Set(arguments.values("--host"))
    if let path = arguments.value("--token-file") { options.tokens = try tokens(of: path, terminal) }
    let journal = try openJournal(arguments, terminal)
    let server = try JournalServer(journal, options: options)
    try terminal.line(
      options.tokens.isEmpty ? server.invitation().absoluteString : "http://127.0.0.1:\(server.port)/")
    try terminal.output.flush()
    try waitForInterruption(terminal)
    server.stop()
    try journal.close()
  }

  static func openJournal(_ arguments: Arguments, _ terminal: Terminal) throws -> CatalogJournal {
    System.limitMemoryPools()
    guard arguments.has("--edit") else { return try arguments.openJournal(terminal, mode: .follow) }
    // A server runs for long, so layers are written as in an app.
    return try CatalogJournal.open(
      at: arguments.url("JOURNAL"), mode: .readWrite,
      options: arguments.journalOptions(layers: .automatic, isServing: true))
  }

  static func options(_ arguments: Arguments) throws(Failure) -> JournalServer.Options {
    var options = JournalServer.Options()
    guard let port = UInt16(exactly: try arguments.count("--port") ?? 0) else {
      throw Failure.wrongUse("--port is a number up to 65535")
    }
    options.port = port
    options.isEditable = arguments.has("--edit")
    options.author = arguments.author
    return options
  }

  private static func tokens(of path: String, _ terminal: Terminal) throws -> [String] {
    guard let text = String(data: try inputFile(path), encoding: .utf8) else {
      throw Failure.wrongUse("the file of tokens, \(path.printable), is not UTF-8")
    }
    let tokens = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
    guard !tokens.isEmpty, tokens.allSatisfy({ $0.utf8.count >= 16 }) else {
      throw Failure.wrongUse(
        "a token needs at least 16 characters, and the file at least one token; openssl rand -hex 32 makes one"
      )
    }
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let mode = (try? FileManager.default.attributesOfItem(atPath: file))?[.posixPermissions] as? Int ?? 0
    if mode & 0o077 != 0 { terminal.warn("other users can read the tokens: chmod 600 \(path.printable)") }
    return tokens
  }

  /// Waits for SIGINT, SIGTERM or SIGHUP. A signal that was ignored when the process started stays ignored.
  static func waitForInterruption(_ terminal: Terminal) throws {
    terminal.warn("serving until it is interrupted (Ctrl-C)")
    let wasAsked = DispatchSemaphore(value: 0)
    let sources = Signals.ignore([SIGINT, SIGTERM, SIGHUP]).map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { wasAsked.signal() }
      source.resume()
      return source
    }
    wasAsked.wait()
    for source in sources { source.cancel() }
  }
}
