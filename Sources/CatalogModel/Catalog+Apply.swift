import CBOR

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
    case .category: try applyToCategory(event, at: revision)
    case .tag: try applyToTag(event, at: revision)
    default:
      throw JournalError(
        .damaged, "an event changes \(Self.name(of: event.entity)), but a catalog has no such kind",
        revision: revision)
    }
  }

  private mutating func applyToItem(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let number = event.entity.number
    if itemTable.isErased(event) { return try applyErasedToItem(event, at: revision) }
    switch event.change {
    case .add(let record):
      try itemTable.checkAdd(event, at: revision, in: Self.self)
      let fields = try event.check(at: revision) { () throws(CBORError) in try ItemFields(record) }
      itemTable.add(number, record, at: revision)
      list(number, record, fields)
    case .update(let changes):
      let row = try itemTable.checkedRow(event, at: revision, in: Self.self)
      let new = row.applying(changes, at: revision)
      guard changes.changeFields else { return itemTable.update(number, to: new) }
      let (before, after) = try event.check(at: revision) { () throws(CBORError) in
        (try ItemFields(row.record), try ItemFields(new.record))
      }
      itemTable.update(number, to: new)
      if row.record.bytes[before.kind] != new.record.bytes[after.kind] {
        itemsByKind.remove(number, from: itemKindNumbers.assign(textAt: before.kind, in: row.record))
        itemsByKind.insert(number, in: itemKindNumbers.assign(textAt: after.kind, in: new.record))
      }
      if before.category != after.category {
        if let category = before.category { itemsByCategory.remove(number, from: category) }
        if let category = after.category { itemsByCategory.insert(number, in: category) }
      }
    case .delete:
      let row = try itemTable.checkedRow(event, at: revision, in: Self.self)
      let fields = try event.check(at: revision) { () throws(CBORError) in try ItemFields(row.record) }
      itemTable.delete(number, at: revision)
      unlist(number, row.record, fields)
    case .erased:
      try applyErasedToItem(event, at: revision)
    }
  }

  private mutating func applyErasedToItem(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    guard let row = try itemTable.applyErased(event, at: revision, in: Self.self) else { return }
    let fields = try event.check(at: revision) { () throws(CBORError) in try ItemFields(row.record) }
    unlist(event.entity.number, row.record, fields)
  }

  private mutating func list(_ item: Int, _ record: EntityRecord, _ fields: ItemFields) {
    itemsByKind.insert(item, in: itemKindNumbers.assign(textAt: fields.kind, in: record))
    if let category = fields.category { itemsByCategory.insert(item, in: category) }
  }

  private mutating func unlist(_ item: Int, _ record: EntityRecord, _ fields: ItemFields) {
    itemsByKind.remove(item, from: itemKindNumbers.assign(textAt: fields.kind, in: record))
    if let category = fields.category { itemsByCategory.remove(item, from: category) }
  }

  private mutating func applyToImage(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let number = event.entity.number
    if imageTable.isErased(event) { return try applyErasedToImage(event, at: revision) }
    switch event.change {
    case .add(let record):
      try imageTable.checkAdd(event, at: revision, in: Self.self)
      let fields = try event.check(at: revision) { () throws(CBORError) in try ImageFields(record) }
      imageTable.add(number, record, at: revision)
      imagesByItem.insert(number, in: fields.item)
    case .update(let changes):
      let row = try imageTable.checkedRow(event, at: revision, in: Self.self)
      let new = row.applying(changes, at: revision)
      let (before, after) = try event.check(at: revision) { () throws(CBORError) in
        (try ImageFields(row.record), try ImageFields(new.record))
      }
      imageTable.update(number, to: new)
      if before.item != after.item {
        imagesByItem.remove(number, from: before.item)
        imagesByItem.insert(number, in: after.item)
      }
    case .delete:
      let row = try imageTable.checkedRow(event, at: revision, in: Self.self)
      let fields = try event.check(at: revision) { () throws(CBORError) in try ImageFields(row.record) }
      imageTable.delete(number, at: revision)
      imagesByItem.remove(number, from: fields.item)
    case .erased:
      try applyErasedToImage(event, at: revision)
    }
  }

  private mutating func applyErasedToImage(_ event: JournalEvent, at revision: Revision) throws(JournalError)
  {
    guard let row = try imageTable.applyErased(event, at: revision, in: Self.self) else { return }
    let fields = try event.check(at: revision) { () throws(CBORError) in try ImageFields(row.record) }
    imagesByItem.remove(event.entity.number, from: fields.item)
  }

  private mutating func applyToCategory(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let number = event.entity.number
    if categoryTable.isErased(event) { return try applyErasedToCategory(event, at: revision) }
    switch event.change {
    case .add(let record):
      try categoryTable.checkAdd(event, at: revision, in: Self.self)
      _ = try event.check(at: revision) { () throws(CBORError) in try CategoryFields(record) }
      categoryTable.add(number, record, at: revision)
    case .update(let changes):
      let new = try categoryTable.checkedRow(event, at: revision, in: Self.self).applying(
        changes, at: revision)
      _ = try event.check(at: revision) { () throws(CBORError) in try CategoryFields(new.record) }
      categoryTable.update(number, to: new)
    case .delete:
      _ = try categoryTable.checkedRow(event, at: revision, in: Self.self)
      categoryTable.delete(number, at: revision)
    case .erased:
      try applyErasedToCategory(event, at: revision)
    }
  }

  private mutating func applyErasedToCategory(_ event: JournalEvent, at revision: Revision)
    throws(JournalError)
  {
    _ = try categoryTable.applyErased(event, at: revision, in: Self.self)
  }
}

extension Catalog {
  private mutating func applyToTag(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    if case .add(let record) = event.change {
      _ = try event.check(at: revision) { () throws(CBORError) in try TagFields(record) }
    }
    if case .update(let changes) = event.change {
      let row = try tagTable.checkedRow(event, at: revision, in: Self.self)
      _ = try event.check(at: revision) { () throws(CBORError) in
        try TagFields(row.record.applying(changes))
      }
    }
    try tagTable.apply(event, at: revision, in: Self.self)
  }
}

extension JournalEvent {
  /// Calls `body`, which reads the records of this event, and turns its error into damage.
  @inline(__always)
  fileprivate func check<Result>(
    at revision: Revision, _ body: () throws(CBORError) -> Result
  ) throws(JournalError) -> Result {
    do {
      return try body()
    } catch {
      throw JournalError(
        .damaged, "the record of \(Catalog.name(of: entity)) lacks a field or has one of another type",
        revision: revision, offset: error.offset, cause: error)
    }
  }
}
