extension Journal {
  /// Plans to undo an author's newest entry that is not undone yet; nil if there is none. Entries that changed nothing
  /// that can be undone, such as those that made a tag, don't count, nor do those that changed a rule or made a migration, and neither do those that others have taken back.
  /// With ``LaterEdits/keep``, neither do those of which nothing is left to undo, because later edits changed it all.
  /// If others have reverted an undo, its entry can be undone again.
  ///
  /// The plan depends only on the log, so undo still works after the app is relaunched. Entries of other authors are
  /// kept; if they changed the same parts later, or deleted what the earlier values refer to, the plan has conflicts.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since the one that is undone, and as ``planRevert(of:later:)``. If the
  ///   result is nil, m is the number of all entries. The events of other authors are not decoded.
  public func planUndo(by author: String, later: LaterEdits = .refuse) throws -> RestorePlan? {
    try firstUndoable(by: author) { entry in
      try planTakingBack(
        entry, later, action: .undo(entry.revision), note: .undo,
        metadata: [
          RestoreMetadata.undoes: "\(entry.revision)", RestoreMetadata.reverts: "\(entry.revision)",
        ])
    }
  }

  /// The entry that ``planUndo(by:later:)`` begins with, for the title of a menu item; nil if there is nothing to undo.
  /// Whether others have changed or taken back the same parts since is left to the plan.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since that one, of which only the headers and annotations are read.
  public func entryToUndo(by author: String) throws -> Entry? { try firstUndoable(by: author) { $0 } }

  /// The first result for an author's entries that are not undone, newest first.
  private func firstUndoable<Result>(by author: String, _ body: (Entry) throws -> Result?) throws -> Result? {
    var undone: Set<Revision> = []
    let authored = authoredEntries(by: author)
    func isLeft(_ found: AuthoredEntry) -> Bool {
      if found.isRedo { return false }
      if found.undone == nil { return !undone.contains(found.revision) }
      if found.stands, let revision = found.reverted { undone.insert(revision) }
      return false
    }
    while let found = try authored.next(where: isLeft) {
      let entry = try entry(at: found.revision)
      if entry.isUndoable(State.self), !entry.bindsOthers(State.self), let result = try body(entry) {
        return result
      }
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
    try firstRedoable(by: author) { entry, original in
      try planTakingBack(
        entry, later, action: .redo(original), note: .redo,
        metadata: [
          RestoreMetadata.redoes: "\(original)", RestoreMetadata.reverts: "\(entry.revision)",
        ])
    }
  }

  /// The undone entry that ``planRedo(by:later:)`` begins with, for the title of a menu item; nil if there is nothing to
  /// redo.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: as ``entryToUndo(by:)``.
  public func entryToRedo(by author: String) throws -> Entry? {
    try firstRedoable(by: author) { _, original in try entry(at: original) }
  }

  /// The first result for an author's undos, with the entries that they undid, newest first.
  private func firstRedoable<Result>(
    by author: String, _ body: (_ undo: Entry, _ original: Revision) throws -> Result?
  ) throws -> Result? {
    var redone: Set<Revision> = []
    let authored = authoredEntries(by: author)
    func isLeft(_ found: AuthoredEntry) -> Bool {
      if !found.isRedo { return !redone.contains(found.revision) }
      if found.stands, let revision = found.reverted { redone.insert(revision) }
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

  /// Plans to revert an entry; nil if others have done so already, so that there is nothing to revert and no conflict, or
  /// if nothing is left to revert once later edits are kept.
  ///
  /// A plan without changes makes no entry, so the next undo would find the same entry again.
  private func planTakingBack(
    _ entry: Entry, _ later: LaterEdits, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String]
  ) throws -> RestorePlan? {
    func plan(_ later: LaterEdits) throws -> RestorePlan {
      try planRevert(of: entry, later, action: action, note: note, metadata: metadata)
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
  /// The revision that the entry reverts, nil if it is not a revert.
  let reverted: Revision?
  /// The revision that it undid, nil if it is not an undo.
  let undone: Revision?
  let isRedo: Bool
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
  private var reverted: Set<Revision> = []

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
    if stands, let target = annotation.reverted { reverted.insert(target) }
    guard annotation.author == author else { return nil }
    return AuthoredEntry(
      revision: revision, reverted: annotation.reverted,
      undone: RestoreMetadata.revision(RestoreMetadata.undoes, in: annotation.metadata),
      isRedo: annotation.metadata[RestoreMetadata.redoes] != nil, stands: stands)
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
