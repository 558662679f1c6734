public import CatalogModel

/// What an import did, and what it could not do.
public struct LegacyImportReport: Sendable {
  /// The entries that were made; none when nothing had changed.
  public internal(set) var revisions: [Revision] = []
  /// How many items were added.
  public internal(set) var added = 0
  /// How many items were changed, their images included.
  public internal(set) var updated = 0
  /// How many items were deleted, as the files have them no more.
  public internal(set) var deleted = 0
  /// How many items the files say nothing new of.
  public internal(set) var unchanged = 0
  /// How many categories were added, changed or deleted.
  public internal(set) var categories = 0
  /// How many images were added, changed or deleted.
  public internal(set) var images = 0
  /// What could not be read or kept, and what is worth knowing: a change of the file and one of the journal's own
  /// that met.
  public internal(set) var problems: [LegacyProblem] = []

  /// Whether everything that the files hold is in the journal.
  public var isComplete: Bool { !problems.contains(where: \.isLoss) }

  mutating func note(_ place: String, _ reason: String, isLoss: Bool = false) {
    problems.append(LegacyProblem(place, reason, isLoss: isLoss))
  }
}
