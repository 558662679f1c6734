enum ManPage: Verb {
  static let text = """
    man: prints the manual page

    Prints the manual page, made from the texts of journal help. Tools/install installs it.

    $ journal man | man -l -  # reads the manual
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let output = terminal.output
    try output.line(".TH JOURNAL 1 \"\" \"journal \(Program.version)\"")
    try output.line(".SH NAME\njournal \\- items, categories and images with their whole history")
    try output.line(".SH SYNOPSIS\n.B journal\n.I VERB JOURNAL\n[arguments]")
    try output.line(".SH POINTS IN TIME\n\(escaped(Help.points))")
    for (title, verbs) in Verbs.groups {
      try output.line(".SH \(escaped(title.uppercased()))")
      for verb in verbs {
        let (manual, syntax) = (verb.manual, verb.manual.syntax)
        try output.line(".SS journal \(verb.name) \(escaped(syntax.summary))")
        try output.line(escaped(manual.explanation))
        try printItems(syntax.operands + syntax.options, output)
        for example in manual.examples {
          try output.line(".PP\n\(escaped(example.does)):\n.PP\n.RS\n.B \(escaped(example.command))\n.RE")
        }
      }
    }
    try output.line(".SH OPTIONS OF ALL VERBS")
    try printItems(Syntax.common, output)
    try output.line(".SH EXIT STATUS\n\(escaped(Help.exitCodes))")
    try output.line(
      ".SH ENVIRONMENT\n.TP\n.B PAGER\nreads long results; less if not set\n.TP\n.B NO_COLOR\nif set, nothing is "
        + "colored"
        + "\n.TP\n.B TZ\nthe zone that \\-\\-local means, by its name in the time zone database, such as Europe/Berlin"
    )
  }

  private static func printItems(_ arguments: [Syntax.Argument], _ output: Output) throws {
    for argument in arguments {
      try output.line(".TP\n.B \(escaped(argument.usage))\n\(escaped(argument.help))")
    }
  }

  private static func escaped(_ text: String) -> String {
    let lines = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
      .split(separator: "\n", omittingEmptySubsequences: false)
    return lines.map { line in
      line.isEmpty ? ".PP" : line.first == "." || line.first == "'" ? "\\&\(line)" : String(line)
    }.joined(separator: "\n")
  }
}
