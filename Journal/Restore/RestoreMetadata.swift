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

  /// The revision under one of these keys; nil if there is none. Any program can write metadata.
  static func revision(_ key: String, in metadata: [String: String]) -> Revision? {
    metadata[key].flatMap { Revision($0) }.flatMap { (0..<NumberLimit.revision).contains($0) ? $0 : nil }
  }
}

extension EntryAnnotation {
  /// The revision that the entry reverts, nil if it is not a revert.
  var reverted: Revision? { RestoreMetadata.revision(RestoreMetadata.reverts, in: metadata) }

  /// The revision whose values the entry restored, nil if it restored none.
  var source: Revision? {
    RestoreMetadata.revision(RestoreMetadata.restores, in: metadata)
      ?? reverted.map { max($0 - 1, 0) }
  }
}
