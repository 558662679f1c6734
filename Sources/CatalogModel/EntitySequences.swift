// These are concrete types instead of `some Sequence`. In a client's loop over an opaque or generic type, its types are
// looked up at run time for each element, which took 390 ns instead of 45.
extension Catalog {
  /// Items in the order of their numbers, found lazily. Later changes of the catalog do not affect them.
  public struct Items: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

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
