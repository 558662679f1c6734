extension EntityTable {
  /// Runs an event on the entity that it names.
  ///
  /// A model with a kind of entities in this table needs no more than this. It checks that the event follows
  /// from the state, and nothing about the record: that is for the verbs of the draft.
  /// - Parameter state: gives the entity its name in errors.
  /// - Returns: the entity before and after the event, nil where it is not there, for indexes to follow.
  /// - Throws: ``JournalError`` with code `damaged` when the event adds what is there, changes or deletes what
  ///   is not, follows another event than the newest one of its entity, or adds a number out of order. Then
  ///   nothing has changed.
  /// - Complexity: O(log n)
  @discardableResult
  public mutating func apply<State: EventSourced>(
    _ event: JournalEvent, at revision: Revision, in state: State.Type
  ) throws(JournalError) -> (before: EntityRow?, after: EntityRow?) {
    if isErased(event) { return (try applyErased(event, at: revision, in: state), nil) }
    let number = event.entity.number
    switch event.change {
    case .add(let record):
      try checkAdd(event, at: revision, in: state)
      add(number, record, at: revision)
      return (nil, EntityRow(record: record, created: revision, modified: revision))
    case .update(let changes):
      let before = try checkedRow(event, at: revision, in: state)
      let after = before.applying(changes, at: revision)
      update(number, to: after)
      return (before, after)
    case .delete:
      let before = try checkedRow(event, at: revision, in: state)
      delete(number, at: revision)
      return (before, nil)
    case .erased:
      return (try applyErased(event, at: revision, in: state), nil)
    }
  }

  /// Runs an event that has lost its content to an erasure, or whose entity has: one for which
  /// ``isErased(_:)-(Event)`` holds. ``apply(_:at:in:)`` does it by itself.
  ///
  /// An erased add or update leaves an entity that is erased: gone from the table, with a revision. What follows
  /// on it is known to have happened and no more, until a deletion, which leaves an entity that is gone, or an
  /// add, which brings it back.
  /// - Returns: the entity before the event, nil where it was not there.
  /// - Throws: as ``apply(_:at:in:)`` does.
  @inline(never)
  public mutating func applyErased<State: EventSourced>(
    _ event: JournalEvent, at revision: Revision, in state: State.Type
  ) throws(JournalError) -> EntityRow? {
    let number = event.entity.number
    if event.operation == .add {
      try checkAdd(event, at: revision, in: state)
      erase(number, at: revision)
      return nil
    }
    if isErased(number) {
      guard self.revision(of: number) == event.previous else {
        throw JournalError(.damaged, link(of: event, in: state), revision: revision)
      }
      passErased(number, isDeletion: event.operation == .delete, at: revision)
      return nil
    }
    let before = try checkedRow(event, at: revision, in: state)
    if event.operation == .delete { delete(number, at: revision) } else { erase(number, at: revision) }
    return before
  }

  /// Fails unless an event may add its entity.
  package func checkAdd<State: EventSourced>(
    _ event: JournalEvent, at revision: Revision, in state: State.Type
  ) throws(JournalError) {
    if canAdd(event.entity.number, previous: event.previous) { return }
    let number = event.entity.number
    let name = State.name(of: event.entity)
    let reason =
      if !EntityKey.numbers.contains(number) {
        "\(name) can't be added: numbers go from 1 to \(EntityKey.numbers.upperBound)"
      } else if self[number] != nil {
        "\(name) can't be added: it is there"
      } else if self.revision(of: number) != event.previous {
        link(of: event, in: state)
      } else {
        "\(name) can't be added: numbers are given in order, and \(highest) was given already"
      }
    throw JournalError(.damaged, reason, revision: revision)
  }

  /// The row that an event updates or deletes, which must be there and as the event knows it.
  package func checkedRow<State: EventSourced>(
    _ event: JournalEvent, at revision: Revision, in state: State.Type
  ) throws(JournalError) -> EntityRow {
    guard let row = self[event.entity.number] else {
      throw JournalError(
        .damaged, "\(State.name(of: event.entity)) can't be changed or deleted: it is not there",
        revision: revision)
    }
    guard row.modified == event.previous else {
      throw JournalError(.damaged, link(of: event, in: state), revision: revision)
    }
    return row
  }

  /// Says that an event follows another event than the newest one of its entity.
  private func link<State: EventSourced>(of event: JournalEvent, in state: State.Type) -> String {
    "an event of \(State.name(of: event.entity)) follows its revision \(event.previous), but the newest one is "
      + "\(revision(of: event.entity.number))"
  }
}

extension EntityRow {
  /// This row after an update.
  package func applying(_ changes: RecordChanges, at revision: Revision) -> EntityRow {
    EntityRow(record: record.applying(changes), created: created, modified: revision)
  }
}
