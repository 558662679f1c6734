/// The metadata, for programs, of entries that restore something.
enum RestoreMetadata {
  /// The revision whose state an entry restored.
  static let restores = "journal.restores"
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

/// The default notes of reverts, undos and redos. They quote the first line of another entry's note, and an erasure of
/// that note finds them by this form.
enum RevertNote: String, CaseIterable {
  case revert = "reverted"
  case undo = "undid"
  case redo = "redid what was undone by"

  /// `undid entry 12: spelling`
  func text(of revision: Revision, quoting note: String) -> String {
    let subject = note.subject
    return "\(rawValue) entry \(revision)" + (subject.isEmpty ? "" : ": \(subject)")
  }

  /// What the note of an entry that reverts another one quotes of that one's note; nil if it does not have this form.
  static func quotation(in annotation: EntryAnnotation) -> Substring? {
    guard let reverted = annotation.reverted else { return nil }
    for form in allCases {
      let start = "\(form.rawValue) entry \(reverted): "
      if annotation.note.hasPrefix(start) { return annotation.note.dropFirst(start.count) }
    }
    return nil
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
