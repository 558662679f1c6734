import CBOR

extension Catalog {
  /// A name for a revision. The tag itself is recorded in the journal.
  public struct Tag: Identifiable, Hashable, Sendable {
    /// The number, from 1: `tag:3` has 3.
    public let id: EntityID<Catalog.Tag>
    private let row: EntityRow
    /// The revision that the tag names.
    public let revision: Revision

    init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
      revision = (try? TagFields(row.record))?.revision ?? 0
    }

    /// The tag as an entry has made it.
    package init(_ number: Int, made record: EntityRecord, at created: Revision) {
      self.init(number: number, row: EntityRow(record: record, created: created, modified: created))
    }

    /// The name of the tag.
    public var name: String {
      guard let fields = try? TagFields(row.record) else { return "" }
      return row.record.text(at: fields.name)
    }

    /// The revision of the entry that created the tag.
    public var created: Revision { row.created }
  }
}

extension Catalog {
  /// All tags, in the order of creation.
  public var tags: [Catalog.Tag] { tagTable.map { Catalog.Tag(number: $0.number, row: $0.row) } }

  /// The tag of that number, or nil if it does not exist. O(log n).
  public func tag(_ id: Catalog.Tag.ID) -> Catalog.Tag? {
    row(of: id.entity, contents.tagTable).map { Catalog.Tag(number: id.number, row: $0) }
  }

  /// The tag of that name, or nil if there is none.
  /// - Complexity: O(t) for t tags.
  public func tag(named name: String) -> Catalog.Tag? { tags.first { $0.name == name } }

  /// The revision that a tag names, or nil if there is no such tag.
  public func revision(tagged name: String) -> Revision? { tag(named: name)?.revision }
}

extension Draft where State == Catalog {
  /// Tags a revision with a name.
  /// - Parameters:
  ///   - name: begins with a letter and has letters, digits, `.`, `_`, `-` and `/`. It must not be another selector,
  ///     such as a date.
  ///   - revision: the revision of an earlier entry, or 0 for the empty journal.
  /// - Returns: the new tag's number.
  /// - Throws: ``JournalError`` with code `rejected` if the name is invalid or in use, or there is no such revision.
  @discardableResult
  public mutating func addTag(_ name: String, at revision: Revision) throws(JournalError) -> Catalog.Tag.ID {
    let number = state.tagTable.highest + 1
    guard name.utf8.count <= Rules.nameByteLimit else {
      throw Rules.rejected("the name of a tag has at most \(Rules.nameByteLimit) bytes")
    }
    guard RevisionSelector.isTagName(name) else {
      throw Rules.rejected(
        "\"\(name)\" can't be a tag: a tag begins with a letter, has letters, digits, \".\", \"_\", \"-\" and "
          + "\"/\" only, and is not a date")
    }
    if let tag = state.tag(named: name) {
      throw Rules.rejected(
        "the tag \(name) exists already, at revision \(tag.revision); delete it before you add another")
    }
    guard (0..<self.revision).contains(revision) else {
      throw Rules.rejected(
        "there is no revision \(revision) to be tagged; the newest one is \(self.revision - 1)")
    }
    try add(
      .tag(number),
      EntityRecord(fields: [TagField.name: .string(name), TagField.revision: .integer(Int64(revision))]))
    return EntityID(number)
  }

  /// Deletes a tag. It stays in the history.
  /// - Throws: ``JournalError`` with code `rejected` if there is no tag of that name.
  public mutating func deleteTag(_ name: String) throws(JournalError) {
    guard let tag = state.tag(named: name) else { throw Rules.rejected("there is no tag \(name)") }
    try delete(tag.id.entity)
  }
}

extension Journal where State == Catalog {
  /// Tags a point in time, as a separate entry.
  /// - Throws: ``JournalError``, as `commit` and ``revision(at:)`` do.
  @discardableResult
  public func tag(
    _ name: String, at selector: RevisionSelector = .head(), by author: String = "", note: String = ""
  ) throws -> Catalog.Tag {
    let revision = try revision(at: selector)
    let note = note.isEmpty ? "tagged revision \(revision) as \(name)" : note
    try commit(by: author, note: note) { try $0.addTag(name, at: revision) }
    guard let tag = state.tag(named: name) else {
      throw JournalError(.notFound, "the tag \(name) was deleted at the same time")
    }
    return tag
  }
}
