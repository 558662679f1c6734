import PropertyLists

/// Entities that are objects of a keyed archive, in the order of their numbers. Packed numbers also hold each entity's
/// number and revision, so a search decodes no entity.
final class ArchivedObjects: LayerVersions {
  let reader: LayerReader
  /// The array of entities.
  let elements: ObjectHeader
  /// The object numbers of the names of all fields, in the order in which entities have them.
  let fieldKeys: [Int]
  let keyLists: ObjectKeyLists
  /// For each entity in the array, its number and the revision of the version.
  private let versions: PackedVersions
  let highest: Int
  /// The newest revision of the layer: no entity was changed after it.
  let revision: Revision

  init(
    _ reader: LayerReader, _ header: ObjectHeader, versions: PackedNumbers, highest: Int,
    revision: Revision, fieldKeys: [Int], keyLists: ObjectKeyLists
  ) throws(ArchiveError) {
    self.keyLists = keyLists
    self.reader = reader
    elements = try reader.elements(of: header)
    self.versions = PackedVersions(versions, highest: highest, revision: revision)
    self.highest = highest
    self.revision = revision
    self.fieldKeys = fieldKeys
    guard versions.count == elements.count else { throw LayerReader.foreign(at: header.offset) }
  }

  /// The error for something that no snapshot has.
  var foreign: ArchiveError { versions.foreign }

  func bounds() throws(ArchiveError) -> ClosedRange<Int>? { try versions.bounds() }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> Found? {
    try versions.newest(number, asOf: revision)
  }

  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> Found? {
    try versions.cursor(from: number, asOf: revision)
  }

  func rows() -> RowReader {
    var rows = ObjectRows(self)
    return { (version) throws(ArchiveError) in
      guard case .archived(let position) = version.content else { return nil }
      return try rows.row(version, at: position)
    }
  }

  func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow {
    var rows = ObjectRows(self)
    return try rows.row(version, at: position)
  }
}
