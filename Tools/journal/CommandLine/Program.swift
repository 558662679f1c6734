import CatalogModel
import Foundation
import JSON
import LegacyStores

enum Program {
  static let version = "0.1.0"

  static func run(_ words: [String]) -> ExitCode {
    // Without the signal, a write to a closed output fails with an error.
    signal(SIGPIPE, SIG_IGN)
    occupyStandardDescriptors()
    let terminal = Terminal()
    defer { terminal.endPager() }
    do {
      try dispatch(words, terminal)
      try terminal.checkResults()
      terminal.progress.clear()
      try terminal.output.finish()
      terminal.sayRemarks()
      return terminal.code
    } catch is OutputClosed {
      return .done
    } catch {
      terminal.progress.clear()
      try? terminal.output.flush()
      terminal.sayRemarks()
      let failure = Failure(describing: error)
      let done = terminal.output.doneText.map { "\($0), but " } ?? ""
      terminal.warn("journal: \(done)\(failure.description.printable)")
      return failure.code
    }
  }

  /// Opens `/dev/null` for closed standard descriptors. Otherwise a file of the journal could get such a number, and
  /// results would be written to it. Standard output is opened for reading, so that writing fails and the caller
  /// notices.
  private static func occupyStandardDescriptors() {
    for descriptor in 0...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", descriptor == STDERR_FILENO ? O_RDWR : O_RDONLY)
    }
  }

  /// Refuses arguments that are not UTF-8. Swift replaces their invalid bytes, so a path would name another file.
  private static func checkArguments() throws(Failure) {
    for index in 0..<Int(CommandLine.argc) {
      guard let word = unsafe CommandLine.unsafeArgv[index] else { continue }
      if unsafe String(validatingCString: word) == nil {
        throw Failure.wrongUse("\(CommandLine.arguments[index].printable) is not UTF-8; use another name")
      }
    }
  }

  private static func dispatch(_ words: [String], _ terminal: Terminal) throws {
    try checkArguments()
    guard let first = words.first else { throw Failure.wrongUse("a verb is missing; see journal help") }
    if first == "--version" { return try terminal.output.line("journal \(version)") }
    if first == "--help" || first == "-h" { return try Help.printOverview(terminal) }
    let verb = try Verbs.named(first)
    let arguments = try Arguments(Array(words.dropFirst()), of: first, syntax: verb.manual.syntax)
    if arguments.has("--help") { return try Help.printHelp(of: verb, terminal) }
    terminal.isLocal = arguments.has("--local")
    terminal.isJSON = arguments.has("--json")
    if terminal.isLocal { try LocalZone.check() }
    // Verbs that do more than print finish their work even if nothing reads their results.
    terminal.output.isEssential = verb.endsWithReader
    // Programs read JSON and rows, and the output of --follow does not end, so none of them gets a pager.
    let unpaged = ["--no-pager", "--json", "--rows", "--csv", "--tsv", "--follow"]
    let isPaged = verb.isPaged && !unpaged.contains { arguments.has($0) }
    if isPaged { try terminal.startPager() }
    try verb.run(arguments, terminal)
  }
}

extension Failure {
  init(describing error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let absence as Absence: self.init(.no, "\(absence)")
    case let error as JournalError where error.code == .invalidSelector || error.code == .wrongUse:
      self.init(.wrongUse, "\(error)")
    case let error as JournalError where [.rejected, .conflict, .tooLarge].contains(error.code):
      self.init(.no, "\(error)")
    // An error with a path is about a file or folder, not about what the user asked for.
    case let error as JournalError where [.notFound, .pruned].contains(error.code) && error.path == nil:
      self.init(.no, "\(error)")
    case let error as JournalError: self.init(.unreadable, "\(error)")
    case let error as LegacyError where error.code == .unreadable: self.init(.no, "\(error)")
    case let error as LegacyError where error.code != .io: self.init(.wrongUse, "\(error)")
    default: self.init(.unreadable, "\(error)")
    }
  }
}
