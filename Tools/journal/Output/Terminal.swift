import Foundation

/// Where the program's words go: results to standard output, everything else to standard error.
final class Terminal {
  let output: Output
  let progress: Progress
  /// Whether results may be coloured: on a terminal, unless `NO_COLOR` is set.
  let usesColor: Bool
  /// What is asked for remarks when all is done.
  private var sources: [() -> [String]] = []

  init() {
    let environment = ProcessInfo.processInfo.environment
    let isPlain = environment["TERM"] == "dumb" || !(environment["NO_COLOR"] ?? "").isEmpty
    usesColor = isatty(STDOUT_FILENO) == 1 && !isPlain
    output = Output(STDOUT_FILENO)
    progress = Progress(isShown: isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb")
  }

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
