extension Journal {
  /// Plans to undo an author's newest entry that is not undone yet; nil if there is none.
  ///
  /// Some entries are skipped: entries that changed nothing that can be undone, such as those that made a tag; entries
  /// that changed a rule or made a migration; entries that others have reverted; and with ``LaterEdits/keep``, entries
  /// all of whose parts were changed later. If others have reverted an undo, the undone entry can be undone again.
  ///
  /// Entries of the author with equal metadata `journal.group` and no other entry of the author in between are one
  /// step: a plan undoes them together, and one redo restores them together.
  ///
  /// The plan depends only on the log, so undo still works after the app is relaunched. Entries of other authors stay.
  /// If they changed the same parts later, or deleted an entity that the earlier values name, the plan has conflicts.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) for the m entries since the undone one, and as ``planRevert(of:later:)``. If the result is nil,
  ///   m is the number of all entries. The events of other authors are not decoded.
  public func planUndo(by author: String, later: LaterEdits = .refuse) throws -> RestorePlan? {
    try settled {
      try firstUndoable(by: author) { entries in
        let text = RestoreMetadata.text(of: entries)
        return try planTakingBack(
          entries, later, action: .undo(entries[0].revision), note: .undo,
          metadata: [RestoreMetadata.undoes: text, RestoreMetadata.reverts: text])
      }
    }
  }

  /// The newest entry that ``planUndo(by:later:)`` would undo, for the title of a menu item; nil if there is nothing to
  /// undo. Does not check whether other authors have changed or reverted the same parts since.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) for the m entries since the returned one. Only their headers and annotations are read.
  public func entryToUndo(by author: String) throws -> Entry? {
    try settled {
      try firstUndoable(by: author, asksGroup: false) { $0[0] }
    }
  }

  /// Calls `body` with an author's entries that are not undone, newest first, one group at a time, and returns the
  /// first result that is not nil.
  private func firstUndoable<Result>(
    by author: String, asksGroup: Bool = true, _ body: ([Entry]) throws -> Result?
  ) throws -> Result? {
    var undone = RangeSet<Revision>()
    let authored = authoredEntries(by: author)
    func isLeft(_ found: AuthoredEntry) -> Bool {
      if found.isRedo { return false }
      if found.undone == nil { return !undone.contains(found.revision) }
      if found.stands { undone.formUnion(found.reverted) }
      return false
    }
    func undoable(_ found: AuthoredEntry) throws -> Entry? {
      let entry = try entry(at: found.revision)
      return entry.isUndoable(State.self) && !entry.bindsOthers(State.self) ? entry : nil
    }
    var next = try authored.next(where: isLeft)
    while let found = next {
      var entries = [try undoable(found)].compactMap { $0 }
      next = nil
      if asksGroup, let group = found.group {
        var rangeCount = 1
        // The author's first entry that is no member ends the group. The search continues with that entry.
        while let member = try authored.next(where: { _ in true }) {
          let isNew = entries.last.map { $0.revision != member.revision + 1 } ?? false
          let isMember =
            member.group == group && member.undone == nil && !member.isRedo && isLeft(member)
            && !(isNew && rangeCount == RestoreMetadata.rangeLimit)
          guard isMember else {
            next = isLeft(member) ? member : nil
            break
          }
          guard let entry = try undoable(member) else { continue }
          if isNew { rangeCount += 1 }
          entries.append(entry)
        }
      }
      if !entries.isEmpty, let result = try body(entries) { return result }
      if next == nil { next = try authored.next(where: isLeft) }
    }
    return nil
  }

  /// Plans to redo the entries that an author's newest undo has undone; nil if there is nothing to redo, or the author
  /// has made another change since.
  ///
  /// Undone entries whose changes another author has made again are skipped; with ``LaterEdits/keep``, also those of
  /// which nothing is left to redo. If another author has reverted a redo, the entry can be redone again.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) for the m entries since the undo, and as ``planRevert(of:later:)``. If the result is nil, m
  ///   counts the entries since the author's last other change, or all. The events of other authors are not decoded.
  public func planRedo(by author: String, later: LaterEdits = .refuse) throws -> RestorePlan? {
    try settled {
      try firstRedoable(by: author) { undo, original in
        try planTakingBack(
          [undo], later, action: .redo(original), note: .redo,
          metadata: [
            RestoreMetadata.redoes: undo.metadata[RestoreMetadata.undoes] ?? "",
            RestoreMetadata.reverts: "\(undo.revision)",
          ])
      }
    }
  }

  /// The newest undone entry that ``planRedo(by:later:)`` would redo, for a menu item's title; nil if there is none.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: as ``entryToUndo(by:)``.
  public func entryToRedo(by author: String) throws -> Entry? {
    try settled {
      try firstRedoable(by: author) { _, original in try entry(at: original) }
    }
  }

