import CBOR
import CatalogModel
import Journaling

/// One pass over the log, which finds the entities that ever matched, from a first one on.
///
/// The pass holds the records of these entities. When they take too much memory, it leaves the later half of the
/// entities to the next pass.
struct EverPass {
  private struct Track {
    /// The record of the entity, or the last record of a deleted one.
    var record: EntityRecord
    var deleted: Revision?
    var periods: [MatchPeriod] = []

    /// About how many bytes the periods take in memory.
    private var periodByteCount = 0

    init(record: EntityRecord) { self.record = record }

    /// About how many bytes the track takes in memory.
    var byteCount: Int { record.bytes.count + 128 + periodByteCount }

    mutating func addPeriod(_ matches: Bool, since border: MatchPeriod.Border) {
      guard periods.add(matches, since: border) else { return }
      periodByteCount +=
        MemoryLayout.size(ofValue: border) + border.author.utf8.count + border.note.utf8.count
    }
  }

  private let kinds: Set<EntityKind>
  private let start: EntityKey?
  private let byteLimit: Int
  private let matches: (EntityKey, EntityRecord) -> Bool
  /// The first entity of the next pass; nil if this is the last one.
  private(set) var end: EntityKey?
  private var tracks: [EntityKey: Track] = [:]
  private var byteCount = 0

  init(
    of kinds: [EntityKind], from start: EntityKey?, byteLimit: Int,
    where matches: @escaping (EntityKey, EntityRecord) -> Bool
  ) {
    self.kinds = Set(kinds)
    (self.start, self.byteLimit, self.matches) = (start, byteLimit, matches)
  }

  /// The entities that ever matched, in the order of kinds and numbers.
  var found: [FoundEntity] {
    tracks.filter { !$0.value.periods.isEmpty }.sorted { $0.key < $1.key }.map { entity, track in
      FoundEntity(entity: entity, record: track.record, deleted: track.deleted, periods: track.periods)
    }
  }

  mutating func run(over journal: Journal<Catalog>, upTo point: Revision) throws {
    let first = (journal.base?.revision ?? 0) + 1
    if let base = journal.base {
      let border = MatchPeriod.Border(base: base)
      let state = try journal.state(asOf: .start)
      for (kind, table) in zip(Catalog.entityKinds, state.tables) {
        for (number, row) in table {
          apply(.add(row.record), to: EntityKey(kind: kind, number: number), at: border)
        }
      }
      // Rows that can't be read are left out of the tables.
      if let failure = state.failure { throw failure }
    }
    guard first <= point else { return }
    let entries = journal.entries(first...point)
    while let entry = try entries.next() {
      let border = MatchPeriod.Border(entry)
      for event in entry.events { apply(event.change, to: event.entity, at: border) }
    }
  }

  private mutating func apply(
    _ change: JournalEvent.Change, to entity: EntityKey, at border: MatchPeriod.Border
  ) {
    guard kinds.contains(entity.kind), start.map({ entity >= $0 }) ?? true, end.map({ entity < $0 }) ?? true
    else { return }
    var track = tracks.removeValue(forKey: entity)
    byteCount -= track?.byteCount ?? 0
    if let record = change.applied(to: track?.deleted == nil ? track?.record : nil) {
      var changed = track ?? Track(record: record)
      (changed.record, changed.deleted) = (record, nil)
      changed.addPeriod(matches(entity, record), since: border)
      track = changed
    } else {
      track?.addPeriod(false, since: border)
      track?.deleted = border.revision
      // If the entity is added again, it is as if it were new.
      if track?.periods.isEmpty == true { track = nil }
    }
    tracks[entity] = track
    byteCount += track?.byteCount ?? 0
    if byteCount > byteLimit, tracks.count > 1 { dropLaterHalf() }
  }

  private mutating func dropLaterHalf() {
    let entities = tracks.keys.sorted()
    let first = entities[entities.count / 2]
    end = first
    tracks = tracks.filter { $0.key < first }
    byteCount = tracks.values.reduce(0) { $0 + $1.byteCount }
  }
}
