import Tables

extension EntityTable: Sequence {
  /// Iterates over the existing entities in the order of their numbers, lazily. A later change of the table does not
  /// affect the iterator. O(log n) to begin, O(1) for each entity.
  public func makeIterator() -> Iterator {
    Iterator(
      LayeredIterator(
        base.map { $0.rows(from: 0) }, above: rows.makeIterator(),
        hidden: deletions.makeIterator()))
  }

  /// Iterates over entities.
  public struct Iterator: IteratorProtocol {
    private var entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>

    fileprivate init(_ entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>) {
      self.entities = entities
    }

    /// The next entity, nil at the end.
    public mutating func next() -> (number: Int, row: EntityRow)? {
      guard let (number, row) = entities.next() else { return nil }
      return (number, row)
    }
  }

  /// The existing entities from a number on.
  package func entities(from number: Int) -> Entities { Entities(table: self, start: number) }

  /// A part of a table, in the order of numbers. A later change of the table does not affect it.
  package struct Entities: Sequence, Sendable {
    fileprivate let table: EntityTable
    fileprivate let start: Int

    package func makeIterator() -> Iterator {
      Iterator(
        LayeredIterator(
          table.base.map { $0.rows(from: start) },
          above: table.rows.elements(from: start).makeIterator(),
          hidden: table.deletions.elements(from: start).makeIterator()))
    }
  }

  /// The deleted and erased entities, with the revision of their newest event.
  package var goneEntities: GoneEntities { GoneEntities(table: self) }

  /// The deleted and erased entities of a table, in the order of numbers. A later change of the table does not affect
  /// it.
  package struct GoneEntities: Sequence, Sendable {
    fileprivate let table: EntityTable

    package func makeIterator() -> Iterator {
      Iterator(
        deletions: LayeredIterator(
          table.base.map { $0.deletions() }, above: table.deletions.makeIterator(),
          hidden: table.rows.makeIterator()))
    }

    /// Iterates over deleted and erased entities.
    package struct Iterator: IteratorProtocol {
      fileprivate var deletions: LayeredIterator<BaseIterator<Int, Deletion>, Int, Deletion, EntityRow>

      package mutating func next() -> (number: Int, revision: Revision, isErased: Bool)? {
        guard let (number, deletion) = deletions.next() else { return nil }
        return (number, deletion.revision, deletion.isErased)
      }
    }
  }
}
