import CBOR

extension Catalog.Contents {
  /// The numbers of the items of a kind, in order. No item is read.
  func numbers(ofKind kind: String) -> EntityIndex.Members {
    // No kind has the number -1, so an unknown kind lists nothing.
    itemsByKind.members(of: itemKindNumbers.number(of: kind) ?? -1)
  }
}

extension Catalog {
  /// Calls `body` with the items of a kind, in the order of their numbers, until `body` returns false.
  ///
  /// The index by kind is read in parts, each as long as all parts before it, so few lines are read if `body` soon
  /// returns false. Where many items are of the kind, all items are scanned, which is faster than looking each one up.
  /// If many items of the whole catalog are of the kind, the rest of the index is not read.
  func forEachItem(ofKind kind: String, _ body: (_ number: Int, _ record: EntityRecord) -> Bool) {
    var members = contents.numbers(ofKind: kind).makeIterator()
    let kind = ItemKind(kind)
    let few = itemCount / EntityTable.manyShare
    var readCount = 0
    while true {
      let isMany = readCount > few
      let length = isMany ? 1 : Swift.max(64, Swift.min(readCount, few + 1 - readCount))
      var part: [Int] = []
      while part.count < length, let number = members.next() { part.append(number) }
      guard let first = part.first, let last = part.last else { return }
      readCount += part.count
      // A forged index may have any numbers, so their difference may overflow.
      if isMany || UInt(bitPattern: last &- first) < part.count * EntityTable.manyShare {
        for (number, row) in itemTable.entities(from: first) {
          if number > last, !isMany { break }
          if kind.isKind(of: row.record), !body(number, row.record) { return }
        }
        if isMany { return }
      } else {
        for number in part {
          if let record = itemTable[number]?.record, !body(number, record) { return }
        }
      }
    }
  }
}

/// An encoded kind of items, which can be compared with records without making a string.
struct ItemKind: Hashable, Sendable {
  let name: String
  private let encoded: [UInt8]

  init(_ name: String) {
    self.name = name
    var writer = CBORWriter(reserving: name.utf8.count + 3)
    writer.append(text: name)
    encoded = writer.finish()
  }

  static func == (left: ItemKind, right: ItemKind) -> Bool { left.encoded == right.encoded }
  func hash(into hasher: inout Hasher) { hasher.combine(encoded) }

  /// Whether a record is that of an item of this kind.
  func isKind(of record: EntityRecord) -> Bool {
    guard let place = (try? ItemFields(record))?.kind, place.count == encoded.count else { return false }
    for index in encoded.indices where record.bytes[place.lowerBound + index] != encoded[index] {
      return false
    }
    return true
  }
}
