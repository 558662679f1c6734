import CatalogModel
import Foundation
import JournalServer

/// `journal view JOURNAL`
enum View: Verb {
  static let name = "view"
  static let summary = "shows a journal in a browser"
  static let explanation = """
    Opens a page in the browser: what is there, what was there, who changed it, and with --edit a way back. It shows a
    journal that an app has open, and entries as they come. With --edit the journal must not be open elsewhere. A damaged
    journal is shown up to the damage, and the page says what is wrong.

    The page comes from this program, on the loopback of this machine, and nothing else is loaded. The address that is
    printed has a token, which opens the page once; who opens it has a session until the program ends, as it does when it
    is interrupted.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(name: "--edit", help: "let the page restore, revert and undo, each as a new entry"),
      Syntax.author, Serve.port,
      Syntax.Option(name: "--no-browser", help: "print the address, and open nothing"),
    ])
  static let examples = [
    (command: "journal view Books.journal", does: "opens a browser"),
    (command: "journal view Books.journal --edit --by ana", does: "the same, and lets Ana restore and undo"),
    (command: "journal view Books.journal --port 8080 --no-browser", does: "prints the address of the page"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let (server, journal, problem) = try serve(arguments, terminal)
    let url = server.invitation()
    try terminal.output.line(url.absoluteString)
    try terminal.output.flush()
    if !arguments.has("--no-browser"), !openBrowser(url) {
      terminal.warn("no browser could be opened; open the address yourself")
    }
    try Serve.waitForInterruption(terminal)
    server.stop()
    try journal?.close()
    return problem == nil ? .done : .unreadable
  }

  /// Serves the journal; one that does not open, as far as it can be read; or a page that says why it can't.
  private static func serve(
    _ arguments: Arguments, _ terminal: Terminal
  ) throws -> (server: JournalServer, journal: CatalogJournal?, problem: JournalError?) {
    var options = try Serve.options(arguments)
    do {
      let journal = try Serve.openJournal(arguments, terminal)
      return (try JournalServer(journal, options: options), journal, nil)
    } catch let error as JournalError where explained.contains(error.code) {
      terminal.warn("\(error)")
      options.isEditable = false
      options.problem = error
      if error.code == .damaged, let journal = try? arguments.openJournal(terminal, mode: .upToDamage) {
        return (try JournalServer(journal, options: options), journal, error)
      }
      let url = URL(fileURLWithPath: arguments.operand("JOURNAL"))
      return (try JournalServer(showing: error, of: url, options: options), nil, error)
    }
  }

  /// The problems of a journal that the page explains.
  private static let explained: Set<JournalError.Code> = [.damaged, .otherModel, .newerFormat, .olderFormat]

  private static func openBrowser(_ url: URL) -> Bool {
    #if os(macOS)
      let program = "open"
    #else
      let program = "xdg-open"
    #endif
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program, url.absoluteString]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
