/// Applies and computes changes by iterating over the bytes of two sorted maps together. Nothing is decoded.
extension EntityRecord {
  /// Returns this record with changes applied: set parts are added or replaced, and `undefined` parts are removed.
  /// - Complexity: O(n + m) in the byte counts of the two inputs.
  public func applying(_ changes: RecordChanges) -> EntityRecord {
    var merge = FieldMerge()
    merge.walk(bytes, changes.bytes) { left, right, merge in
      if let right {
        if right.isUndefined { return }
        merge.take(right)
      } else if let left {
        merge.take(left)
      }
    }
    return EntityRecord(trusted: merge.finish())
  }

  /// Returns the wanted parts of this record with changes applied. The values of other parts are not copied.
  /// - Complexity: O(n) in the numbers of parts and of copied bytes.
  package func applying(
    _ changes: RecordChanges?, where isWanted: (FieldKey, _ byteCount: Int) -> Bool
  ) -> EntityRecord {
    var merge = FieldMerge()
    merge.walk(bytes, changes?.bytes ?? []) { left, right, merge in
      guard let field = right ?? left, !field.isUndefined, let key = field.key,
        isWanted(key, field.field.value.count)
      else { return }
      merge.take(field)
    }
    return EntityRecord(trusted: merge.finish())
  }

  package func removingAttributes(where isRemoved: (String) -> Bool) -> EntityRecord {
    applying(nil) { key, _ in if case .attribute(let name) = key { !isRemoved(name) } else { true } }
  }

  /// The changes that turn this record into another; nil if the records are equal.
  /// - Complexity: O(n + m) in the byte counts of the two inputs.
  public func changes(to other: EntityRecord) -> RecordChanges? { changes(to: other, where: nil) }

  /// The changes of the wanted parts that turn this record into another; nil if no wanted part differs.
  package func changes(to other: EntityRecord, where isWanted: ((FieldKey) -> Bool)?) -> RecordChanges? {
    if bytes == other.bytes { return nil }
    var merge = FieldMerge()
    merge.walk(bytes, other.bytes) { left, right, merge in
      if let left, let right, left.hasValue(of: right) { return }
      if let isWanted, (left ?? right)?.key.map(isWanted) != true { return }
      if let right { merge.take(right) } else if let left { merge.takeKeyAsUndefined(of: left) }
    }
    return merge.isEmpty ? nil : RecordChanges(trusted: merge.finish())
  }

  /// The parts in which two records of one entity differ, in the order of encoded keys. A nil record has no parts.
  /// - Complexity: O(n + m) in the byte counts of the two inputs.
  public static func differences(from old: EntityRecord?, to new: EntityRecord?) -> [PartChange] {
    var changes: [PartChange] = []
    var merge = FieldMerge()
    merge.walk((old ?? EntityRecord()).bytes, (new ?? EntityRecord()).bytes) { left, right, _ in
      if let left, let right, left.hasValue(of: right) { return }
      guard let key = (left ?? right)?.key else { return }
      changes.append(PartChange(key: key, old: left?.value, new: right?.value))
    }
    return changes
  }
}

extension RecordChanges {
  /// Combines these changes with later ones. Applying the result has the effect of applying both in turn.
  /// - Complexity: O(n + m) in the byte counts of the two inputs.
  package func followed(by later: RecordChanges) -> RecordChanges {
    var merge = FieldMerge()
    merge.walk(bytes, later.bytes) { left, right, merge in
      if let field = right ?? left { merge.take(field) }
    }
    return RecordChanges(trusted: merge.finish())
  }
}

/// A part of a record that differs between two versions of the record.
public struct PartChange: Hashable, Sendable {
  /// The name of the part.
  public let key: FieldKey
  /// The value in the earlier version; nil if that lacks the part.
  public let old: FieldValue?
  /// The value in the later version; nil if that lacks the part.
  public let new: FieldValue?

  /// Makes the change of a part from one value to another.
  public init(key: FieldKey, old: FieldValue?, new: FieldValue?) {
    self.key = key
    self.old = old
    self.new = new
  }
}

/// A field and the borrowed bytes of its map.
@safe private struct LentField {
  let bytes: UnsafeRawBufferPointer
  let field: FieldMap.Field

  var isUndefined: Bool { unsafe bytes[field.value.lowerBound] == CBORByte.undefined }

