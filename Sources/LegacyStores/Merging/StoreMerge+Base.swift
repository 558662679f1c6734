import CatalogModel
import Foundation

/// What an item was at the previous import, with which the file and the journal are compared.
extension StoreMerge {
  /// Whether an item was changed since the revision of its row, or may have been, if there is no such revision.
  func isModified(_ row: ImportMemory.Element, _ catalog: Catalog) -> Bool {
    catalog.item(row.item).map { $0.modified > row.revision } ?? false
  }

  /// The attributes of an item in the file at the previous import. Nil if that can't be told, because the journal no
  /// longer has the history of that time, and the item was changed since.
  /// - Throws: ``JournalError`` if the history can't be read.
  func baseAttributes(
    _ row: ImportMemory.Element, _ catalog: Catalog
  ) throws -> [String: FieldValue]? {
    let item = catalog.item(row.item)
    if let item, !isModified(row, catalog) { return contents(of: item, row) }
    if row.revision >= start, var base = try past(row.item, row.revision) {
      for (name, value) in row.kept { base[name] = value }
      return base
    }
    return item.flatMap { unchangedContents(of: $0, row, catalog) }
  }

  /// An item's present attributes, with the file's values of those that differed at the previous import.
  func contents(of item: Catalog.Item, _ row: ImportMemory.Element) -> [String: FieldValue] {
    var contents = item.attributes
    for (name, value) in row.kept { contents[name] = value }
    return contents
  }

  /// The same, if its fingerprint proves that the attributes were not changed since the previous import.
  private func unchangedContents(
    of item: Catalog.Item, _ row: ImportMemory.Element, _ catalog: Catalog
  ) -> [String: FieldValue]? {
    let contents = contents(of: item, row)
    return wasInFile(item.kind, contents, row, catalog) ? contents : nil
  }

  /// Whether the fingerprint proves that the file had an element of this kind with these attributes at the previous
  /// import.
  func wasInFile(
    _ kind: String, _ attributes: [String: FieldValue], _ row: ImportMemory.Element, _ catalog: Catalog
  ) -> Bool {
    // The list and the position of a to-do in the file are attributes of its item only.
    let inFile = attributes.filter { $0.key != "done" && $0.key != "order" }
    return [attributes, inFile].contains { attributes in
      let fingerprint = LegacyItem.fingerprint(kind, attributes) { catalog.name(ofTarget: $1, $0) }
      return fingerprint == row.fingerprint
    }
  }

  /// Whether an item is as the file had it at the previous import, as far as its attributes prove that.
  func isProvenUnchanged(
    _ item: Catalog.Item, _ row: ImportMemory.Element, _ catalog: Catalog
  ) -> Bool {
    let isInPlace =
      item.kind != KnownKind.toDo.name || item.isDone == row.list.lowercased().hasPrefix("done")
    return isInPlace && unchangedContents(of: item, row, catalog) != nil
  }
}
