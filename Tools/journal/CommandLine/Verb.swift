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
  /// Whether its results may be long, so that a person wants a pager for them.
  static var isPaged: Bool { get }

  /// - Returns: ``ExitCode/done``, or ``ExitCode/no`` when the answer is no.
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode
}

extension Verb {
  static var isPaged: Bool { false }
}

/// All verbs, in the order in which help lists them.
enum Verbs {
  static let groups: [(title: String, verbs: [any Verb.Type])] = [
    (
      "What is there, and who changed it",
      [
        Find.self, Log.self, Show.self, History.self, BlameVerb.self, Diff.self, Bisect.self, Cat.self,
        ReplayVerb.self,
      ]
    ),
    ("Bringing it back", [Restore.self, Revert.self, Undo.self, Redo.self, TagVerb.self]),
    ("Getting things in and out", [Init.self, Import.self, Export.self]),
    ("Copies", [BackupVerb.self, RestoreBackup.self, SalvageVerb.self]),
    (
      "The journal itself",
      [Stat.self, Verify.self, Doctor.self, SnapshotVerb.self, CollectGarbage.self, Erase.self]
    ),
    ("This program", [Help.self, Completions.self, ManPage.self]),
  ]

  static let all = groups.flatMap(\.verbs)

  /// - Throws: ``Failure`` with a suggestion when there is none of that name.
  static func named(_ name: String) throws(Failure) -> any Verb.Type {
    if let verb = all.first(where: { $0.name == name }) { return verb }
    let kind = name.hasPrefix("-") ? "option" : "verb"
    let suggestion = Suggestion.text(for: name, among: all.map { $0.name })
    throw Failure(.wrongUse, "unknown \(kind) \(name.printable)\(suggestion); see journal help")
  }
}
