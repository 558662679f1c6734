import CBOR

extension Catalog {
  /// Calls `body` with the items of a kind, in the order of their numbers, until it returns false.
  ///
  /// If many items are of the kind, scanning all items is faster than looking each one up.
  func forEachItem(
    ofKind kind: String, _ body: (_ number: Int, _ record: () -> EntityRecord?) -> Bool
  ) {
    let members = itemsByKind.members(of: itemKindNumbers.number(of: kind) ?? -1)
    let few = itemCount / 8
    if members.prefix(few + 1).reduce(0, { count, _ in count + 1 }) > few {
      let kind = ItemKind(kind)
      for (number, row) in itemTable where kind.isKind(of: row.record) {
        guard body(number, { row.record }) else { return }
      }
    } else {
      for number in members {
        guard body(number, { itemTable[number]?.record }) else { return }
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
