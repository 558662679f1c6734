public import Foundation

/// The origin of the value of one part of an entity.
public struct Blame: Sendable {
  /// The part.
  public let key: FieldKey
  /// Its value.
  public let value: FieldValue
  /// The revision of the entry that set the value. With ``isPruned``, the revision before which history was pruned.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// The date that the clock or the caller gave to the commit.
  public let clockDate: Date
  /// Who made the entry.
  public let author: String
  /// Why the entry was made.
  public let note: String
  /// Whether the value was set by an entry that was pruned.
  public let isPruned: Bool
  /// Whether author and note have been erased, and are therefore empty.
  public let isAnnotationErased: Bool
}

extension Journal {
  /// The parts of an entity in the record's order, each with the entry that set it; nil if the entity did not exist.
  /// - Parameters:
  ///   - entity: the entity.
  ///   - selector: the point in time.
  ///   - findsOrigin: whether to name, for a restored value, the entry that first set it. Any program can write the
  ///     metadata of a restore, so an entry counts as a restore only if its value equals the value at the named source.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time.
  /// - Complexity: O(h) reads of the log for the h events of the entity since its oldest value was set.
  public func blame(
    _ entity: EntityKey, asOf selector: RevisionSelector = .head(), findsOrigin: Bool = false
  ) throws -> [Blame]? {
    try settled {
      let newest = try newestEvent(of: entity, atOrBefore: try revision(at: selector))
      guard let record = try row(of: entity, after: newest)?.record else { return nil }
      var parts: [(key: FieldKey, value: FieldValue)] = []
      record.visit { parts.append(($0, $1)) }
      var setters = try setters(of: parts.map(\.key), in: entity, from: newest)
      if findsOrigin { try findOrigins(&setters, of: parts, in: entity) }
      return parts.compactMap { key, value in
        setters[key].map { setter in
          Blame(
            key: key, value: value, revision: setter.revision, date: setter.date.date,
            clockDate: setter.clockDate.date, author: setter.words.author, note: setter.words.note,
            isPruned: setter.isPruned, isAnnotationErased: setter.annotation == nil)
        }
      }
    }
  }

  /// For each of some parts of an entity, finds the entry that set it last. Reads back from the event `newest`.
  private func setters(
    of keys: [FieldKey], in entity: EntityKey, from newest: Revision
  ) throws -> [FieldKey: EntryOrigin] {
    var missing = Set(keys)
    var setters: [FieldKey: EntryOrigin] = [:]
    try readBack(from: newest, over: entity) { past throws(JournalError) in
      func note(_ key: FieldKey) { if missing.remove(key) != nil { setters[key] = past.origin } }
      switch past.event.change {
      case .update(let changes):
        changes.visitKeys(note)
        return !missing.isEmpty
      case .add(let record): record.visitKeys(note)
      case .delete, .erased: break
      }
      return false
    }
    return setters
  }

  /// Replaces each entry that restored a value with the entry that first set the value.
  private func findOrigins(
    _ setters: inout [FieldKey: EntryOrigin], of parts: [(key: FieldKey, value: FieldValue)],
    in entity: EntityKey
  ) throws {
    let present = Dictionary(parts.map { ($0.key, $0.value) }) { $1 }
    // The revisions that `setter` names as the sources of its restore.
    func sources(of setter: EntryOrigin) -> ArraySlice<Revision> {
      setter.words.sources.filter { $0 < setter.revision && $0 >= format.head.revision }[...]
    }
    var open = setters.mapValues(sources)
    while !open.isEmpty {
      // Group by source: a restore sets many parts from one source, whose events are then read once.
      var keys: [Revision: [FieldKey]] = [:]
      for (key, sources) in open {
        if let source = sources.first { keys[source, default: []].append(key) }
      }
      open = open.compactMapValues { $0.isEmpty ? nil : $0.dropFirst() }
      for (source, keys) in keys {
        let newest = try newestEvent(of: entity, atOrBefore: source)
        let past = try values(of: Set(keys), in: entity, after: newest)
        let restored = keys.filter { present[$0]?.isIdentical(to: past[$0] ?? nil) == true }
        if restored.isEmpty { continue }
        let earlier = try self.setters(of: restored, in: entity, from: newest)
        setters.merge(earlier) { $1 }
        for key in restored { open[key] = earlier[key].map(sources) }
      }
    }
  }
}
