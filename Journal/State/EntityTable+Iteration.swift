import Tables

extension EntityTable: Sequence {
  /// Goes through the entities that are there in the order of their numbers, each found as it is asked for.
  /// It keeps the table as it was. O(log n) to begin, O(1) an entity.
  public func makeIterator() -> Iterator {
    Iterator(
      LayeredIterator(
        base.map { $0.rows(from: 0) }, above: rows.makeIterator(),
        hidden: deletions.makeIterator()))
  }

  /// How many entities are there. O(1).
  public var underestimatedCount: Int { count }

  /// Gives entities one after the other.
  public struct Iterator: IteratorProtocol {
    private var entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>

    fileprivate init(_ entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>) {
      self.entities = entities
    }

    /// The next entity, nil behind the last.
    public mutating func next() -> (number: Int, row: EntityRow)? {
      guard let (number, row) = entities.next() else { return nil }
      return (number, row)
    }
  }

  /// The entities that are there, from a number on.
  package func entities(from number: Int) -> Entities { Entities(table: self, start: number) }

  /// A part of a table, in the order of numbers. It keeps the table as it was.
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

  /// The entities that are gone, the revision of the newest event of each, and whether it was erased.
  package var goneEntities: GoneEntities { GoneEntities(table: self) }

  /// What is gone from a table, in the order of numbers. It keeps the table as it was.
  package struct GoneEntities: Sequence, Sendable {
    fileprivate let table: EntityTable

    package func makeIterator() -> Iterator {
      Iterator(
        deletions: LayeredIterator(
          table.base.map { $0.deletions() }, above: table.deletions.makeIterator(),
          hidden: table.rows.makeIterator()))
    }

    /// Gives what is gone one after the other.
    package struct Iterator: IteratorProtocol {
      fileprivate var deletions: LayeredIterator<BaseIterator<Int, Deletion>, Int, Deletion, EntityRow>

      package mutating func next() -> (number: Int, revision: Revision, isErased: Bool)? {
        guard let (number, deletion) = deletions.next() else { return nil }
        return (number, deletion.revision, deletion.isErased)
      }
    }
  }
}
