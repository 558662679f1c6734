/// The metadata, for programs, of entries that restore something.
enum RestoreMetadata {
  /// The revision whose state an entry restored.
  static let restores = "journal.restores"
  /// The revision that an entry reverted.
  static let reverts = "journal.reverts"
  /// The revision that an author undid; the entry also reverts it.
  static let undoes = "journal.undoes"
  /// The revision that an author redid; the entry reverts the undo.
  static let redoes = "journal.redoes"
  /// The journal, revision and digest of the state that a copy began with.
  static let copyOf = "journal.copyOf"
}

extension EntryAnnotation {
  /// The revision that the entry reverts, nil if it is not a revert.
  var reverted: Revision? { metadata[RestoreMetadata.reverts].flatMap { Revision($0) } }

  /// The revision whose values the entry restored, nil if it restored none.
  var source: Revision? {
    metadata[RestoreMetadata.restores].flatMap { Revision($0) } ?? reverted.map { $0 - 1 }
  }
}
