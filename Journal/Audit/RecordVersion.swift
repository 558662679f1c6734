/// A version of a record: an earlier one and what changed since, so that the versions of a large record are not copies of
/// it if their changes are small.
struct RecordVersion: Sendable {
  /// Nil if the entity did not exist.
  private let base: EntityRecord?
  /// What a label of the base can come from.
  private let labelBase: EntityRecord?
  private var changes: RecordChanges?

  init(_ record: EntityRecord?) {
    base = record
    labelBase = record?.forLabel
  }

  /// The whole record.
  /// - Complexity: O(n) in its bytes.
  var record: EntityRecord? { changes.flatMap { base?.applying($0) } ?? base }

  /// The record without large attributes that no label comes from.
  var labelRecord: EntityRecord? { changes.flatMap { labelBase?.applying($0) } ?? labelBase }

  /// How many bytes it holds that no earlier version does.
  var byteCount: Int { changes?.bytes.count ?? base?.bytes.count ?? 0 }

  mutating func apply(_ change: JournalEvent.Change) {
    guard case .update(let update) = change, let base else {
      self = RecordVersion(change.applied(to: nil))
      return
    }
    let all = changes?.followed(by: update) ?? update
    if all.bytes.count > base.bytes.count / 8 {
      self = RecordVersion(base.applying(all))
    } else {
      changes = all
    }
  }

  func parts(changedBy update: RecordChanges) -> [PartChange] {
    guard let base else { return [] }
    var keys: Set<FieldKey> = []
    update.visitKeys { keys.insert($0) }
    let old = base.applying(changes) { key, _ in keys.contains(key) }
    return EntityRecord.differences(from: old, to: old.applying(update))
  }
}
