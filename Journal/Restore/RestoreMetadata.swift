/// What entries that bring something back say of themselves in their metadata, for machines to read.
enum RestoreMetadata {
  /// The revision whose state an entry brought back.
  static let restores = "journal.restores"
  /// The revision that an entry reverted.
  static let reverts = "journal.reverts"
  /// The revision that an author undid; such an entry reverts it, too.
  static let undoes = "journal.undoes"
  /// The revision that an author did again; such an entry reverts the one that had undone it.
  static let redoes = "journal.redoes"
  /// The journal, revision and digest whose state a journal began with.
  static let copyOf = "journal.copyOf"
}

extension EntryAnnotation {
  /// The revision that the entry reverts, nil when it is no revert.
  var reverted: Revision? { metadata[RestoreMetadata.reverts].flatMap { Revision($0) } }

  /// The revision whose values the entry brought back, nil when it brought none back.
  var source: Revision? {
    metadata[RestoreMetadata.restores].flatMap { Revision($0) } ?? reverted.map { $0 - 1 }
  }
}
