/// All verbs, in the order of the help.
enum Verbs {
  static let groups: [(title: String, verbs: [any Verb.Type])] = [
    (
      "Looking at a journal",
      [
        Find.self, Log.self, Show.self, History.self, BlameVerb.self, Diff.self, Bisect.self, Cat.self,
        ReplayVerb.self, View.self,
      ]
    ),
    ("Changing", [CommitVerb.self]),
    ("Restoring", [Restore.self, Revert.self, Undo.self, Redo.self, TagVerb.self]),
    ("Import, export and HTTP", [Init.self, Import.self, Export.self, Serve.self]),
    ("Several machines", [Share.self, Join.self, Unshare.self]),
    ("Copies", [BackupVerb.self, SalvageVerb.self]),
    (
      "Maintenance",
      [Stat.self, Verify.self, Doctor.self, SnapshotVerb.self, CollectGarbage.self, Erase.self, Prune.self]
    ),
    ("This program", [Help.self, Completions.self, ManPage.self]),
  ]

  static let all = groups.flatMap(\.verbs)

  static func named(_ name: String) throws(Failure) -> any Verb.Type {
    if let verb = all.first(where: { $0.name == name }) { return verb }
    let kind = name.hasPrefix("-") ? "option" : "verb"
    let suggestion = Suggestion.text(for: name, among: all.map { $0.name })
    throw Failure.wrongUse("unknown \(kind) \(name.printable)\(suggestion); see journal help")
  }
}
