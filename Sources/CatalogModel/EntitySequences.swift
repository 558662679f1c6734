// These are concrete types instead of `some Sequence`. In a client's loop over an opaque or generic type, its types are
// looked up at run time for each element, which took 390 ns instead of 45.
extension Catalog {
  /// Items in the order of their numbers, found lazily. Later changes of the catalog do not affect them.
  public struct Items: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// The item with the lowest number, or nil if there is none. O(log n).
    public var first: Catalog.Item? {
      var iterator = makeIterator()
      return iterator.next()
    }
    /// Whether there is none. O(log n).
    public var isEmpty: Bool { first == nil }
    /// How many there are. O(1) for all of the catalog, otherwise O(n) for n that are found. None is decoded.
    public var count: Int { rows.count }

    /// Iterates over items.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next item, or nil at the end. O(log n) at most.
      public mutating func next() -> Catalog.Item? {
        rows.next().map { Catalog.Item(number: $0.number, row: $0.row) }
      }
    }
  }

  /// Categories in the order of their numbers, found lazily. Later changes of the catalog do not affect them.
  public struct Categories: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// The category with the lowest number, or nil if there is none. O(log n).
    public var first: Catalog.Category? {
      var iterator = makeIterator()
      return iterator.next()
    }
    /// Whether there is none. O(log n).
    public var isEmpty: Bool { first == nil }
    /// How many there are. O(1) for all of the catalog, otherwise O(n) for n that are found. None is decoded.
    public var count: Int { rows.count }

    /// Iterates over categories.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next category, or nil at the end. O(log n) at most.
      public mutating func next() -> Catalog.Category? {
        rows.next().map { Catalog.Category(number: $0.number, row: $0.row) }
      }
    }
  }

  /// Images in the order of their numbers, found lazily. Later changes of the catalog do not affect them.
  public struct Images: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// The image with the lowest number, or nil if there is none. O(log n).
    public var first: Catalog.Image? {
      var iterator = makeIterator()
      return iterator.next()
    }
    /// Whether there is none. O(log n).
    public var isEmpty: Bool { first == nil }
    /// How many there are. O(1) for all of the catalog, otherwise O(n) for n that are found. None is decoded.
    public var count: Int { rows.count }

    /// Iterates over images.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next image, or nil at the end. O(log n) at most.
      public mutating func next() -> Catalog.Image? {
        rows.next().map { Catalog.Image(number: $0.number, row: $0.row) }
      }
    }
  }
}

/// The rows of a table: all, or those that a part of an index lists.
enum EntityRows: Sequence, Sendable {
  case all(EntityTable)
  case listed(EntityIndex.Members, in: EntityTable)

  func makeIterator() -> Iterator {
    switch self {
    case .all(let table): Iterator(all: table.makeIterator())
    case .listed(let members, let table): Iterator(members: members.makeIterator(), table: table)
    }
  }

  /// How many there are. Each number that an index lists exists, so no row is read.
  var count: Int {
    switch self {
    // A layer that names too few would otherwise make it negative.
    case .all(let table): Swift.max(table.count, 0)
    case .listed(let members, _): members.reduce(0) { count, _ in count + 1 }
    }
  }

  // This is not an enum, because its payload would be moved out and in for each element.
  struct Iterator: IteratorProtocol {
    var all: EntityTable.Iterator?
    var members: EntityIndex.Members.Iterator?
    var table: EntityTable?

    mutating func next() -> (number: Int, row: EntityRow)? {
      if all != nil { return all?.next() }
      while let number = members?.next() {
        if let row = table?[number] { return (number, row) }
      }
      return nil
    }
  }
}
