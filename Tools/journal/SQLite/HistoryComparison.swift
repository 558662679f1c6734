import CatalogModel
import Foundation

extension HistoryExport {
  /// How a database that an export has made differs from the journal, row for row: it is compared with a new export of
  /// the same revision. Empty if they are equal.
  func differences() throws -> [String] {
    guard let known = try HistoryDatabase.open(path, isWritten: false), let origin = try known.origin else {
      return ["\(path) is not a database that journal export has made"]
    }
    guard origin.id == journal.id.description else {
      return ["it has the history of another journal, \(origin.id)"]
    }
    guard origin.revision <= journal.head.revision else {
      return ["it has entries up to revision \(origin.revision.grouped), which the journal does not have"]
    }
    guard origin.base == journal.base?.revision ?? 0, try !isRewritten(since: origin.head) else {
      return ["the journal was pruned or erased since; run journal export again"]
    }
    let folder = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let head = try journal.version(asOf: .revision(origin.revision)).head
    let fresh = folder.appending(path: "fresh.sqlite").path
    _ = try HistoryExport(
      journal: journal, path: fresh, head: head, hasImages: origin.hasImages, showProgress: showProgress
    ).run(isReplacing: false)
    return try known.differences(from: try Database(fresh, isNew: false))
  }
}

extension HistoryDatabase {
  fileprivate func differences(from fresh: Database) throws(Failure) -> [String] {
    var problems: [String] = []
    for row in try database.rows("PRAGMA integrity_check") where row != [.text("ok")] {
      problems.append("SQLite finds damage: \(row.map(\.shown).joined(separator: ", "))")
    }
    // What FTS5 keeps is compared with the texts.
    do throws(Failure) {
      try database.execute("INSERT INTO texts_search(texts_search, rank) VALUES('integrity-check', 1)")
    } catch {
      guard database.isDamaged else { throw error }
      problems.append("texts_search does not have the words of texts")
    }
    var names = ["journal", "tables", "columns", "entries", "changes", "texts", "image_bytes"]
    for row in try fresh.rows("SELECT name, history FROM tables") { names += row.map(\.shown) }
    let counts =
      #"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'texts\_search%' ESCAPE '\' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'"#
    for row in try database.rows(counts) where !names.contains(row[0].shown) {
      problems.append("there is another table, \(row[0].shown)")
    }
    for name in names {
      if let difference = try difference(of: name, from: fresh) { problems.append(difference) }
    }
    return problems
  }

  /// The first row in which a table differs; nil if there is none. Both tables are read in the order of their keys.
  private func difference(of name: String, from fresh: Database) throws(Failure) -> String? {
    // The journal's newest entry at the time of an export is no part of the history.
    let columns = name == "journal" ? "id, base, revision, digest, has_images" : "*"
    let query = "SELECT \(columns) FROM \(name.quoted)"
    let (known, right): (Statement, Statement)
    do throws(Failure) { known = try database.prepare(query) } catch { return "there is no table \(name)" }
    right = try fresh.prepare(query)
    var count = 0
    while true {
      count += 1
      let (row, other) = (try known.next(), try right.next())
      if row == nil, other == nil { return nil }
      if row != other {
        func text(_ row: [Database.Value]?) -> String {
          row.map { $0.map(\.shown).joined(separator: "|") } ?? "nothing"
        }
        return "row \(count.grouped) of \(name) is \(text(row)), but the journal has \(text(other))"
      }
    }
  }
}

extension Database.Value {
  fileprivate var shown: String {
    switch self {
    case .null: ""
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): text.printable.shortened(to: 60)
    case .blob(let bytes): "\(bytes.count.counted("byte"))"
    }
  }
}
