import CatalogModel

/// What the items of a memory were as of the revisions of their rows.
final class PastItems {
  /// After this many items of one revision, its state is read for all others. To find a single item is faster, but it
  /// may decode large entries, and again for each item if the journal's cache can't hold them.
  private static let mostSingle = 16

  private let journal: CatalogJournal
  private let items: [Revision: [Catalog.Item.ID]]
  private var singleCounts: [Revision: Int] = [:]
  private var known: [Revision: [Catalog.Item.ID: EntityRecord]] = [:]

  init(_ journal: CatalogJournal, _ memory: ImportMemory) {
    self.journal = journal
    items = Dictionary(grouping: memory.rows, by: \.revision).mapValues { $0.map(\.item) }
  }

  /// The attributes of an item. Nil if they were erased, or if there was no such item.
  /// - Throws: ``JournalError`` if the history can't be read.
  func attributes(of item: Catalog.Item.ID, asOf revision: Revision) throws -> [String: FieldValue]? {
    if let known = known[revision] { return known[item]?.attributes }
    singleCounts[revision, default: 0] += 1
    guard singleCounts[revision, default: 0] > Self.mostSingle, let items = items[revision] else {
      return try journal.entity(item.entity, asOf: .revision(revision))?.record.attributes
    }
    let state = try journal.state(asOf: .revision(revision))
    var found: [Catalog.Item.ID: EntityRecord] = [:]
    for item in items { found[item] = state.item(item)?.record }
    known[revision] = found
    return found[item]?.attributes
  }
}
