enum Help: Verb {
  static let text = """
    help: explains a verb, or lists all verbs

    Explains a verb and its arguments, with examples. Without a verb, lists all of them.

    Arguments:
    [VERB]: the verb to explain

    $ journal help replay  # how to rebuild a past state
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    guard let verb = arguments.value("VERB") else { return try printOverview(terminal) }
    return try printHelp(of: Verbs.named(verb), terminal)
  }

  static func printOverview(_ terminal: Terminal) throws {
    try terminal.line("journal keeps items, categories and images with their whole history.\n")
    try terminal.line("usage: journal VERB JOURNAL [arguments]\n")
    for (title, verbs) in Verbs.groups {
      try terminal.line("\(title):")
      try terminal.printList(
        verbs.map { ($0.name, $0.manual.summary) }, width: Verbs.all.map { $0.name.count }.max(), indent: "  "
      )
      try terminal.line()
    }
    try terminal.line("How to:")
    for line in questions.split(separator: "\n") {
      try terminal.line(
        line.hasPrefix(" ") ? "      " + terminal.styled(.bold, "\(line.dropFirst(2))") : "  \(line)")
    }
    try terminal.line("\n\(points)\n\n\(exitCodes)")
    try terminal.line("See journal help VERB for more, and journal --version for the version.")
  }

  private static let questions = """
    find the number of an item
      journal find Books.journal dune
    see who changed its title, and what it was before
      journal history Books.journal item:42
    see who set each of its attributes
      journal blame Books.journal item:42
    restore it as it was yesterday
      journal restore Books.journal item:42 --at yesterday
    find deleted entities
      journal find Books.journal --deleted
    restore a deleted item
      journal restore Books.journal item:42
    restore everything as of yesterday, but keep new entities and attributes
      journal restore Books.journal --all --at yesterday --keep-new
    undo what Bob did on 4 August
      journal revert Books.journal --author bob --since 2026-08-04 --until 2026-08-05
    """

  static let points = """
    A point in time is 120 (a revision), HEAD, HEAD~3, 2026-08-01, "2026-08-01 10:00", 2026-08-01T10:00:00Z, today,
    yesterday, "last monday", "5 minutes ago", "1 month ago", a tag, or item:42@120 (the last change of item 42 up to
    revision 120). Revision 0 is the empty journal. An entity is item:42, category:3, image:7 or tag:1.

    Dates are in UTC, or with --local in the time zone of this machine. A day, a month and a year mean their first moment.
    Days, weeks, months and years ago keep the time of day; from the 31st, a month ago is the last day of a shorter month.
    With --local, a time that clocks show twice is the later one, one that they skip is the first after the gap, and a
    day that did not exist is an error.

    A state as of a date has the entries up to and including that moment. --since and --until select the entries from the
    one date on and before the other, so that --until 2026-08-02 ends with 1 August, and prune --before keeps the entries
    from its date on. A revision, a tag or an entity names an entry: --since selects what is after it, --until what is
    up to and including it. Dates are compared with the dates that order entries, which never decrease, and not with the
    clock's dates.
    """
  static let exitCodes = """
    Exit codes: 0 done, 1 the answer is no, 2 wrong use, 3 the journal can't be opened, read or written. If something fails
    after an entry was stored, the result is printed nevertheless, and the message begins with "entry 7 was committed, but":
    do not make that entry again. As with grep, find and bisect exit with 1 if they find nothing. So does each verb if
    something that the command names is not in the journal, such as an entity, a category or a revision. As with git log
    and git diff, an empty list is an answer: log, diff and the lists of tags and snapshots exit with 0.
    """

  static func printHelp(of verb: any Verb.Type, _ terminal: Terminal) throws {
    let manual = verb.manual
    let arguments = manual.syntax.summary
    try terminal.line("usage: journal \(verb.name)\(arguments.isEmpty ? "" : " \(arguments)")")
    try terminal.line("\n\(manual.explanation)\n")
    if !manual.syntax.operands.isEmpty {
      try terminal.printList(manual.syntax.operands.map { ($0.name, $0.help) }, indent: "  ")
      try terminal.line()
    }
    try terminal.printList(manual.syntax.allOptions.map { ($0.usage, $0.help) }, indent: "  ")
    try terminal.line("\nExamples:")
    for example in manual.examples {
      try terminal.line("  \(terminal.styled(.bold, example.command))")
      try terminal.line("      \(example.does)")
    }
  }
}
