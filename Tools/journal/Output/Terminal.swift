import CatalogModel
import Foundation
import JSON

/// Prints results to standard output, and everything else to standard error.
final class Terminal {
  let output: Output
  let progress: ProgressLine
  /// True on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
  let usesColor: Bool
  /// The width of a line in columns, from `COLUMNS` or from the terminal; nil if neither has it.
  let width: Int?
  var isLocal = false
  var isJSON = false
  /// The exit code if nothing fails.
  var code = ExitCode.done
  private var json = JSONWriter()
  private var pager: Pager?
  private var sources: [() -> [String]] = []
  private var checks: [() throws -> Void] = []

  init() {
    let environment = ProcessInfo.processInfo.environment
    let isPlain = environment["TERM"] == "dumb" || !(environment["NO_COLOR"] ?? "").isEmpty
    usesColor = isatty(STDOUT_FILENO) == 1 && !isPlain
    width = Self.columns(environment)
    output = Output(STDOUT_FILENO)
    progress = ProgressLine(isShown: isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb")
  }

  private static func columns(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0,
      size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  func startPager() throws {
    guard isatty(STDOUT_FILENO) == 1, let pager = try Pager() else { return }
    self.pager = pager
    output.redirect(to: pager.descriptor)
  }

  func endPager() { pager?.end() }

  /// A date as `2026-08-01 10:00:00`, in UTC or with `--local` in the zone of this machine. If the local clock shows
  /// that time twice, the zone follows.
  func text(of date: Date, withZone: Bool = false) -> String {
    isLocal ? localText(of: date, withZone) { $0.printable } : date.printable + (withZone ? " UTC" : "")
  }

  /// A date in a record, on request with the fraction of its second.
  func text(ofValue date: Date, withFraction: Bool = false) -> String {
    guard withFraction else { return text(of: date) }
    return isLocal ? localText(of: date) { $0.printableWithFraction } : date.printableWithFraction
  }

  /// A date in the form of RFC 3339, with microseconds.
  func preciseText(of date: Date) -> String {
    guard isLocal else { return date.precise }
    let minutes = offset(at: date) / 60
    return String(date.addingTimeInterval(Double(minutes * 60)).precise.dropLast()) + Self.zone(minutes)
  }

  /// A date as the clock of this machine shows it. The zone follows on request, or if the clock shows that time twice.
  private func localText(of date: Date, _ withZone: Bool = false, _ text: (Date) -> String) -> String {
    let clock = LocalClock(.current)
    let seconds = offset(at: date)
    let isRepeated = Timestamp(date).map { clock.repeats(clock.reading(at: $0)) } ?? false
    guard withZone || isRepeated else { return text(date.addingTimeInterval(Double(seconds))) }
    let minutes = seconds / 60
    return "\(text(date.addingTimeInterval(Double(minutes * 60)))) \(Self.zone(minutes))"
  }

  /// The zone's offset from UTC in seconds. Until 1972 it could have seconds, which a text with a zone leaves out.
  private func offset(at date: Date) -> Int { TimeZone.current.secondsFromGMT(for: date) }

  /// An offset as text: `+02:00`.
  private static func zone(_ minutes: Int) -> String {
    let parts = [abs(minutes) / 60, abs(minutes) % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return (minutes < 0 ? "-" : "+") + parts.joined(separator: ":")
  }

  /// The title of a column with dates.
  func dateTitle(_ name: String = "DATE") -> String { "\(name) \(isLocal ? "(LOCAL)" : "(UTC)")" }

  func line(_ text: String = "") throws {
    progress.clear()
    try output.line(text)
  }

  func printJSON(_ value: some JSONWritable) throws {
    json.value(value)
    json.newline()
    progress.clear()
    try output.write(json.bytes)
    json.removeAll()
  }

  /// Prints an object as a line of JSON, or a text for people.
  func answer(_ object: @autoclosure () throws -> JSONObject, text: () throws -> Void) throws {
    if isJSON { try printJSON(object()) } else { try text() }
  }

  /// - Parameter width: the width of the names; by default that of the widest name.
  func printList(_ lines: [(name: String, text: String)], width: Int? = nil, indent: String = "") throws {
    let width = width ?? lines.map(\.name.columns).max() ?? 0
    for (name, text) in lines {
      let gap = String(repeating: " ", count: width - name.columns)
      try line("\(indent)\(styled(.bold, name))\(gap)  \(text)")
    }
  }

  func showProgress(_ action: String, _ done: Int, of all: Int, _ things: String = "entries") {
    progress.show { "\(action): \(done.grouped) of \(all.grouped) \(things)" }
  }

  func showCopying(_ state: CopyProgress) {
    showProgress(state.phase == .proving ? "proving" : "copying", state.done, of: state.all)
  }

  func warn(_ line: String) {
    progress.clear()
    StandardError.write(line + "\n")
  }

  func sayAtEnd(_ source: @escaping () -> [String]) { sources.append(source) }

  func checkAtEnd(_ check: @escaping () throws -> Void) { checks.append(check) }

  func checkResults() throws { for check in checks { try check() } }

  func sayRemarks() {
    for source in sources { for remark in source() { warn("journal: \(remark.printable)") } }
  }

  func styled(_ style: Style, _ text: String) -> String {
    usesColor && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// The parameter of a terminal's escape sequence.
enum Style: String {
  case bold = "1"
  case faint = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
}

enum StandardError {
  static func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
