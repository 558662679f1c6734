import Foundation

/// Where the program's words go: results to standard output, everything else to standard error.
final class Terminal {
  let output: Output
  let progress: ProgressLine
  /// Whether results may be coloured: on a terminal, unless `NO_COLOR` is set.
  let usesColor: Bool
  /// How many columns a line has; nil where nobody looks at it.
  let width: Int?
  /// Whether dates are printed in the zone of this machine.
  var isLocal = false
  private var pager: Pager?
  /// What is asked for remarks when all is done.
  private var sources: [() -> [String]] = []

  init() {
    let environment = ProcessInfo.processInfo.environment
    let isPlain = environment["TERM"] == "dumb" || !(environment["NO_COLOR"] ?? "").isEmpty
    usesColor = isatty(STDOUT_FILENO) == 1 && !isPlain
    width = Self.columns(environment)
    output = Output(STDOUT_FILENO)
    progress = ProgressLine(isShown: isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb")
  }

  /// The width of the terminal that standard output is, or what `COLUMNS` says.
  private static func columns(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0,
      size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  /// Sends results through a pager from now on, where a person looks at them.
  func startPager() throws {
    guard isatty(STDOUT_FILENO) == 1, let pager = try Pager() else { return }
    self.pager = pager
    output.redirect(to: pager.descriptor)
  }

  /// Waits until the person has seen enough.
  func endPager() { pager?.end() }

  /// `2026-08-01 10:00:00`, in UTC or the zone of this machine.
  func text(of date: Date, withZone: Bool = false) -> String {
    guard isLocal else { return date.printable + (withZone ? " UTC" : "") }
    let offset = TimeZone.current.secondsFromGMT(for: date)
    let shifted = date.addingTimeInterval(Double(offset)).printable
    guard withZone else { return shifted }
    let minutes = abs(offset) / 60
    let zone = [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    return shifted + (offset < 0 ? " -" : " +") + zone
  }

  /// What stands above a column of dates.
  var dateTitle: String { isLocal ? "DATE (LOCAL)" : "DATE (UTC)" }

  /// Prints a line on standard error, above the progress if there is one.
  func warn(_ line: String) {
    progress.clear()
    StandardError.write(line + "\n")
  }

  /// Asks for remarks when all results are out, and prints them as ``warn(_:)`` does.
  func sayAtEnd(_ source: @escaping () -> [String]) { sources.append(source) }

  /// Prints the remarks that ``sayAtEnd(_:)`` was promised.
  func sayRemarks() {
    for source in sources { for remark in source() { warn("journal: \(remark.printable)") } }
  }

  /// The text in a colour or weight, where that is wanted.
  func styled(_ style: Style, _ text: String) -> String {
    usesColor && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// How a text looks: parameters of the terminal's escape sequence.
enum Style: String {
  case bold = "1"
  case faint = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
}

/// Standard error, unbuffered, since what is said there may be the last that is said.
enum StandardError {
  static func write(_ text: String) {
    // Nobody is left to be told when standard error itself fails.
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
