extension Journal {
  /// Plans to undo an author's newest entry that is not undone yet; nil if there is none. Entries that changed nothing
  /// that can be undone, such as those that made a tag, don't count, nor do those that changed a rule or made a migration, and neither do those that others have taken back.
  /// With ``LaterEdits/keep``, neither do those of which nothing is left to undo, because later edits changed it all.
  /// If others have reverted an undo, its entry can be undone again.
  ///
  /// Entries of the author with the same metadata `journal.group` and no other entry of the author in between are one
  /// step: a plan undoes them together, and its entry is redone as a whole.
  ///
  /// The plan depends only on the log, so undo still works after the app is relaunched. Entries of other authors are
  /// kept; if they changed the same parts later, or deleted what the earlier values refer to, the plan has conflicts.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since the one that is undone, and as ``planRevert(of:later:)``. If the
  ///   result is nil, m is the number of all entries. The events of other authors are not decoded.
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

  /// The entry that ``planUndo(by:later:)`` begins with, of a group the newest, for the title of a menu item; nil if there
  /// is nothing to undo.
  /// Whether others have changed or taken back the same parts since is left to the plan.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since that one, of which only the headers and annotations are read.
  public func entryToUndo(by author: String) throws -> Entry? {
    try settled {
      try firstUndoable(by: author, asksGroup: false) { $0[0] }
    }
  }

  /// The first result for an author's entries that are not undone, newest first, each with those of its group.
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
        // The group ends at the author's next other entry, which is looked at as the next one.
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

  /// Plans to redo what an author undid last; nil if there is nothing to redo, or the author has changed
  /// something else since. Undone entries whose changes others have made again don't count. With ``LaterEdits/keep``,
  /// neither do those of which nothing is left to redo. If others have reverted a redo, its entry can be redone again.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since the undo, and as ``planRevert(of:later:)``. If the result is
  ///   nil, m is the number of entries since the author's last other change, or of all entries. The events of other
  ///   authors are not decoded.
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

  /// The undone entry that ``planRedo(by:later:)`` begins with, of a group the newest, for the title of a menu item; nil if
  /// there is nothing to redo.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: as ``entryToUndo(by:)``.
  public func entryToRedo(by author: String) throws -> Entry? {
    try settled {
      try firstRedoable(by: author) { _, original in try entry(at: original) }
    }
  }

  /// The first result for an author's undos, with the entries that they undid, newest first.
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

  /// Plans to revert entries as one; nil if others have done so already, so that there is nothing to revert and no conflict, or
  /// if nothing is left to revert once later edits are kept.
  ///
  /// A plan without changes makes no entry, so the next undo would find the same entry again.
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

/// What undo and redo need of an entry.
private struct AuthoredEntry {
  let revision: Revision
  /// The revisions that the entry reverts; none if it is not a revert.
  let reverted: RangeSet<Revision>
  /// The newest revision that it undid, nil if it is not an undo.
  let undone: Revision?
  let isRedo: Bool
  /// Its undo group.
  let group: String?
  /// Whether no later entry has reverted it. Reverts that were reverted themselves don't count.
  let stands: Bool
}

/// Finds entries of an author, newest first. It reads headers and annotations, but no events.
private final class AuthoredEntries {
  private let log: any EntryLog
  private let author: String
  /// The newest entry that was not read yet.
  private var newest: Revision
  private let end: Revision
  /// The entries that an entry read so far has reverted, if that one was not reverted itself.
  private var reverted = RangeSet<Revision>()

  /// - Parameter end: the revision at which the entries end; it is not read.
  init(_ log: any EntryLog, by author: String, newest: Revision, end: Revision) {
    self.log = log
    self.author = author
    self.newest = newest
    self.end = end
  }

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

  /// Whether the entry changed what restores leave as it is and states keep, such as a rule or a migration. An undo would
  /// take back only the rest.
  func bindsOthers<State: EventSourced>(_: State.Type) -> Bool {
    events.contains { !State.isRestored($0.entity.kind) && State.isCopied($0.entity.kind) }
  }
}

extension JournalEvent {
  /// Whether it can be undone. Otherwise a restore leaves such entities as they are, or its content was erased.
  func isUndoable<State: EventSourced>(_: State.Type) -> Bool {
    if case .erased = change { return false }
    return State.isRestored(entity.kind)
  }
}
