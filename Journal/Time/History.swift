public import Foundation

/// One event in the history of an entity, and the entry it belongs to.
public struct EntityChange: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// Who made it.
  public let author: String
  /// Why.
  public let note: String
  /// What happened.
  public let event: Event
}

extension Journal {
  /// Everything that ever happened to an entity, the newest event first; empty when it never was.
  ///
  /// Each event names the one before it, so this follows a list through the log.
  /// - Throws: ``JournalError`` with code `damaged` when an entry is missing or does not hold what is said of
  ///   it.
  /// - Complexity: O(h) reads of the log for h events, whatever the size of the journal.
  public func history(of entity: Entity) throws -> [EntityChange] {
    var changes: [EntityChange] = []
    var revision = state.revision(of: entity)
    while revision > 0 {
      let change = try log.read(revision) { entry throws(JournalError) in try entry.change(of: entity) }
      guard let change, change.event.previous < revision else {
        throw JournalError(
          .damaged, "the entry should hold an event of \(State.name(of: entity)) and does not",
          revision: revision)
      }
      changes.append(change)
      revision = change.event.previous
    }
    return changes
  }
}

extension EntryDecoder {
  /// The event of one entity, nil when the entry has none.
  fileprivate func change(of entity: Entity) throws(JournalError) -> EntityChange? {
    var events = try events()
    while let event = try events.next() {
      guard event.entity == entity else { continue }
      let header = try header()
      return EntityChange(
        revision: revision, date: header.date.date, author: header.author, note: header.note, event: event)
    }
    return nil
  }
}
