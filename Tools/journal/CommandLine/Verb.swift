/// One thing the program can do: `journal VERB …`.
protocol Verb: Sendable {
  static var name: String { get }
  /// What it does, in a few words for the list of verbs.
  static var summary: String { get }
  /// What it does, in sentences.
  static var explanation: String { get }
  static var syntax: Syntax { get }
  /// Command lines to learn from, each with what it does.
  static var examples: [(command: String, does: String)] { get }

  /// - Returns: ``ExitCode/done``, or ``ExitCode/no`` when the answer is no.
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode
}

/// All verbs, in the order in which help lists them.
enum Verbs {
  static let all: [any Verb.Type] = [
    Init.self, Import.self, Export.self, Log.self, Show.self, History.self, Replay.self, SnapshotVerb.self,
    Stat.self,
    Verify.self, Help.self,
  ]

  /// - Throws: ``Failure`` with a suggestion when there is none of that name.
  static func named(_ name: String) throws(Failure) -> any Verb.Type {
    if let verb = all.first(where: { $0.name == name }) { return verb }
    let kind = name.hasPrefix("-") ? "option" : "verb"
    let suggestion = Suggestion.text(for: name, among: all.map { $0.name })
    throw Failure(.wrongUse, "unknown \(kind) \(name.printable)\(suggestion); see journal help")
  }
}
