extension Journal {
  /// The revision that a selector names now.
  /// - Throws: ``JournalError`` with code `notFound` for one that does not exist yet, `pruned` for one that was pruned,
  ///   `invalidSelector` for an unknown tag, a date that is not a number, and digits that could be a revision or a year,
  ///   or `damaged`.
  /// - Complexity: O(1) for numbers, O(log n) reads of entries for a date, O(t) for a tag if there are t.
  public func revision(at selector: RevisionSelector) throws -> Revision {
    try settled {
      let points = PointFinder(log: log, format: format, newest: head.revision)
      switch selector.form {
      case .tag(let name):
        let tagged = state.revision(tagged: name)
        try chain.faults.check()
        guard let revision = tagged else { throw RevisionSelector.unknown(name) }
        return try points.existing(revision)
      case .entity(let name, let upTo):
        let entity = try State.entity(named: name)
        let point = try upTo.first.map { try self.revision(at: $0) } ?? points.newest
        let revision = try newestEvent(of: entity, atOrBefore: point)
        guard revision > 0 else {
          throw JournalError(.notFound, "\(name) did not exist at revision \(point)")
        }
        return try points.existing(revision)
      case .start, .revision, .revisionOrYear, .head, .date, .noDate: return try points.revision(at: selector)
      }
    }
  }

  /// The entry at a point where a window of entries begins or ends, and the point's date if it is one. Unlike
  /// ``revision(at:)``, it accepts dates before the base of a pruned history, and the entry is before the date.
  package func border(at selector: RevisionSelector) throws -> (revision: Revision, date: Timestamp?) {
    try settled {
      if selector.isOfState { return (try revision(at: selector), nil) }
      return try PointFinder(log: log, format: format, newest: head.revision).border(at: selector)
    }
  }

  /// The state at a point in time.
  /// - Throws: ``JournalError`` as ``revision(at:)`` does, or if the state can't be read.
  /// - Complexity: O(1) for the newest state, otherwise O(m) in the number of events since the checkpoint before it. An
  ///   entity of a catalog is read from the layers when it is asked for, even if some of these events update it.
  public func state(asOf selector: RevisionSelector) throws -> State { try version(asOf: selector).state }

  /// The state at a point in time together with the entry that made it.
  /// - Throws: ``JournalError``, as ``state(asOf:)`` does.
  /// - Complexity: that of ``state(asOf:)``.
  public func version(asOf selector: RevisionSelector) throws -> Version<State> {
    try settled { try version(at: try revision(at: selector)) }
  }

  /// The version at a revision, from the nearest checkpoint before it, or from a known version if that is nearer.
  package func version(
    at revision: Revision, from known: Version<State>? = nil
  ) throws(JournalError) -> Version<State> {
    let newest = version
    if revision == newest.revision { return newest }
    var start: ReplayStart<State> = chain.start(
      atOrBefore: revision, defersUpdates: State.self is any DefersUpdates.Type)
    if let known, known.revision > start.revision, known.revision <= revision {
      start = ReplayStart(revision: known.revision, state: known.state, eventCount: 0)
    }
    let found = try replayed(through: revision, from: start).version
    found.state.adopt(options)
    return found
  }

  /// The version at a revision, from the nearest checkpoint before it, and how many events the entries up to it
  /// have.
  /// - Parameter start: a known version from which to start instead.
  /// - Throws: ``JournalError``; what could not be read, rather than what followed from that.
  func replayed(
    through revision: Revision, from start: ReplayStart<State>? = nil
  ) throws(JournalError) -> (version: Version<State>, eventCount: Int) {
    let start = start ?? chain.start(atOrBefore: revision)
    let (version, replayed) = try Replay<State>(log: log, format: format).version(
      through: revision, from: start, checking: chain.faults)
    return (version, start.eventCount + replayed.count)
  }
}
