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
  /// - Returns: how many lines of the index and how many records were read.
  @discardableResult
  func forEachItem(
    ofKind kind: String, _ body: (_ number: Int, _ record: EntityRecord) -> Bool
  ) -> (lineCount: Int, recordCount: Int) {
    var members = contents.numbers(ofKind: kind).makeIterator()
    let kind = ItemKind(kind)
    let few = itemCount / EntityTable.manyShare
    var (lineCount, recordCount) = (0, 0)
    while true {
      let isMany = lineCount > few
      let length = isMany ? 1 : Swift.max(64, Swift.min(lineCount, few + 1 - lineCount))
      var part: [Int] = []
      while part.count < length, let number = members.next() { part.append(number) }
      guard let first = part.first, let last = part.last else { break }
      lineCount += part.count
      var isDone = false
      // A forged index may have any numbers, so their difference may overflow.
      if isMany || UInt(bitPattern: last &- first) < part.count * EntityTable.manyShare {
        itemTable.forEachRecord(from: first) { number, record in
          if number > last, !isMany { return false }
          recordCount += 1
          isDone = kind.isKind(of: record) && !body(number, record)
          return !isDone
        }
      } else {
        for number in part where !isDone {
          recordCount += 1
          if let record = itemTable[number]?.record, !body(number, record) { isDone = true }
        }
      }
      if isDone || isMany { break }
    }
    return (lineCount, recordCount)
  }

  /// Transforms the items of a kind in parts, in the order of their numbers, on two threads if that saves time.
  /// - Parameters:
  ///   - isConcurrent: false if `transform` calls closures of the app, which run on the caller's thread.
  ///   - transform: gets a function that calls its argument with the items of a part, until it returns false.
  ///   - body: gets the result for each part, in order.
  /// - Returns: how many lines of the index by kind and how many records were read.
  @discardableResult
  func forEachPart<Output: Sendable>(
    ofKind kind: String, isConcurrent: Bool,
    _ transform: @escaping @Sendable (_ forEachItem: ((Int, EntityRecord) -> Bool) -> Void) -> Output,
    _ body: (Output) -> Void
  ) -> (lineCount: Int, recordCount: Int) {
    var (lineCount, recordCount) = (0, 0)
    let members = contents.numbers(ofKind: kind)
    // A forged index may have any numbers.
    if isConcurrent, itemTable.isLongInMemory,
      let first = members.first(where: { $0 > 0 }), first <= itemTable.highest
    {
      let few = itemCount / EntityTable.manyShare
      let prefix = members.prefix(few + 1).reduce(0) { count, _ in count + 1 }
      let kind = ItemKind(kind)
      let isDone =
        prefix > few
        && itemTable.forEachPart(from: first) { part in
          var recordCount = 0
          let output = transform { body in
            part.forEachRecord { number, record in
              recordCount += 1
              return !kind.isKind(of: record) || body(number, record)
            }
          }
          return (output: output, recordCount: recordCount)
        } _: { part in
          recordCount += part.recordCount
          body(part.output)
        }
      if isDone { return (prefix, recordCount) }
    }
    body(
      transform {
        (lineCount, recordCount) = forEachItem(ofKind: kind, $0)
      })
    return (lineCount, recordCount)
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
    unsafe record.bytes.withUnsafeBytes { bytes in
      guard var cursor = unsafe try? FieldCursor(bytes), cursor.find(ItemField.kind) else { return false }
      return cursor.isAt(encoded)
    }
  }
}
