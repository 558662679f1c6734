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

  /// - Parameter isReplacing: whether the file is written anew, whatever it has.
  func run(isReplacing: Bool) throws -> Report {
    // Beyond a limit for files, SQLite gets an error, and the process does not end.
    System.ignoreFileSizeSignal()
    guard FileManager.default.fileExists(atPath: path) else { return try writeAnew(hasImages) }
    if isReplacing {
      let known = try? HistoryDatabase.open(path, isWritten: false)?.origin
      return try writeAnew(hasImages || known?.hasImages == true)
    }
    let instead = "choose another file, or replace it with --force"
    var known = try HistoryDatabase.open(path, isWritten: true)
    guard let origin = try known?.origin else {
      throw Failure.no("\(path) is not a database that journal export has made; \(instead)")
    }
    guard origin.id == journal.id.description else {
      throw Failure.no("\(path) has the history of another journal, \(origin.id); \(instead)")
    }
    guard origin.revision <= head.revision else {
      throw Failure.no(
        "\(path) has the entries up to revision \(origin.revision.grouped), which is after "
          + "\(head.revision.grouped); \(instead)")
    }
    // What was erased or pruned since then must leave the database too.
    if try origin.base != base?.revision ?? 0 || isRewritten(since: origin.head) { known = nil }
    guard let known else { return try writeAnew(hasImages || origin.hasImages) }
    guard try digest(at: origin.revision) == origin.digest else {
      throw Failure.no(
        "\(path) has other entries up to revision \(origin.revision.grouped) than the journal; \(instead)")
    }
    return try write(to: known, after: origin.revision, hasImages || origin.hasImages)
  }

  private func digest(at revision: Revision) throws -> String {
    if let base, base.revision == revision { return base.digest.hex }
    return try revision == 0
      ? journal.version(asOf: .start).digest.hex : journal.entry(at: revision).digest.hex
  }

  /// Whether the journal was erased or pruned after an entry.
  func isRewritten(since revision: Revision) throws -> Bool {
    guard revision < journal.head.revision else { return false }
    let entries = journal.entries(revision + 1...journal.head.revision)
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
    let unfinished = name + ".unfinished"
    if try folder.status(of: unfinished) != nil {
      // An export that was killed holds no lock.
      guard try folder.file(unfinished, .updating).lock() else {
        throw Failure.no("another export is writing \(folder.path(of: unfinished)); wait until it ends")
      }
      try folder.removeFile(unfinished)
    }
    do {
      let new = try HistoryDatabase.create(folder.path(of: unfinished))
      let file = try folder.file(unfinished, .updating)
      _ = try file.lock()
      let report = try write(to: new, after: nil, hasImages)
      try file.flush()
      try removeCompanions(of: name, in: folder)
      if let mode = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] {
        try FileManager.default.setAttributes(
          [.posixPermissions: mode], ofItemAtPath: folder.path(of: unfinished))
      }
      try folder.rename(unfinished, to: name)
      try folder.flush()
      return report
    } catch {
      try? folder.removeFile(unfinished)
      throw error
    }
  }

  /// Removes what SQLite keeps next to the old file: SQLite would take it for a part of the new one.
  private func removeCompanions(of name: String, in folder: Folder<JournalError>) throws {
    if try folder.status(of: name) != nil, let old = try? Database(path, isNew: false) {
      let mode = try? old.rows("PRAGMA journal_mode = DELETE").first?.first
      if old.isBusy || mode == .text("wal") {
        throw Failure.no("another program uses \(path); end it, and export again")
      }
    }
    for suffix in ["-journal", "-wal", "-shm"] where try folder.status(of: name + suffix) != nil {
      try folder.removeFile(name + suffix)
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
    try database.endWriting(journal, head, hasImages: hasImages)
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
