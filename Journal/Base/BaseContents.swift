import CBOR
import Files

package enum BaseRow {
  case there(EntityRow)
  case gone(Deletion)
}

/// The positions of entities in a base, so that an entity is found without reading the others.
package struct BaseContents: Sendable {
  /// The position of one row in this many is kept in memory.
  private static let sampleStep = 64
  /// The size of a deleted entity: its number and the revision of its newest event.
  private static let goneByteCount = 16

  struct Section: Sendable {
    fileprivate let kind: EntityKind
    fileprivate var rowCount = 0
    fileprivate var samples: [(number: Int, offset: Int)] = []
    fileprivate var goneOffset = 0
    fileprivate var goneCount = 0
    fileprivate var erased: Set<Int> = []
  }

  let base: HistoryBase
  let sections: [Section]

  /// Reads all bytes of a base, which have been compared with their digest.
  static func sections(of base: HistoryBase) throws(JournalError) -> [Section] {
    var sections: [Section] = []
    var cursor = BaseCursor(base, at: base.contentStart)
    let schema = try cursor.bytes(try cursor.number())
    guard schema == Array(base.schema.description.utf8) else { throw base.damaged }
    while cursor.offset < base.byteCount {
      guard let number = UInt8(exactly: sections.count) else { throw base.damaged }
      var section = Section(kind: EntityKind(rawValue: number))
      _ = try cursor.number()
      section.rowCount = try cursor.number()
      for index in 0..<section.rowCount {
        let offset = cursor.offset
        let number = try cursor.number()
        if index % sampleStep == 0 { section.samples.append((number, offset)) }
        try cursor.skip(16)
        try cursor.skip(try cursor.number())
      }
      section.goneCount = try cursor.number()
      section.goneOffset = cursor.offset
      try cursor.skip(try base.product(section.goneCount, goneByteCount))
      for _ in 0..<(try cursor.number()) { section.erased.insert(try cursor.number()) }
      sections.append(section)
    }
    return sections
  }

  /// An entity in the base; nil if the entity did not exist yet.
  /// - Complexity: O(log n) reads.
  func row(of entity: EntityKey, _ upcast: EventUpcast) throws(JournalError) -> BaseRow? {
    guard Int(entity.kind.rawValue) < sections.count else { return nil }
    let section = sections[Int(entity.kind.rawValue)]
    let after = section.samples.partitioningIndex { $0.number > entity.number }
    if after > 0 {
      var cursor = BaseCursor(base, at: section.samples[after - 1].offset, pieceByteCount: 16 << 10)
      for _ in 0..<min(Self.sampleStep, section.rowCount - (after - 1) * Self.sampleStep) {
        let number = try cursor.number()
        guard number <= entity.number else { break }
        if number == entity.number { return .there(try row(entity, &cursor, upcast)) }
        try cursor.skip(16)
        try cursor.skip(try cursor.number())
      }
    }
    func goneEntity(_ index: Int) throws(JournalError) -> (number: Int, revision: Revision) {
      var cursor = BaseCursor(
        base, at: section.goneOffset + index * Self.goneByteCount, pieceByteCount: Self.goneByteCount)
      return (try cursor.number(), try cursor.number())
    }
    let index = try (0..<section.goneCount).partitionPoint { (index) throws(JournalError) in
      try goneEntity(index).number >= entity.number
    }
    guard index < section.goneCount, case let found = try goneEntity(index), found.number == entity.number
    else { return nil }
    return try gone(found.number, at: found.revision, section)
  }

  /// Reads the rest of a row after its number.
  private func row(
    _ entity: EntityKey, _ cursor: inout BaseCursor, _ upcast: EventUpcast
  ) throws(JournalError) -> EntityRow {
    let (created, modified) = (try cursor.number(), try cursor.number())
    guard created > 0, created <= modified, modified <= base.head.revision else { throw base.damaged }
    let bytes = try cursor.bytes(try cursor.number())
    let record: EntityRecord
    do throws(CBORError) { record = try EntityRecord(checking: bytes) } catch { throw base.damaged }
    let event = try upcast(
      JournalEvent(entity: entity, previous: 0, change: .add(record)), from: base.schema.version, at: created)
    guard case .add(let current) = event.change else { throw base.damaged }
    return EntityRow(record: current, created: created, modified: modified)
  }

  private func gone(
    _ number: Int, at revision: Revision, _ section: Section
  ) throws(JournalError) -> BaseRow {
    guard revision > 0, revision <= base.head.revision else { throw base.damaged }
    return .gone(Deletion(revision: revision, isErased: section.erased.contains(number)))
  }

  /// Calls `body` with all entities in the order of kinds and numbers.
  /// - Complexity: O(n) in the bytes of the base; memory does not grow with them.
  package func forEach(
    _ upcast: EventUpcast, _ body: (EntityKey, BaseRow) throws(JournalError) -> Void
  ) throws(JournalError) {
    for section in sections {
      var rows = BaseCursor(base, at: section.samples.first?.offset ?? base.byteCount)
      var gone = BaseCursor(base, at: section.goneOffset)
      var (rowsLeft, goneLeft) = (section.rowCount, section.goneCount)
      var nextRow = rowsLeft > 0 ? try rows.number() : Int.max
      var nextGone = goneLeft > 0 ? try gone.number() : Int.max
      while rowsLeft > 0 || goneLeft > 0 {
        let entity = EntityKey(kind: section.kind, number: min(nextRow, nextGone))
        if nextRow < nextGone {
          try body(entity, .there(try row(entity, &rows, upcast)))
          rowsLeft -= 1
          nextRow = rowsLeft > 0 ? try rows.number() : Int.max
        } else {
          let revision = try gone.number()
          try body(entity, try self.gone(entity.number, at: revision, section))
          goneLeft -= 1
          nextGone = goneLeft > 0 ? try gone.number() : Int.max
        }
      }
    }
  }

  /// Changes the empty state into that of the base, by events.
  /// - Returns: the number of these events.
  package func load<State: EventSourced>(into state: inout State) throws(JournalError) -> Int {
    let upcast = try EventUpcast(State.self)
    var count = 0
    func apply(_ entity: EntityKey, _ previous: Revision, _ change: JournalEvent.Change, _ revision: Revision)
      throws(JournalError)
    {
      try state.apply(JournalEvent(entity: entity, previous: previous, change: change), at: revision)
      count += 1
    }
    try forEach(upcast) { entity, row throws(JournalError) in
      switch row {
      case .there(let row):
        try apply(entity, 0, .add(row.record), row.created)
        if row.modified != row.created {
          try apply(entity, row.created, .update(RecordChanges()), row.modified)
        }
      case .gone(let deletion):
        try apply(entity, 0, .erased(.add), deletion.revision)
        if !deletion.isErased { try apply(entity, deletion.revision, .delete, deletion.revision) }
      }
    }
    return count
  }
}