  /// Calls `body` with an author's undos that are not redone, newest first, each with the newest revision that it
  /// undid. Returns the first result that is not nil.
  private func firstRedoable<Result>(
    by author: String, _ body: (_ undo: Entry, _ original: Revision) throws -> Result?
  ) throws -> Result? {
    var redone = RangeSet<Revision>()
    let authored = authoredEntries(by: author)
    func isLeft(_ found: AuthoredEntry) -> Bool {
      if !found.isRedo { return !redone.contains(found.revision) }
      if found.stands { redone.formUnion(found.reverted) }
      return false
    }
    while let found = try authored.next(where: isLeft) {
      let entry = try entry(at: found.revision)
      if let original = found.undone {
        if let result = try body(entry, original) { return result }
      } else if entry.isUndoable(State.self), !entry.bindsOthers(State.self) {
        return nil
      }
    }
    return nil
  }

  private func authoredEntries(by author: String) -> AuthoredEntries {
    AuthoredEntries(log, by: author, newest: head.revision, end: format.head.revision)
  }

  /// Plans to revert several entries with one entry; nil if other authors have already reverted them all, or if nothing
  /// is left to revert because later edits are kept.
  ///
  /// An empty plan would make no entry, so the next undo would find the same entries again.
  private func planTakingBack(
    _ entries: [Entry], _ later: LaterEdits, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String]
  ) throws -> RestorePlan? {
    func plan(_ later: LaterEdits) throws -> RestorePlan {
      try planRevert(of: entries, later, action: action, note: note, metadata: metadata)
    }
    let refusing = try plan(.refuse)
    if refusing.isEmpty, refusing.conflicts.isEmpty { return nil }
    if later == .refuse { return refusing }
    let asked = try plan(later)
    return asked.isEmpty ? nil : asked
  }
}

/// The part of an entry that undo and redo need.
private struct AuthoredEntry {
  let revision: Revision
  /// The revisions that the entry reverts; none if it is not a revert.
  let reverted: RangeSet<Revision>
  /// The newest revision that the entry undid; nil if the entry is not an undo.
  let undone: Revision?
  let isRedo: Bool
  /// The undo group of the entry; nil if it has none.
  let group: String?
  /// Whether no later entry has reverted this one. A later revert that was itself reverted does not count.
  let stands: Bool
}

/// Finds entries of an author, newest first. Reads headers and annotations, but no events.
private final class AuthoredEntries {
  private let log: any EntryLog
  private let author: String
  /// The newest revision that was not read yet.
  private var newest: Revision
  private let end: Revision
  /// The revisions that were reverted by entries read so far, except by entries that were reverted themselves.
  private var reverted = RangeSet<Revision>()

  /// - Parameter end: the revision before the first entry.
  init(_ log: any EntryLog, by author: String, newest: Revision, end: Revision) {
    self.log = log
    self.author = author
    self.newest = newest
    self.end = end
  }

  /// Returns the author's next older entry for which `isAskedFor` is true; nil if none is left.
  /// - Parameter isAskedFor: called with each entry of the author.
  func next(where isAskedFor: (AuthoredEntry) -> Bool) throws(JournalError) -> AuthoredEntry? {
    guard newest > end else { return nil }
    var found: AuthoredEntry?
    try log.readBack(from: newest) { entry throws(JournalError) in
      newest = entry.revision - 1
      // An entry whose annotation was erased has no author any more.
      if let own = try entry.annotation().flatMap({ pass($0, at: entry.revision) }), isAskedFor(own) {
        found = own
      }
      return found == nil && newest > end ? newest : nil
    }
    return found
  }

  private func pass(_ annotation: EntryAnnotation, at revision: Revision) -> AuthoredEntry? {
    let stands = !reverted.contains(revision)
    let targets = annotation.allReverted
    if stands { reverted.formUnion(targets) }
    guard annotation.author == author else { return nil }
    let metadata = annotation.metadata
    return AuthoredEntry(
      revision: revision, reverted: targets,
      undone: RestoreMetadata.revisions(RestoreMetadata.undoes, in: metadata).ranges.last.map {
        $0.upperBound - 1
      },
      isRedo: metadata[RestoreMetadata.redoes] != nil, group: metadata[RestoreMetadata.group], stands: stands)
  }
}

extension Entry {
  /// Whether the entry changed anything that can be undone.
  package func isUndoable<State: EventSourced>(_: State.Type) -> Bool {
    events.contains { $0.isUndoable(State.self) }
  }

  /// Whether the entry changed an entity that restores leave as it is and that copies keep, such as a rule or a
  /// migration. An undo would revert only the other changes of the entry.
  func bindsOthers<State: EventSourced>(_: State.Type) -> Bool {
    events.contains { !State.isRestored($0.entity.kind) && State.isCopied($0.entity.kind) }
  }
}

extension JournalEvent {
  /// Whether the event can be undone: its content was not erased, and restores change entities of its kind.
  func isUndoable<State: EventSourced>(_: State.Type) -> Bool {
    if case .erased = change { return false }
    return State.isRestored(entity.kind)
  }
}
