/// A version of a record, stored as an earlier version and the changes since. So versions of a large record with small
/// changes share most of its bytes.
struct RecordVersion: Sendable {
  /// The earlier version; nil if the entity did not exist.
  private let base: EntityRecord?
  /// `base` without large attributes that no label uses.
  private let labelBase: EntityRecord?
  private var changes: RecordChanges?

  init(_ record: EntityRecord?) {
    base = record
    labelBase = record?.forLabel
  }

  /// The whole record.
  /// - Complexity: O(n) in the bytes of the record.
  var record: EntityRecord? { changes.flatMap { base?.applying($0) } ?? base }

  /// The record without large attributes that no label uses.
  var labelRecord: EntityRecord? { changes.flatMap { labelBase?.applying($0) } ?? labelBase }

  /// The number of bytes in memory that this version does not share with an earlier version.
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
