import Foundation

package struct EventTally: Sendable {
  var count = 0
  /// How many events add an entity.
  var additionCount = 0
  /// About how many bytes the events have in the log.
  var byteCount = 0
  /// The newest applied entry that records an erasure; 0 if there is none.
  var newestErasure: Revision = 0

  static func += (sum: inout EventTally, other: EventTally) {
    sum.count += other.count
    sum.additionCount += other.additionCount
    sum.byteCount += other.byteCount
    sum.newestErasure = max(sum.newestErasure, other.newestErasure)
  }
}

package struct Replay<State: EventSourced>: Sendable {
  let log: any EntryLog
  let format: JournalFormat

  package init(log: any EntryLog, format: JournalFormat) {
    self.log = log
    self.format = format
  }

  /// The version at a revision, replayed from a known state: that of a layer's checkpoint, or the empty state.
  /// - Parameter faults: the read failures of the layers that back the known state.
  /// - Throws: ``JournalError`` with code `damaged` and the first revision that is missing or altered. If a layer could
  ///   not be read, throws that failure instead of errors that follow from it.
  /// - Complexity: O(n) in the number of events between the two revisions.
  package func version(
    through revision: Revision, from start: ReplayStart<State> = .empty, checking faults: ReadFaults? = nil
  ) throws(JournalError) -> (version: Version<State>, replayed: EventTally) {
    if let faults {
      return try faults.checking { () throws(JournalError) in try version(through: revision, from: start) }
    }
    var state = start.state
    let replayed = try apply(start.revision + 1, through: revision, to: &state)
    return (Version(head: try head(at: revision), state: state), replayed)
  }

  /// Applies the events of a range of entries. Pruned entries are replaced by events that make the base.
  /// - Returns: the counts of the applied events.
  @discardableResult
  func apply(
    _ first: Revision, through last: Revision, to state: inout State
  ) throws(JournalError) -> EventTally {
    var applied = EventTally()
    guard first <= last else { return applied }
    var first = first
    if let base = format.base, first <= base.head.revision {
      guard last >= base.head.revision else {
        throw base.pruned("the state of revision \(last) can't be made")
      }
      // The state is empty here, because all other states are of the base or later.
      applied.count = try base.contents().load(into: &state)
      applied.additionCount = applied.count
      applied.byteCount = base.byteCount
      first = base.head.revision + 1
      guard first <= last else { return applied }
    }
    let upcast = try EventUpcast(State.self)
    // A table that defers updates reads no entities.
    let bases = state.parts?.tables.map { $0.deferred == nil ? $0.base : nil } ?? []
    applied += try EventPipeline.run(log, first...last, upcast, over: bases) {
      event, revision throws(JournalError) in try state.apply(event, at: revision)
    }
    return applied
  }

  package func head(at revision: Revision) throws(JournalError) -> Head { try log.head(at: revision, format) }

  /// Checks the digests of a range of entries. Fails at the first one that does not follow from the digest before it,
  /// or that differs from the acknowledged one.
  /// - Parameters:
  ///   - before: the digest that the first entry must follow; nil for any, except at the start of history.
  ///   - isOver: called after each entry; returns whether to end there.
  ///   - body: called with each entry that was checked.
  /// - Returns: the newest entry that was checked.
  @discardableResult
  func checkDigests(
    from first: Revision, through last: Revision, before: ContentDigest? = nil, mark: LogMark? = nil,
    until isOver: (Revision) -> Bool = { _ in false },
    each body: (EntryDecoder) throws(JournalError) -> Void = { _ in }
  ) throws(JournalError) -> Revision {
    let start = format.head
    if let mark, mark.revision == start.revision, mark.digest != start.digest {
      throw JournalError(
        .damaged,
        "history begins with another entry than the one that was acknowledged; restore the journal from a "
          + "backup", revision: start.revision)
    }
    guard last > start.revision else { return start.revision }
    var previous: ContentDigest? = before ?? (first <= start.revision + 1 ? start.digest : nil)
    var checked = max(first, start.revision + 1) - 1
    var goesOn = true
    try unsafe log.read(checked + 1...last, newestFirst: false) { revision, bytes throws(JournalError) in
      guard revision == checked + 1 else { throw JournalError.missing(checked + 1) }
      let entry = unsafe EntryDecoder(bytes, revision: revision)
      let (header, digest) = try entry.headerAndDigest(journal: format.id)
      let follows = previous == nil || previous == header.previousDigest
      guard follows, entry.revision != mark?.revision || digest == mark?.digest else {
        throw JournalError(
          .damaged, "the entry is not the one that was acknowledged; restore the journal from a backup",
          revision: entry.revision)
      }
      try body(entry)
      previous = digest
      checked = entry.revision
      goesOn = !isOver(checked)
      return goesOn
    }
    guard checked == last || !goesOn else { throw JournalError.missing(checked + 1) }
    return checked
  }
}

extension EntryLog {
  /// The number, date and digest of an entry.
  package func head(at revision: Revision, _ format: JournalFormat) throws(JournalError) -> Head {
    let start = format.head
    guard revision > start.revision else {
      if let base = format.base, revision < start.revision {
        throw base.pruned("there is no entry \(revision) any more")
      }
      return start
    }
    return try read(revision) { entry throws(JournalError) in
      Head(revision: revision, timestamp: try entry.date(), digest: try entry.digest(journal: format.id))
    }
  }
}
