/// Encodes the fields of a record or of changes, in any order, into one sorted map.
///
/// Each field is encoded once, and only its position is sorted, because this is the hot path of every add.
struct FieldMapBuilder: ~Copyable {
  private struct Slot {
    let start: Int
    let keyEnd: Int
    let end: Int
  }

  /// The head of the map, and the fields as they were added.
  private var writer: CBORWriter
  private let headByteCount: Int
  private var slots: [Slot] = []
  private var isSorted = true

  /// - Parameter count: how many fields will be added.
  init(count: Int) {
    writer = CBORWriter(reserving: 9 + 48 * count)
    writer.appendMapHead(count: count)
    headByteCount = writer.count
    slots.reserveCapacity(count)
  }

  /// Adds a numbered field; nil marks a removed one.
  mutating func add(_ number: UInt8, _ value: FieldValue?) {
    let start = writer.count
    writer.append(unsigned: UInt64(number))
    finishSlot(start, value)
  }

  /// Adds an attribute; nil marks a removed one.
  mutating func add(_ name: String, _ value: FieldValue?) {
    let start = writer.count
    writer.append(text: name)
    finishSlot(start, value)
  }

  private mutating func finishSlot(_ start: Int, _ value: FieldValue?) {
    let keyEnd = writer.count
    if let value { writer.append(value) } else { writer.appendUndefined() }
    let slot = Slot(start: start, keyEnd: keyEnd, end: writer.count)
    if isSorted, let last = slots.last, !precedes(last, slot) { isSorted = false }
    slots.append(slot)
  }

  private func precedes(_ left: Slot, _ right: Slot) -> Bool {
    unsafe writer.withBytes { bytes in
      unsafe compareBytes(
        bytes.baseAddress! + left.start, left.keyEnd - left.start,
        bytes.baseAddress! + right.start, right.keyEnd - right.start) < 0
    }
  }

  /// The encoded map. Two fields with one name are a bug of the caller.
  consuming func finish() -> [UInt8] {
    if isSorted { return writer.finish() }
    sort()
    return unsafe writer.withBytes { bytes in
      unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { sorted, count in
        var target = UnsafeMutableRawBufferPointer(sorted)
        func copy(_ range: Range<Int>) {
          unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
          unsafe target = UnsafeMutableRawBufferPointer(rebasing: target[range.count...])
        }
        copy(0..<headByteCount)
        for slot in slots { copy(slot.start..<slot.end) }
        count = bytes.count
      }
    }
  }

  private mutating func sort() {
    // Records have few fields: below this, insertion sort beats a sort with a closure.
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
