extension EntityTable {
  /// Applies an event to its entity.
  ///
  /// This is all that a model has to do for the kind of entities in this table. It checks that the event is possible in
  /// this state. It does not check the record: the methods of the draft do that.
  /// - Parameters:
  ///   - event: an event of an entity of this table's kind.
  ///   - revision: the revision of the event's entry.
  ///   - state: the model, which names the entity in errors.
  /// - Returns: the entity before and after the event, nil where it does not exist, to update indexes with.
  /// - Throws: ``JournalError`` with code `damaged` if the event adds an existing entity, changes or deletes a missing
  ///   one, does not follow the newest event of its entity, or adds a number out of order. The table is then unchanged.
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

  /// Applies an event for which `isErased(_:)` is true: its content was erased, or its entity is erased.
  /// ``apply(_:at:in:)`` calls this method for such events.
  ///
  /// An erased add or update leaves an erased entity: it does not exist, but has a revision. Later updates only change
  /// that revision, until a deletion makes it a deleted entity, or an add makes it exist again.
  /// - Returns: the entity before the event, nil if it did not exist.
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
        "\(name) can't be added: it exists"
      } else if self.revision(of: number) != event.previous {
        link(of: event, in: state)
      } else {
        "\(name) can't be added: numbers are assigned in order, and \(highest) was assigned already"
      }
    throw JournalError(.damaged, reason, revision: revision)
  }

  /// The row that an event updates or deletes. Fails unless the event follows the newest event of its entity.
  package func checkedRow<State: EventSourced>(
    _ event: JournalEvent, at revision: Revision, in state: State.Type
  ) throws(JournalError) -> EntityRow {
    guard let row = self[event.entity.number] else {
      throw JournalError(
        .damaged, "\(State.name(of: event.entity)) can't be changed or deleted: it does not exist",
        revision: revision)
    }
    guard row.modified == event.previous else {
      throw JournalError(.damaged, link(of: event, in: state), revision: revision)
    }
    return row
  }

  private func link<State: EventSourced>(of event: JournalEvent, in state: State.Type) -> String {
    "an event of \(State.name(of: event.entity)) follows its revision \(event.previous), but the newest one is "
      + "\(revision(of: event.entity.number))"
  }
}

/// A model that calls `deferUpdate`, so that a past state reads only the entities that it is asked for.
package protocol DefersUpdates: EventSourced {}

extension EntityRow {
  package func applying(_ changes: RecordChanges, at revision: Revision) -> EntityRow {
    EntityRow(record: record.applying(changes), created: created, modified: revision)
  }
}
