/// `journal man`
enum ManPage: Verb {
  static let name = "man"
  static let summary = "prints the manual page"
  static let explanation =
    "Prints the manual page, made from the texts of journal help. Tools/install installs it."
  static let syntax = Syntax()
  static let examples = [(command: "journal man | man -l -", does: "reads the manual")]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let output = terminal.output
    try output.line(".TH JOURNAL 1 \"\" \"journal \(Program.version)\"")
    try output.line(".SH NAME\njournal \\- items, categories and images with their whole history")
    try output.line(".SH SYNOPSIS\n.B journal\n.I VERB JOURNAL\n[arguments]")
    try output.line(".SH POINTS IN TIME\n\(escaped(Help.points))")
    for (title, verbs) in Verbs.groups {
      try output.line(".SH \(escaped(title.uppercased()))")
      for verb in verbs {
        try output.line(".SS journal \(verb.name) \(escaped(verb.syntax.summary))")
        try output.line(escaped(verb.explanation))
        for operand in verb.syntax.operands { try item(operand.name, operand.help, terminal) }
        for option in verb.syntax.options {
          try item(option.name + (option.value.map { " \($0)" } ?? ""), option.help, terminal)
        }
        for example in verb.examples {
          try output.line(".PP\n\(escaped(example.does)):\n.PP\n.RS\n.B \(escaped(example.command))\n.RE")
        }
      }
    }
    try output.line(".SH OPTIONS OF ALL VERBS")
    for option in Syntax.common { try item(option.name, option.help, terminal) }
    try output.line(".SH EXIT STATUS\n\(escaped(Help.exitCodes))")
    try output.line(
      ".SH ENVIRONMENT\n.TP\n.B PAGER\nreads long results; less if not set\n.TP\n.B NO_COLOR\nif set, nothing is "
        + "colored"
        + "\n.TP\n.B TZ\nthe zone that \\-\\-local means, by its name in the time zone database, such as Europe/Berlin"
    )
    return .done
  }

  private static func item(_ name: String, _ help: String, _ terminal: Terminal) throws {
    try terminal.output.line(".TP\n.B \(escaped(name))\n\(escaped(help))")
  }

  private static func escaped(_ text: String) -> String {
    let lines = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
      .split(
        separator: "\n", omittingEmptySubsequences: false)
    return lines.map { line in
      line.isEmpty ? ".PP" : line.first == "." || line.first == "'" ? "\\&\(line)" : String(line)
    }.joined(separator: "\n")
  }
}
