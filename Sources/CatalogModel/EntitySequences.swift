// Plain types and not `some Sequence`: a client's loop over an opaque or generic one looks its types up at
// run time for each element, which took 390 ns instead of 45.
extension Catalog {
  /// Items in the order of their numbers, found as they are asked for. It keeps its catalog as it is.
  public struct Items: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// Gives items one after the other.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next item, nil behind the last. O(log n) at most.
      public mutating func next() -> Catalog.Item? {
        rows.next().map { Catalog.Item(number: $0.number, row: $0.row) }
      }
    }
  }

  /// Categories in the order of their numbers, found as they are asked for. It keeps its catalog as it is.
  public struct Categories: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// Gives categories one after the other.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next category, nil behind the last. O(log n) at most.
      public mutating func next() -> Catalog.Category? {
        rows.next().map { Catalog.Category(number: $0.number, row: $0.row) }
      }
    }
  }

  /// Images in the order of their numbers, found as they are asked for. It keeps its catalog as it is.
  public struct Images: Sequence, Sendable {
    let rows: EntityRows

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

    /// Gives images one after the other.
    public struct Iterator: IteratorProtocol {
      var rows: EntityRows.Iterator
      /// The next image, nil behind the last. O(log n) at most.
      public mutating func next() -> Catalog.Image? {
        rows.next().map { Catalog.Image(number: $0.number, row: $0.row) }
      }
    }
  }
}

/// The rows of a table, all of them or those that a part of an index lists.
enum EntityRows: Sequence, Sendable {
  case all(EntityTable)
  case listed(EntityIndex.Members, in: EntityTable)

  func makeIterator() -> Iterator {
    switch self {
    case .all(let table): Iterator(all: table.makeIterator())
    case .listed(let members, let table): Iterator(members: members.makeIterator(), table: table)
    }
  }

  // Not an enum: what its cases carry would be moved out and in again for each element.
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
