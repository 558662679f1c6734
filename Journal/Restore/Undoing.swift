extension Journal {
  /// Plans to undo an author's newest entry that is not undone yet; nil if there is none. Entries that changed nothing
  /// that can be undone, such as those that made a tag, don't count, and neither do those that others have taken back.
  /// With ``LaterEdits/keep``, neither do those of which nothing is left to undo, because later edits changed it all.
  ///
  /// It depends only on the log, so it still works after the app is relaunched. Entries of other authors in between are
  /// kept; if they changed the same parts later, the plan has conflicts.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since the one that is undone, and as ``planRevert(of:later:)``.
  public func planUndo(by author: String, later: LaterEdits = .refuse) throws -> RestorePlan? {
    var undone: Set<Revision> = []
    var redone: Set<Revision> = []
    let cursor = entries(newestFirst: true)
    while let entry = try cursor.next() {
      guard entry.isBy(author) else { continue }
      if entry.metadata[RestoreMetadata.redoes] != nil {
        if let revision = entry.reverted { redone.insert(revision) }
      } else if entry.metadata[RestoreMetadata.undoes] != nil {
        if !redone.contains(entry.revision), let revision = entry.reverted { undone.insert(revision) }
      } else if !undone.contains(entry.revision), entry.isUndoable(State.self) {
        let plan = try planTakingBack(
          entry, later, action: .undo(entry.revision), verb: "undid",
          metadata: [
            RestoreMetadata.undoes: "\(entry.revision)", RestoreMetadata.reverts: "\(entry.revision)",
          ])
        if let plan { return plan }
      }
    }
    return nil
  }

  /// Plans to redo what an author undid last; nil if there is nothing to redo, or the author has changed
  /// something else since. Undone entries whose changes others have made again don't count. With ``LaterEdits/keep``,
  /// neither do those of which nothing is left to redo.
  /// - Throws: ``JournalError`` if the log can't be read.
  /// - Complexity: O(m) in the number of entries since the undo, and as ``planRevert(of:later:)``.
  public func planRedo(by author: String, later: LaterEdits = .refuse) throws -> RestorePlan? {
    var redone: Set<Revision> = []
    let cursor = entries(newestFirst: true)
    while let entry = try cursor.next() {
      guard entry.isBy(author) else { continue }
      if entry.metadata[RestoreMetadata.redoes] != nil {
        if let revision = entry.reverted { redone.insert(revision) }
      } else if let original = RestoreMetadata.revision(RestoreMetadata.undoes, in: entry.metadata) {
        if redone.contains(entry.revision) { continue }
        let plan = try planTakingBack(
          entry, later, action: .redo(original), verb: "redid what was undone by",
          metadata: [
            RestoreMetadata.redoes: "\(original)", RestoreMetadata.reverts: "\(entry.revision)",
          ])
        if let plan { return plan }
      } else if entry.isUndoable(State.self) {
        return nil
      }
    }
    return nil
  }

  /// Plans to revert an entry; nil if others have done so already, so that there is nothing to revert and no conflict, or
  /// if nothing is left to revert once later edits are kept.
  ///
  /// A plan without changes makes no entry, so the next undo would find the same entry again.
  private func planTakingBack(
    _ entry: Entry, _ later: LaterEdits, action: RestorePlan.Action, verb: String, metadata: [String: String]
  ) throws -> RestorePlan? {
    func plan(_ later: LaterEdits) throws -> RestorePlan {
      try planRevert(of: entry, later, action: action, verb: verb, metadata: metadata)
    }
    let refusing = try plan(.refuse)
    if refusing.isEmpty, refusing.conflicts.isEmpty { return nil }
    if later == .refuse { return refusing }
    let asked = try plan(later)
    return asked.isEmpty ? nil : asked
  }
}

extension Entry {
  /// Whether that author made the entry; false if its author was erased.
  fileprivate func isBy(_ author: String) -> Bool { !isAnnotationErased && self.author == author }

  /// The revision that the entry reverts, nil if it is not a revert.
  fileprivate var reverted: Revision? { RestoreMetadata.revision(RestoreMetadata.reverts, in: metadata) }

  /// Whether the entry changed anything that can be undone.
  package func isUndoable<State: EventSourced>(_: State.Type) -> Bool {
    events.contains { $0.isUndoable(State.self) }
  }
}

extension JournalEvent {
  /// Whether it can be undone. Otherwise a restore leaves such entities as they are, or its content was erased.
  func isUndoable<State: EventSourced>(_: State.Type) -> Bool {
    if case .erased = change { return false }
    return State.isRestored(entity.kind)
  }
}
