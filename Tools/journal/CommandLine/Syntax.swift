/// The syntax of a verb's command line. Both the parser and the help use it, so they can't disagree.
struct Syntax {
  /// An argument that is identified by its position.
  struct Operand {
    let name: String
    let help: String
    var isOptional = false
    /// Whether it takes all further arguments; only for the last operand.
    var isRepeated = false
    /// Whether it names a file or a folder, and so can't be empty.
    var isPath = false
  }

  /// An argument that is identified by its name.
  struct Option {
    /// Its name, including dashes.
    let name: String
    /// The name of its value; nil for a switch.
    var value: String?
    let help: String
    /// Whether it may be given several times.
    var isRepeated = false
    /// Whether the verb fails without it.
    var isRequired = false

    /// What to write instead of an empty value; nil if the value may be empty.
    var insteadOfEmpty: String? {
      switch value {
      case "SELECTOR"?: "write a point in time, such as 120, HEAD~3, 2026-08-01 or yesterday"
      // The empty path would be that of the current folder.
      case "DIR"?, "FILE"?, "FOLDER"?: "write a path; a variable of the shell may not be set"
      default: nil
      }
    }
  }

  var operands: [Operand] = []
  var options: [Option] = []

  /// The options of all verbs.
  static let common = [
    Option(
      name: "--local",
      help:
        "read and print dates in the zone of this machine (TZ) instead of UTC; JSON always has them in UTC"),
    Option(name: "--no-pager", help: "print long results without a pager"),
    Option(name: "--verbose", help: "report on standard error what the journal does and finds"),
    Option(
      name: "--unsafe-settings", help: "write to a shared log even if its server may lose what it confirms"),
    Option(
      name: "--shared-images", value: "FOLDER",
      help: "where the nodes of a shared journal have their images, if not in the database"),
    Option(name: "--help", help: "print this help"),
  ]

  /// The path of the journal, the first operand of nearly every verb.
  static let journal = Operand(
    name: "JOURNAL", help: "the journal's folder, such as Books.journal", isPath: true)
  static let json = Option(name: "--json", help: "print JSON instead of a table")

  var allOptions: [Option] { options + Self.common }

  /// The line after `usage: journal VERB`.
  var summary: String {
    let operands = operands.map { ($0.isOptional ? "[\($0.name)]" : $0.name) + ($0.isRepeated ? "…" : "") }
    let options = options.map { option in
      let text = option.name + (option.value.map { " \($0)" } ?? "")
      return option.isRequired ? text : "[\(text)]"
    }
    return (operands + options).joined(separator: " ")
  }
}
