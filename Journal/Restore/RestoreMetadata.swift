/// The metadata keys, for programs, of entries that restore or copy earlier values.
enum RestoreMetadata {
  /// The revision whose state an entry restored.
  static let restores = "journal.restores"
  static let reverts = "journal.reverts"
  /// The revision that an author undid. The entry also has this revision under `reverts`.
  static let undoes = "journal.undoes"
  /// The revision that an author redid. The entry has the revision of the undo under `reverts`.
  static let redoes = "journal.redoes"
  /// The undo group of an entry: any text of the app.
  static let group = "journal.group"

  /// The revision under a key; nil if the value is missing or invalid. Any program can write metadata.
  static func revision(_ key: String, in metadata: [String: String]) -> Revision? {
    metadata[key].flatMap { Revision($0) }.flatMap { (0..<NumberLimit.revision).contains($0) ? $0 : nil }
  }

  /// The most ranges in a list of revisions, which bounds the time to read a list that another program wrote.
  static let rangeLimit = 4096

  /// The revisions under a key: a single one or, for an undo group, an ascending list such as `5-7,9`. Empty if the
  /// value is missing, or in another form than ``text(of:)`` writes.
  static func revisions(_ key: String, in metadata: [String: String]) -> RangeSet<Revision> {
    var revisions = RangeSet<Revision>()
    var end: Revision = -1
    let parts = (metadata[key] ?? "")
      .split(separator: ",", maxSplits: rangeLimit, omittingEmptySubsequences: false)
    if parts.count > rangeLimit { return revisions }
    for part in parts {
      let ends = part.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        .map { Revision($0) ?? -1 }
      guard (1...2).contains(ends.count), end < ends[0], ends[0] <= ends[ends.count - 1],
        ends[ends.count - 1] < NumberLimit.revision
      else { return RangeSet() }
      end = ends[ends.count - 1] + 1
      revisions.insert(contentsOf: ends[0]..<end)
    }
    return revisions
  }

  /// The revisions of entries as metadata: a list such as `5-7,9`.
  static func text(of entries: [Entry]) -> String { text(of: ranges(of: entries)[...]) }

  static func ranges(of entries: [Entry]) -> [Range<Revision>] {
    Array(RangeSet(entries.map { $0.revision..<$0.revision + 1 }).ranges)
  }

  static func text(of ranges: ArraySlice<Range<Revision>>) -> String {
    ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound - 1)" }
      .joined(separator: ",")
  }
}

/// The default notes of reverts, undos and redos. They quote the first line of another entry's note, and an erasure of
/// that note finds them by this form.
package enum RevertNote: String, CaseIterable {
  case revert = "reverted"
  case undo = "undid"
  case redo = "redid what was undone by"

  /// The default note: `undid entry 12: spelling` or, for several entries, `undid entries 5-7,9,12 and 8 others`.
  func text(of entries: [Entry]) -> String {
    guard entries.count == 1 else {
      let ranges = RestoreMetadata.ranges(of: entries)
      let others = ranges.dropFirst(3).reduce(0) { $0 + $1.count }
      return "\(rawValue) entries \(RestoreMetadata.text(of: ranges.prefix(3)))"
        + (others == 0 ? "" : " and \(others) other\(others == 1 ? "" : "s")")
    }
    let subject = entries[0].note.subject
    return "\(rawValue) entry \(entries[0].revision)" + (subject.isEmpty ? "" : ": \(subject)")
  }

  /// What the note of an entry that reverts another one quotes of that one's note; nil if it does not have this form.
  package static func quotation(in annotation: EntryAnnotation) -> Substring? {
    guard let reverted = annotation.reverted else { return nil }
    for form in allCases {
      let start = "\(form.rawValue) entry \(reverted): "
      if annotation.note.hasPrefix(start) { return annotation.note.dropFirst(start.count) }
    }
    return nil
  }
}

extension EntryAnnotation {
  /// The only revision that the entry reverts, nil if it is not the revert of one entry.
  package var reverted: Revision? { RestoreMetadata.revision(RestoreMetadata.reverts, in: metadata) }

  /// The revisions that the entry reverts: several if the entry undoes a group, none if it is not a revert.
  var allReverted: RangeSet<Revision> { RestoreMetadata.revisions(RestoreMetadata.reverts, in: metadata) }

  /// The revisions whose values the entry may have restored, newest first: the restored revision or, for a revert, the
  /// revision before each range of reverted entries. Empty for any other entry.
  var sources: [Revision] {
    if let restored = RestoreMetadata.revision(RestoreMetadata.restores, in: metadata) { return [restored] }
    return allReverted.ranges.reversed().map { max($0.lowerBound - 1, 0) }
  }
}
