import CatalogModel
import EntitySearch
import Files
import Foundation
import JSON
import JournalMaintenance

/// Writes the history of a journal into a SQLite database, or continues one.
struct HistoryExport {
  let journal: CatalogJournal
  let path: String
  /// The last entry to export.
  let head: Head
  /// Whether the bytes of images are written too. A database that has them keeps them.
  var hasImages = false
  let showProgress: (_ done: Int, _ all: Int) -> Void

  struct Report {
    /// The first entry that was written.
    let first: Revision
    let entryCount: Int
    let changeCount: Int
    let kindsWithTooManyColumns: [String]
  }

  private var base: Head? { journal.base }

  /// - Parameter isReplacing: whether a file that this export can't continue is replaced.
  func run(isReplacing: Bool) throws -> Report {
    guard FileManager.default.fileExists(atPath: path) else { return try writeAnew(hasImages) }
    do {
      guard let known = try HistoryDatabase.open(path), let origin = try known.origin else {
        throw Failure.no("\(path) is not a database that journal export has made")
      }
      guard origin.id == journal.id.description else {
        throw Failure.no("\(path) has the history of another journal, \(origin.id)")
      }
      guard origin.revision <= head.revision else {
        throw Failure.no(
          "\(path) has the entries up to revision \(origin.revision.grouped), which is after \(head.revision.grouped)"
        )
      }
      // What was erased or pruned since then must leave the database too.
      guard origin.base == base?.revision ?? 0, try !isRewritten(since: origin.revision) else {
        return try writeAnew(hasImages || origin.hasImages)
      }
      guard try digest(at: origin.revision) == origin.digest else {
        throw Failure.no(
          "\(path) has other entries up to revision \(origin.revision.grouped) than the journal")
      }
      return try write(to: known, after: origin.revision, hasImages || origin.hasImages)
    } catch let failure as Failure where failure.code == .no {
      if isReplacing { return try writeAnew(hasImages) }
      throw Failure.no("\(failure.description); choose another file, or replace it with --force")
    }
  }

  private func digest(at revision: Revision) throws -> String {
    if let base, base.revision == revision { return base.digest.hex }
    return try revision == 0
      ? journal.version(asOf: .start).digest.hex : journal.entry(at: revision).digest.hex
  }

  func isRewritten(since revision: Revision) throws -> Bool {
    guard revision < head.revision else { return false }
    let entries = journal.entries(revision + 1...head.revision)
    while let entry = try entries.next() {
      if entry.rewriting != nil { return true }
    }
    return false
  }

  /// Writes a new file, which gets its name only when it is complete.
  private func writeAnew(_ hasImages: Bool) throws -> Report {
    let url = URL(fileURLWithPath: path)
    let folder = try Folder<JournalError>(url.deletingLastPathComponent().path, followsLinks: true, hook: nil)
    let name = url.lastPathComponent
    let unfinished = name + Folder<JournalError>.temporarySuffix
    try? folder.removeFile(unfinished)
    do {
      let report = try write(to: HistoryDatabase.create(folder.path(of: unfinished)), after: nil, hasImages)
      try folder.file(unfinished, .updating).flush()
      try folder.rename(unfinished, to: name)
      try folder.flush()
      return report
    } catch {
      try? folder.removeFile(unfinished)
      throw error
    }
  }

  /// - Parameter last: the newest entry that the database has; nil if the database is empty.
  private func write(to database: HistoryDatabase, after last: Revision?, _ hasImages: Bool) throws -> Report
  {
    try database.beginWriting()
    var rows = PastRows(journal)
    if last == nil, let base { try write(base, to: database, &rows) }
    let first = (last ?? base?.revision ?? 0) + 1
    var changeCount = 0
    if first <= head.revision {
      let entries = journal.entries(first...head.revision)
      while let entry = try entries.next() {
        try database.write(entry)
        let shared = ExportedEntry(entry)
        for event in entry.events {
          let (before, after, parts) = try rows.apply(event, at: entry.revision)
          try database.write(event.entity, event.operation.name, from: before, to: after, parts, in: shared)
        }
        changeCount += entry.events.count
        showProgress(entry.revision - first + 1, head.revision - first + 1)
      }
    }
    if hasImages {
      // Bytes that were erased, or that a node has not fetched, are left out.
      try database.writeImages { try journal.blobs.contains($0) ? journal.blobs.data(of: $0) : nil }
    }
    try database.endWriting(journal.id.description, base: base?.revision ?? 0, head, hasImages: hasImages)
    return Report(
      first: first, entryCount: head.revision - first + 1, changeCount: changeCount,
      kindsWithTooManyColumns: database.kindsWithTooManyColumns)
  }

  private func write(_ base: Head, to database: HistoryDatabase, _ rows: inout PastRows) throws {
    let state = try journal.state(asOf: .revision(base.revision))
    let entry = ExportedEntry(base: base)
    for (kind, table) in zip(Catalog.entityKinds, state.tables) {
      for (number, row) in table {
        try database.write(
          EntityKey(kind: kind, number: number), "base", from: nil, to: row,
          EntityRecord.differences(from: nil, to: row.record), in: entry)
      }
    }
    if let failure = state.failure { throw failure }
  }
}

/// The entities as of an entry that is read in order. Those that were changed lately are kept in memory.
private struct PastRows {
  private let journal: CatalogJournal
  private var known: [EntityKey: EntityRow] = [:]
  private var byteCount = 0

  private static let byteLimit = 64 << 20

  init(_ journal: CatalogJournal) { self.journal = journal }

  /// The entity before and after the next event, and what the event changes. An entity whose content was erased counts
  /// as missing.
  mutating func apply(
    _ event: JournalEvent, at revision: Revision
  ) throws -> (before: EntityRow?, after: EntityRow?, parts: [PartChange]) {
    let entity = event.entity
    switch event.change {
    case .erased: return (nil, nil, [])
    case .add(let record):
      let after = EntityRow(record: record, created: revision, modified: revision)
      keep(after, of: entity)
      return (nil, after, EntityRecord.differences(from: nil, to: record))
    case .update(let changes):
      guard let before = try row(of: entity, after: event.previous) else { return (nil, nil, []) }
      let after = before.applying(changes, at: revision)
      var parts: [PartChange] = []
      changes.visit { parts.append(PartChange(key: $0, old: before.record.value(of: $0), new: $1)) }
      keep(after, of: entity)
      return (before, after, parts)
    case .delete:
      let before = try row(of: entity, after: event.previous)
      byteCount -= known.removeValue(forKey: entity)?.byteCount ?? 0
      return (before, nil, before.map { EntityRecord.differences(from: $0.record, to: nil) } ?? [])
    }
  }

  private func row(of entity: EntityKey, after revision: Revision) throws -> EntityRow? {
    try known[entity] ?? journal.row(of: entity, after: revision)
  }

  private mutating func keep(_ row: EntityRow, of entity: EntityKey) {
    if byteCount > Self.byteLimit { (known, byteCount) = ([:], 0) }
    let old = known.updateValue(row, forKey: entity)
    byteCount += row.byteCount - (old?.byteCount ?? 0)
  }
}

extension EntityRow {
  /// About how many bytes the row takes in a dictionary.
  fileprivate var byteCount: Int { record.bytes.count + 128 }
}
