import Tables

extension EntityTable: Sequence {
  /// Iterates over the existing entities in the order of their numbers, lazily. A later change of the table does not
  /// affect the iterator. O(log n) to begin, O(1) for each entity.
  public func makeIterator() -> Iterator {
    Iterator(
      entities: LayeredIterator(
        base.map { $0.rows(from: 0) }, above: rows.makeIterator(), hidden: deletions.makeIterator()))
  }

  /// The existing entities from a number on, in the order of numbers.
  package func entities(from number: Int) -> Iterator {
    Iterator(
      entities: LayeredIterator(
        base.map { $0.rows(from: number) }, above: rows.elements(from: number),
        hidden: deletions.elements(from: number)))
  }

  /// Iterates over entities.
  public struct Iterator: Sequence, IteratorProtocol {
    var entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>

    /// The next entity, nil at the end.
    public mutating func next() -> (number: Int, row: EntityRow)? {
      guard let (number, row) = entities.next() else { return nil }
      return (number, row)
    }
  }

  /// The deleted and erased entities in the order of numbers, each with the revision of its newest event.
  package var goneEntities: GoneEntities {
    GoneEntities(
      deletions: LayeredIterator(
        base.map { $0.deletions() }, above: deletions.makeIterator(), hidden: rows.makeIterator()))
  }

  /// Iterates over deleted and erased entities. Later changes of the table do not affect the iterator.
  package struct GoneEntities: Sequence, IteratorProtocol {
    var deletions: LayeredIterator<BaseIterator<Int, Deletion>, Int, Deletion, EntityRow>

    package mutating func next() -> (number: Int, revision: Revision, isErased: Bool)? {
      guard let (number, deletion) = deletions.next() else { return nil }
      return (number, deletion.revision, deletion.isErased)
    }
  }
}