extension HistoryBase {
  /// The blobs that the records of the base name.
  package func blobs<State: EventSourced>(of model: State.Type) throws(JournalError) -> [Blob] {
    var blobs: [Blob] = []
    try contents().forEach(try EventUpcast(model)) { entity, row throws(JournalError) in
      if case .there(let row) = row { blobs += State.blobs(in: row.record, of: entity.kind) }
    }
    return blobs
  }

  fileprivate func product(_ count: Int, _ factor: Int) throws(JournalError) -> Int {
    let (product, overflows) = count.multipliedReportingOverflow(by: factor)
    guard !overflows else { throw damaged }
    return product
  }
}

/// Reads the bytes of a base from a position on, in pieces. Used by one thread.
struct BaseCursor {
  static let pieceByteCount = 1 << 20

  private let base: HistoryBase
  private let pieceByteCount: Int
  private var piece: [UInt8] = []
  private var position = 0
  private(set) var offset: Int

  init(_ base: HistoryBase, at offset: Int, pieceByteCount: Int = BaseCursor.pieceByteCount) {
    self.base = base
    self.offset = offset
    self.pieceByteCount = pieceByteCount
  }

  /// Reads a number of eight bytes.
  mutating func number() throws(JournalError) -> Int {
    try fill(8)
    var number: UInt64 = 0
    for index in position..<position + 8 { number = number << 8 | UInt64(piece[index]) }
    position += 8
    offset += 8
    guard let number = Int(exactly: number) else { throw base.damaged }
    return number
  }

  mutating func bytes(_ count: Int) throws(JournalError) -> [UInt8] {
    try fill(count)
    defer {
      position += count
      offset += count
    }
    return Array(piece[position..<position + count])
  }

  mutating func skip(_ count: Int) throws(JournalError) {
    guard count <= base.byteCount - offset else { throw base.damaged }
    offset += count
    position += count
    if position > piece.count { (piece, position) = ([], 0) }
  }

  private mutating func fill(_ count: Int) throws(JournalError) {
    if piece.count - position >= count { return }
    guard count <= base.byteCount - offset else { throw base.damaged }
    piece = try base.file.piece(
      at: offset, byteCount: min(max(count, pieceByteCount), base.byteCount - offset))
    position = 0
    guard piece.count >= count else { throw base.damaged }
  }
}
