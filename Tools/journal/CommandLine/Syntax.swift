/// What a verb takes on the command line. The parser and the help both read it, so they can't disagree.
struct Syntax {
  /// An argument that is recognised by its place.
  struct Operand {
    let name: String
    let help: String
    var isOptional = false
    /// Whether all further arguments belong to it; for the last operand only.
    var isRepeated = false
  }

  /// An argument that is recognised by its name.
  struct Option {
    /// As it is written, dashes included.
    let name: String
    /// What its value is called; nil for a switch.
    var value: String?
    let help: String
    /// Whether it may be given several times.
    var isRepeated = false
  }

  var operands: [Operand] = []
  var options: [Option] = []

  /// What every verb takes besides its own.
  static let common = [
    Option(name: "--local", help: "read and print dates in the zone of this machine (TZ) instead of UTC"),
    Option(name: "--no-pager", help: "print long results at once, and not page by page"),
    Option(name: "--verbose", help: "say on standard error what the journal does and finds on its own"),
    Option(
      name: "--unsafe-settings", help: "write to a shared log even if its server may lose what it confirms"),
    Option(name: "--help", help: "print this and do nothing else"),
  ]

  /// The journal's place, which is the first operand of nearly every verb.
  static let journal = Operand(name: "JOURNAL", help: "the journal's folder, such as Books.journal")
  static let json = Option(name: "--json", help: "print JSON for machines instead of a table for people")

  var allOptions: [Option] { options + Self.common }

  /// The line after `usage: journal VERB`.
  var summary: String {
    let operands = operands.map { ($0.isOptional ? "[\($0.name)]" : $0.name) + ($0.isRepeated ? "…" : "") }
    let options = options.map { "[\($0.name)\($0.value.map { " \($0)" } ?? "")]" }
    return (operands + options).joined(separator: " ")
  }
}
