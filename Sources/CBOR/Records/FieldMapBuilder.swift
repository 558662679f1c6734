/// Encodes fields, which are added in any order, into the sorted map of a record or of changes.
///
/// Each field is encoded once, and only positions are sorted: every addition of an entity runs this code.
package struct FieldMapBuilder: ~Copyable {
  private struct Slot {
    let start: Int
    let keyEnd: Int
    let end: Int
    /// The first eight bytes of the key. Nearly all keys of a record differ in them.
    let prefix: UInt64
  }

  private var writer: CBORWriter
  private let headByteCount: Int
  private var slots: [Slot] = []
  private var isSorted = true
  private var lastNumber = -1
  private var hasValidNumbers = true

  /// - Parameter count: the number of fields that will be added.
  package init(count: Int) {
    // Enough for most records, so that nothing is copied to larger memory.
    writer = CBORWriter(reserving: 2 * (9 + 40 * count))
    writer.appendMapHead(count: count)
    headByteCount = writer.count
    slots.reserveCapacity(count)
  }

  /// Whether the record is known to pass ``EntityRecord/checkEncoding()``, which would read the whole record.
  package var isValid: Bool { hasValidNumbers && writer.depth < CBORLimits.depth }

  package mutating func add(_ number: UInt8, _ value: FieldValue) {
    let keyStart = writer.count
    append(number)
    let keyEnd = writer.count
    writer.append(value)
    finishSlot(keyStart, keyEnd)
  }

  package mutating func add(_ attributes: [String: FieldValue]) {
    for (name, value) in attributes {
      let keyStart = writer.count
      writer.append(text: name)
      let keyEnd = writer.count
      writer.append(value)
      finishSlot(keyStart, keyEnd)
    }
  }

  mutating func addRemoval(_ key: FieldKey) {
    let keyStart = writer.count
    switch key {
    case .field(let number): append(number)
    case .attribute(let name): writer.append(text: name)
    }
    let keyEnd = writer.count
    writer.appendUndefined()
    finishSlot(keyStart, keyEnd)
  }

  private mutating func append(_ number: UInt8) {
    if number >= 24 || number <= lastNumber { hasValidNumbers = false }
    lastNumber = Int(number)
    writer.append(unsigned: UInt64(number))
  }

  private mutating func finishSlot(_ start: Int, _ keyEnd: Int) {
    let slot = Slot(
      start: start, keyEnd: keyEnd, end: writer.count, prefix: writer.prefix(start..<keyEnd))
    if isSorted, let last = slots.last, !precedes(last, slot) { isSorted = false }
    slots.append(slot)
  }

  private func precedes(_ left: Slot, _ right: Slot) -> Bool {
    if left.prefix != right.prefix { return left.prefix < right.prefix }
    return unsafe writer.withBytes { bytes in
      unsafe isBefore(
        UnsafeRawBufferPointer(rebasing: bytes[left.start..<left.keyEnd]),
        UnsafeRawBufferPointer(rebasing: bytes[right.start..<right.keyEnd]))
    }
  }

  package consuming func record() -> EntityRecord { EntityRecord(trusted: finish()) }

  /// Returns the sorted map. The caller must not have added two fields with one name.
  consuming func finish() -> [UInt8] {
    if isSorted { return writer.finish() }
    sort()
    return writer.finish(with: 0..<headByteCount, then: slots.lazy.map { $0.start..<$0.end })
  }

  private mutating func sort() {
    // For the few fields of most records, insertion sort is faster than a sort with a closure.
    guard slots.count <= 32 else {
      var sorted = slots
      sorted.sort { precedes($0, $1) }
      slots = sorted
      return
    }
    for index in slots.indices.dropFirst() {
      let slot = slots[index]
      var place = index
      while place > 0, precedes(slot, slots[place - 1]) {
        slots[place] = slots[place - 1]
        place -= 1
      }
      slots[place] = slot
    }
  }
}
