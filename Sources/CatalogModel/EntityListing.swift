/// An item, a category or an image of a catalog.
public protocol CatalogEntity: Sendable {
  /// Makes the entity of that number from its row, as `journal.entity(_:asOf:)` returns it.
  init(number: Int, row: EntityRow)
}

extension Catalog {
  /// Items in the order of their numbers.
  public typealias Items = EntityListing<Item>
  /// Categories in the order of their numbers.
  public typealias Categories = EntityListing<Category>
  /// Images in the order of their numbers.
  public typealias Images = EntityListing<Image>
}

/// Entities in the order of their numbers, found lazily. Later changes of the catalog do not affect the listing.
public struct EntityListing<Element: CatalogEntity>: Sequence, Sendable {
  @usableFromInline let rows: EntityRows

  init(rows: EntityRows) { self.rows = rows }

  /// Starts at the lowest number.
  @inlinable public func makeIterator() -> Iterator { Iterator(rows: rows.makeIterator()) }

  /// The entity with the lowest number, or nil if there is none. O(log n).
  @inlinable public var first: Element? {
    var iterator = makeIterator()
    return iterator.next()
  }
  /// Whether there is no entity. O(log n).
  @inlinable public var isEmpty: Bool { first == nil }
  /// The number of entities. O(1) for all of the catalog, otherwise O(n) in the result. No entity is decoded.
  public var count: Int { rows.count }

  /// Iterates over entities.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var rows: EntityRows.Iterator

    @inlinable init(rows: EntityRows.Iterator) { self.rows = rows }

    /// The next entity, or nil at the end. O(log n) at most.
    @inlinable public mutating func next() -> Element? {
      // Inlined, because a client's loop would otherwise look up its types at run time for each element.
      guard let (number, row) = rows.next() else { return nil }
      return Element(number: number, row: row)
    }
  }
}

/// The rows of a table: all, or those that a part of an index lists.
@usableFromInline enum EntityRows: Sequence, Sendable {
  case all(EntityTable)
  case listed(EntityIndex.Members, in: EntityTable)

  @usableFromInline func makeIterator() -> Iterator {
    switch self {
    case .all(let table): Iterator(all: table.makeIterator())
    case .listed(let members, let table): Iterator(members: members.makeIterator(), table: table)
    }
  }

  /// The number of rows. Each number that an index lists exists, so no row is read.
  var count: Int {
    switch self {
    // Without this, a layer with a wrong count could make the number negative.
    case .all(let table): Swift.max(table.count, 0)
    case .listed(let members, _): members.reduce(0) { count, _ in count + 1 }
    }
  }

  // This is not an enum, because its payload would be moved out and in for each element.
  @usableFromInline struct Iterator: IteratorProtocol {
    var all: EntityTable.Iterator?
    var members: EntityIndex.Members.Iterator?
    var table: EntityTable?

    @usableFromInline mutating func next() -> (number: Int, row: EntityRow)? {
      if all != nil { return all?.next() }
      while let number = members?.next() {
        if let row = table?[number] { return (number, row) }
      }
      return nil
    }
  }
}
