import CatalogModel
import Foundation
import JournalMaintenance
import JournalServer
import Locks

enum View: Verb {
  static let text = """
    view: shows a journal in a browser

    Opens a page in the browser that shows the present and past states and who changed them. With --edit the page can
    also restore, revert and undo. An app may have the journal open: new entries appear as they are committed. With --edit
    the journal must not be open for writing elsewhere. A damaged journal is shown up to the damage, and the page says
    what is wrong.

    This program serves the page on the loopback interface, and the page loads nothing else. The printed address has a
    token that works once and opens a session. The session lasts until the program is interrupted. The browser gets the
    address from a temporary file that only you can read. If the browser can't read it, as in a sandbox, open the printed
    address.

    Arguments: JOURNAL
    [--edit]: let the page restore, revert and undo, each as a new entry
    [--by AUTHOR], [--port N]
    [--no-browser]: print the address, and open nothing

    $ journal view Books.journal  # opens a browser
    $ journal view Books.journal --edit --by ana  # the same, and lets Ana restore and undo
    $ journal view Books.journal --port 8080 --no-browser  # prints the address of the page
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    var options = try Serve.options(arguments)
    let journal: CatalogJournal
    do { journal = try Serve.openJournal(arguments, terminal) } catch let error as JournalError {
      guard error.code == .damaged,
        let readable = try? arguments.openUpToDamage(terminal)
      else { throw error }
      terminal.warn("\(error)")
      options.isEditable = false
      terminal.code = .unreadable
      journal = readable
    }
    let server = try JournalServer(journal, options: options)
    let url = server.invitation()
    let page = RedirectingPage(to: url)
    defer { page.remove() }
    if !arguments.has("--no-browser") { openBrowser(page) }
    try terminal.line(url.absoluteString)
    try terminal.output.flush()
    try Serve.waitForInterruption(terminal)
    server.stop()
    try journal.close()
  }

  /// Shows the page in a browser. Does not wait for the browser, which on some systems runs until it is closed.
  private static func openBrowser(_ page: RedirectingPage) {
    #if os(macOS)
      let program = "open"
    #else
      let program = "xdg-open"
    #endif
    let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nothing) }
    do {
      try page.write()
      // The browser gets no terminal: Ctrl-C must not close its windows, and a browser that runs in terminals, which
      // can't show the page, must not take this one.
      let browser = try SpawnedProcess(
        [program, page.file.absoluteString], environment: ProcessInfo.processInfo.environment,
        descriptors: [nothing, nothing, nothing], hasTerminal: false)
      _ = Threads.start { if browser.wait() != 0 { sayThatNoBrowserOpens() } }
    } catch { sayThatNoBrowserOpens() }
  }

  private static func sayThatNoBrowserOpens() {
    StandardError.write("no browser could be opened; open the address yourself\n")
  }
}

/// A file that sends the browser to the address with the token. Only its owner can read it. As an argument of the
/// browser, the address could be read by all users of the machine.
private struct RedirectingPage {
  private let address: URL
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "journal-view-\(UUID().uuidString)", directoryHint: .isDirectory)

  init(to address: URL) { self.address = address }

  var file: URL { folder.appending(path: "journal.html") }

  func write() throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let page = """
      <!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
      <meta http-equiv="refresh" content="0; url=\(address)"><title>Journal</title>
      <a href="\(address)">Show the journal</a></html>

      """
    let permissions: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    guard
      FileManager.default.createFile(atPath: file.path, contents: Data(page.utf8), attributes: permissions)
    else { throw Failure.unreadable("\(file.path) can't be written") }
  }

  func remove() { try? FileManager.default.removeItem(at: folder) }
}
