import CBOR

extension Catalog: DefersUpdates {}

// Every event of a replay or a commit passes through here, and 1,000,000 of them should take well under a second. All
// checks come before the first change, so an event that throws has changed nothing.
extension Catalog {
  /// Applies an event.
  ///
  /// It checks that the event is possible in this state and that its record is valid in a catalog. It does not check
  /// that the category or item that a record names exists, because events may be in any order inside an entry.
  /// ``problems()`` checks that.
  /// - Throws: `JournalError` with code `damaged`; this state is then unchanged.
  /// - Complexity: O(log n)
  public mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    switch event.entity.kind {
    case .item: try applyToItem(event, at: revision)
    case .image: try applyToImage(event, at: revision)
    case .category:
      _ = try categoryTable.apply(event, at: revision) { record throws(CBORError) in
        try CategoryFields(record)
      }
    case .tag:
      _ = try tagTable.apply(event, at: revision) { record throws(CBORError) in try TagFields(record) }
    case .rule:
      _ = try ruleTable.apply(event, at: revision) { record throws(CBORError) in try RuleFields(record) }
      updateRules()
    default:
      throw JournalError(
        .damaged, "an event changes \(Self.name(of: event.entity)), but a catalog has no such kind",
        revision: revision)
    }
  }

  private mutating func applyToItem(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let number = event.entity.number
    let (before, after) = try itemTable.apply(event, at: revision, readingAlways: rules.concern(event)) {
      record throws(CBORError) in try ItemFields(record)
    }
    relist(number, from: before, to: after)
    let keepsKind =
      if let before, let after {
        before.record.bytes[before.fields.kind] == after.record.bytes[after.fields.kind]
      } else {
        false
      }
    if !keepsKind {
      if let before {
        itemsByKind.remove(
          number, from: itemKindNumbers.assign(textAt: before.fields.kind, in: before.record))
      }
      if let after {
        itemsByKind.insert(number, in: itemKindNumbers.assign(textAt: after.fields.kind, in: after.record))
      }
    }
    itemsByCategory.move(number, from: before?.fields.category, to: after?.fields.category)
  }

  private mutating func applyToImage(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let (before, after) = try imageTable.apply(event, at: revision) { record throws(CBORError) in
      try ImageFields(record)
    }
    imagesByItem.move(event.entity.number, from: before?.fields.item, to: after?.fields.item)
  }
}

extension EntityTable {
  /// Applies an event. Returns the records before and after it, each with the fields that `read` finds there. `read` is
  /// called before the change, and throws for an invalid record. If the event changes no field, nothing is read or
  /// returned unless `readingAlways` is true.
  @inline(__always)
  fileprivate mutating func apply<Fields>(
    _ event: JournalEvent, at revision: Revision, readingAlways: Bool = false,
    _ read: (EntityRecord) throws(CBORError) -> Fields
  ) throws(JournalError) -> (
    before: (record: EntityRecord, fields: Fields)?, after: (record: EntityRecord, fields: Fields)?
  ) {
    let number = event.entity.number
    if isErased(event) {
      guard let row = try applyErased(event, at: revision, in: Catalog.self) else { return (nil, nil) }
      return ((row.record, try event.fields(of: row.record, at: revision, read)), nil)
    }
    switch event.change {
    case .add(let record):
      try checkAdd(event, at: revision, in: Catalog.self)
      let fields = try event.fields(of: record, at: revision, read)
      add(number, record, at: revision)
      return (nil, (record, fields))
    case .update(let changes):
      let reads = readingAlways || changes.changeFields
      if !reads, deferUpdate(event, changes, at: revision) { return (nil, nil) }
      let row = try checkedRow(event, at: revision, in: Catalog.self)
      let new = row.applying(changes, at: revision)
      guard reads else {
        update(number, to: new)
        return (nil, nil)
      }
      let before = try event.fields(of: row.record, at: revision, read)
      let after = try event.fields(of: new.record, at: revision, read)
      update(number, to: new)
      return ((row.record, before), (new.record, after))
    case .delete:
      let row = try checkedRow(event, at: revision, in: Catalog.self)
      let fields = try event.fields(of: row.record, at: revision, read)
      delete(number, at: revision)
      return ((row.record, fields), nil)
    case .erased: return (nil, nil)
    }
  }
}

extension JournalEvent {
  /// The fields that `read` finds in a record of this event's entity. An error of `read` becomes `damaged`.
  @inline(__always)
  fileprivate func fields<Fields>(
    of record: EntityRecord, at revision: Revision, _ read: (EntityRecord) throws(CBORError) -> Fields
  ) throws(JournalError) -> Fields {
    do {
      return try read(record)
    } catch {
      throw JournalError(
        .damaged, "the record of \(Catalog.name(of: entity)) lacks a field or has one of another type",
        revision: revision, offset: error.offset, cause: error)
    }
  }
}

extension EntityIndex {
  /// Moves a member from one group to another; nil stands for no group.
  @inline(__always)
  fileprivate mutating func move(_ member: Int, from old: Int?, to new: Int?) {
    if old == new { return }
    if let old { remove(member, from: old) }
    if let new { insert(member, in: new) }
  }
}