  var key: FieldKey? {
    var reader = unsafe CBORReader(bytes, from: field.key.lowerBound)
    guard let first = try? reader.peek() else { return nil }
    if first < 24 { return .field(first) }
    return (try? reader.readText()).map { .attribute($0) }
  }

  var value: FieldValue? {
    var reader = unsafe CBORReader(bytes, from: field.value.lowerBound)
    return try? reader.readValue()
  }

  func hasValue(of other: LentField) -> Bool {
    unsafe field.value.count == other.field.value.count
      && compareBytes(
        bytes.baseAddress! + field.value.lowerBound, field.value.count,
        other.bytes.baseAddress! + other.field.value.lowerBound, other.field.value.count) == 0
  }

  func order(to other: LentField) -> Int {
    unsafe compareBytes(
      bytes.baseAddress! + field.key.lowerBound, field.key.count,
      other.bytes.baseAddress! + other.field.key.lowerBound, other.field.key.count)
  }
}

/// Builds a map from the fields of two other maps.
///
/// Marked safe although it has a pointer: the run is copied before the borrow of its bytes ends.
@safe private struct FieldMerge: ~Copyable {
  private var count = 0
  /// The map in progress. It begins with room for its head.
  private var bytes: [UInt8] = []
  private var headByteCount = 1
  /// Adjacent fields that are taken but not copied yet. They are copied in one step.
  private var run = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

  var isEmpty: Bool { count == 0 }

  /// Calls `visit` for each key of either map, in order, with the field of each map; nil for a map that lacks the key.
  @inline(__always)
  mutating func walk(
    _ left: [UInt8], _ right: [UInt8],
    _ visit: (LentField?, LentField?, inout FieldMerge) -> Void
  ) {
    unsafe left.withUnsafeBytes { leftBytes in
      unsafe right.withUnsafeBytes { rightBytes in
        var leftCursor = unsafe FieldMapCursor(leftBytes)
        var rightCursor = unsafe FieldMapCursor(rightBytes)
        reserve(
          fieldCount: leftCursor.remaining + rightCursor.remaining, byteCount: left.count + right.count)
        var leftField = leftCursor.next()
        var rightField = rightCursor.next()
        while leftField != nil || rightField != nil {
          let lent = leftField.map { unsafe LentField(bytes: leftBytes, field: $0) }
          let other = rightField.map { unsafe LentField(bytes: rightBytes, field: $0) }
          let order: Int
          if let lent, let other { order = lent.order(to: other) } else { order = lent == nil ? 1 : -1 }
          visit(order <= 0 ? lent : nil, order >= 0 ? other : nil, &self)
          if order <= 0 { leftField = leftCursor.next() }
          if order >= 0 { rightField = rightCursor.next() }
        }
        copyRun()
      }
    }
  }

  private mutating func reserve(fieldCount: Int, byteCount: Int) {
    headByteCount = fieldCount < 24 ? 1 : CBORWriter.mapHead(count: fieldCount).count
    bytes.reserveCapacity(headByteCount + byteCount)
    for _ in 0..<headByteCount { bytes.append(0) }
  }

  private mutating func copyRun() {
    unsafe bytes.append(contentsOf: run)
    unsafe run = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  @inline(__always)
  private mutating func take(_ range: Range<Int>, of source: UnsafeRawBufferPointer) {
    let taken = unsafe UnsafeRawBufferPointer(rebasing: source[range])
    if let start = unsafe run.baseAddress, unsafe start + run.count == taken.baseAddress {
      unsafe run = UnsafeRawBufferPointer(start: start, count: run.count + taken.count)
    } else {
      copyRun()
      unsafe run = taken
    }
  }

  mutating func take(_ lent: LentField) {
    count += 1
    unsafe take(lent.field.key.lowerBound..<lent.field.value.upperBound, of: lent.bytes)
  }

  mutating func takeKeyAsUndefined(of lent: LentField) {
    count += 1
    unsafe take(lent.field.key, of: lent.bytes)
    copyRun()
    bytes.append(CBORByte.undefined)
  }

  consuming func finish() -> [UInt8] {
    if count < 24, headByteCount == 1 {
      bytes[0] = CBORMajor.map.rawValue << 5 | UInt8(count)
    } else {
      bytes.replaceSubrange(0..<headByteCount, with: CBORWriter.mapHead(count: count))
    }
    return bytes
  }
}
