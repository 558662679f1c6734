public import CatalogModel

/// The result of an import.
public struct LegacyImportReport: Sendable {
  /// The new entries. Empty if nothing had changed.
  public internal(set) var revisions: [Revision] = []
  /// How many items were added.
  public internal(set) var added = 0
  /// How many items were changed, or had their images changed.
  public internal(set) var updated = 0
  /// How many items were deleted because the files no longer have them.
  public internal(set) var deleted = 0
  /// How many items have not changed in the files.
  public internal(set) var unchanged = 0
  /// How many categories were added, changed or deleted.
  public internal(set) var categories = 0
  /// How many images were added, changed or deleted.
  public internal(set) var images = 0
  /// What could not be read or stored, and remarks, such as conflicting changes of the file and the journal.
  public internal(set) var problems: [LegacyProblem] = []

  /// Whether everything in the files is in the journal.
  public var isComplete: Bool { !problems.contains(where: \.isLoss) }

  mutating func note(_ place: String, _ reason: String, isLoss: Bool = false) {
    problems.append(LegacyProblem(place, reason, isLoss: isLoss))
  }

  /// - Parameters:
  ///   - part: what both sides have changed.
  ///   - entity: whose history has the journal's value.
  mutating func noteConflict(_ place: String, _ part: String, of entity: String, used: String = "value") {
    note(
      place,
      "\(part) was changed both in the journal and in the file; the file's \(used) is used, and the history of "
        + "\(entity) has the other one")
  }

  mutating func noteReturn(_ place: String, of deleted: String) {
    note(
      place, "\(deleted) was deleted in the journal but has changed in the file since, so it is added again")
  }

  mutating func noteRemoval(_ place: String, of edited: String = "it") {
    note(place, "the file no longer has \(edited), but it was changed in the journal since, so it stays")
  }
}
