protocol Verb: Sendable {
  /// The text that ``Manual`` is made from.
  static var text: String { get }
  static var isPaged: Bool { get }
  /// Whether closing the output ends the verb, because the verb has nothing left to do but print.
  static var endsWithReader: Bool { get }

  /// Runs the verb. If the answer is no but needs no error message, sets ``Terminal/code`` instead of throwing.
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws
}

extension Verb {
  static var isPaged: Bool { false }
  static var endsWithReader: Bool { false }

  static var manual: Manual { Manual(text) }
  /// The verb's name, which is found without parsing the whole text.
  static var name: String { String(text.prefix { $0 != ":" }) }
}

/// A verb that only prints. Its output can be long, so it gets a pager.
protocol ListingVerb: Verb {}

extension ListingVerb {
  static var isPaged: Bool { true }
  static var endsWithReader: Bool { true }
}

/// The texts and arguments of a verb, from which the parser, the help, the completions and the manual page are made.
///
/// A verb has its manual as a text:
///
///     gc: removes images that no entry names
///
///     Removes the bytes of images that were added but never committed.
///
///     Arguments: JOURNAL
///     [--dry-run]: report what would be removed, and remove nothing
///     [--json]
///
///     $ journal gc Books.journal  # removes it
///
/// The last paragraph has examples, each followed by its purpose. A line that begins with two blanks continues the
/// previous line. ``Syntax`` describes the form of arguments.
struct Manual {
  let summary: String
  let explanation: String
  let syntax: Syntax
  let examples: [(command: String, does: String)]

  init(_ text: String) {
    var paragraphs = text.split(separator: "\n\n").map(String.init)
    summary = String(paragraphs.removeFirst().split(separator: ": ", maxSplits: 1)[1])
    examples = paragraphs.removeLast().unfoldedLines.map { line in
      let parts = line.dropFirst(2).split(separator: "  # ", maxSplits: 1).map(String.init)
      return (parts[0], parts[1])
    }
    let heading = "Arguments:"
    let hasArguments = paragraphs.last?.hasPrefix(heading) == true
    syntax = Syntax(hasArguments ? String(paragraphs.removeLast().dropFirst(heading.count)) : "")
    explanation = paragraphs.joined(separator: "\n\n")
  }
}

extension String {
  fileprivate var unfoldedLines: [String] {
    replacing("\n  ", with: " ").split(separator: "\n").map { String($0.trimmingPrefix(" ")) }
  }
}

/// The arguments of a verb, parsed from a line for each: the usage, a colon and the help.
///
/// Arguments in brackets are optional, and those with an … may be repeated. A line without help lists arguments that
/// several verbs share, separated by commas.
struct Syntax {
  struct Argument {
    let name: String
    /// The placeholder of an option's value; nil for a switch.
    let value: String?
    let help: String
    let isOptional: Bool
    /// Whether an option may be repeated, or an operand takes all further arguments.
    let isRepeated: Bool

    fileprivate init(_ usage: String, help: String) {
      let words = usage.split { "[]… ".contains($0) }.map(String.init)
      (name, value) = (words[0], words.count > 1 ? words[1] : nil)
      (isOptional, isRepeated) = (usage.hasPrefix("["), usage.hasSuffix("…"))
      self.help = help
    }

    /// The name, and the placeholder of a value: `--at SELECTOR`.
    var usage: String { name + (value.map { " \($0)" } ?? "") }

    /// What to do instead of passing an empty value; nil if the value may be empty.
    var insteadOfEmpty: String? {
      switch value ?? name {
      case "SELECTOR": "write a point in time, such as 120, HEAD~3, 2026-08-01 or yesterday"
      // An empty path would name the current folder.
      case "DEST", "DIR", "FILE", "FOLDER", "JOURNAL", "NEW", "PATH":
        value == nil
          ? "a variable of the shell may not be set" : "write a path; a variable of the shell may not be set"
      default: nil
      }
    }
  }

  let operands: [Argument]
  /// The options of this verb, without the ``common`` ones.
  let options: [Argument]

  init(_ text: String) {
    let arguments = text.unfoldedLines.flatMap { line in
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      if parts.count == 2 { return [Argument(parts[0], help: parts[1])] }
      return line.split(separator: ", ").map { usage in
        let known = Self.shared.operands + Self.shared.options
        let name = Argument(String(usage), help: "").name
        return known.first { $0.name == name }!
      }
    }
    operands = arguments.filter { !$0.name.hasPrefix("-") }
    options = arguments.filter { $0.name.hasPrefix("-") }
  }

  var allOptions: [Argument] { options + Self.common }

  /// The arguments as a usage line has them, after `journal VERB`.
  var summary: String {
    let operands = operands.map { ($0.isOptional ? "[\($0.name)]" : $0.name) + ($0.isRepeated ? "…" : "") }
    return (operands + options.map { $0.isOptional ? "[\($0.usage)]" : $0.usage }).joined(separator: " ")
  }

  static let common = Syntax(
    """
    [--local]: read and print dates in the zone of this machine (TZ) instead of UTC; JSON always has them in UTC
    [--no-pager]: print long results without a pager
    [--verbose]: report on standard error what the journal does and finds
    [--unsafe-settings]: write to a shared log even if its server may lose what it confirms
    [--shared-images FOLDER]: where the nodes of a shared journal have their images, if not in the database
    [--help]: print this help
    """
  ).options

  private static let shared = Syntax(
    """
    JOURNAL: the journal's folder, such as Books.journal
    ADDRESS: the database, such as postgresql://app@db.example.org/books or service=books
    [--json]: print JSON instead of a table
    [--full]: print long values and all lines in full
    [--rows]: print one JSON line for each change, with the same members in log, diff, history and blame; old and
      new are JSON texts
    [--csv]: print these rows as CSV (RFC 4180), with a first line of names
    [--tsv]: print these rows as CSV with tabs between
    [--by AUTHOR]: the author of the new entry; by default your login name
    [--note TEXT]: the note of the new entry
    [--port N]: the port; by default a free one
    [--dry-run]: show what would change, and write nothing
    [--theirs]: keep later edits of the same fields, and revert the rest
    [--force]: also revert later edits of the same fields
    [--at SELECTOR]: the point in time; by default HEAD; a date is compared with the dates that order entries, not
      with the clock's dates
    [--since SELECTOR]: only entries since this date, or after this revision, tag or change of an entity
    [--until SELECTOR]: only entries before this date, or up to and including this revision, tag or change of an
      entity
    [--kind KIND]: only items of this kind; or category, image or tag
    [--category C]: only items of this category: 3, category:3, or its name at the point in time or, if none has
      that name then, now
    [--where FIELD=VALUE]…: only with this value, or with !=, <, <=, >, >= or ^= (begins with) instead of =;
      FIELD=null finds what has no value, FIELD!=null what has one; FIELD is an attribute, a path such as
      name.common, or @category; a date is 2026-08, 2026-08-01 or "2026-08-01 10:00", also with seconds, in UTC or
      with --local in the zone of this machine, unless it names another; words such as yesterday are only texts;
      may be repeated
    """)
}
