import CBOR
import CatalogModel
import Foundation
import JournalMaintenance
import SHA256
import TestSupport
import Testing

@testable import journal

/// `journal export J sqlite FILE`, and `journal verify J --export FILE`.
@Suite struct HistoryExportTests {
  private func withBooks(_ body: (_ books: String, _ file: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      try makeAuditedBooks(at: URL(filePath: path)).close()
      try body(path, folder.path("books.sqlite"))
    }
  }

  private func export(_ path: String, _ file: String, _ options: String...) throws -> Outcome {
    try journal(["export", path, "sqlite", file] + options)
  }

  private func rows(_ file: String, _ query: String) throws -> [String] {
    try Database(file, isNew: false).rows(query).map { row in
      row.map { value in
        switch value {
        case .null: "-"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let bytes): "\(bytes)"
        }
      }.joined(separator: "|")
    }
  }

  @Test func presentRowsVersionsChangesAndTextsAreTables() throws {
    try withBooks { path, file in
      let result = try export(path, file)
      #expect(result.output == "exported revision 4: 4 entries with 9 changes written to \(file)\n")
      #expect(
        try rows(file, "SELECT _id, title, stars, _created, _modified, _category FROM book") == [
          "1|Dune|4|1|4|-", "3|Solaris|-|4|4|-",
        ])
      #expect(
        try rows(
          file,
          "SELECT _id, title, stars, _valid_from, _valid_to, _author, _note, _operation, _ended_by FROM book_history"
        ) == [
          "1|Dun|3|1|2|ana|moving in|add|update", "1|Dune|5|2|3|bob|spelling|update|update",
          "1|Dune|5|3|4|bob|tidy up|update|update", "1|Dune|4|4|-|eve|new arrivals|update|-",
          "2|Emma|-|1|3|ana|moving in|add|delete",
          "3|Solaris|-|4|-|eve|new arrivals|add|-",
        ])
      // What did the text say on that day?
      let day = "2026-08-01T12:00:00"
      #expect(
        try rows(
          file,
          "SELECT title FROM book_history WHERE _valid_from_date <= '\(day)' AND coalesce(_valid_to_date, '9') > '\(day)'"
        ) == ["Dun", "Emma"])
      #expect(
        try rows(
          file,
          "SELECT revision, entity, field, old, new FROM changes WHERE author = 'bob' ORDER BY revision, entity DESC, field"
        ) == [
          "2|item:1|stars|3|5", "2|item:1|title|\"Dun\"|\"Dune\"", "3|item:2|@category|1|-",
          "3|item:2|@kind|\"book\"|-", "3|item:2|title|\"Emma\"|-", "3|item:1|@category|1|-",
          "3|category:1|@color|\"#2255AAFF\"|-", "3|category:1|@name|\"Novels\"|-",
        ])
      #expect(
        try rows(
          file,
          "SELECT t.row, t.valid_from, t.valid_to FROM texts_search s JOIN texts t ON t.id = s.rowid WHERE texts_search MATCH 'dun OR emma'"
        ) == ["1|1|2", "2|1|3"])
      #expect(
        try rows(file, "SELECT author, note, date FROM entries WHERE revision = 2") == [
          "bob|spelling|2026-08-02T09:00:00.000000Z"
        ])
    }
  }

  @Test func columnsAreTypedUnlessTheirValuesDiffer() throws {
    try withTemporaryFolder { folder in
      let (path, file) = (folder.path("J"), folder.path("j.sqlite"))
      let books = try CatalogJournal.create(at: URL(filePath: path))
      try books.commit { draft in
        try draft.addItem(
          kind: "sqlite_x",
          attributes: [
            "title": "007", "Title": 9_007_199_254_740_993, "TITLE": .unsigned(.max), "_id": 1, "": "empty",
            "a\0b": .data(Data([0, 255])), "on": true, "x": 1.5, "nil": .null, "nested": ["a": [1, "b"]],
            "price": FieldValue(number: Decimal(string: "3.33333333333333333333")!),
            "when": .date(Date(timeIntervalSinceReferenceDate: 0.000001)), "say \"hi\"": "\0NUL\0",
          ])
        try draft.addItem(kind: "entries", attributes: ["n": 1])
      }
      try books.close()
      #expect(try export(path, file).code == 0)
      let names = try rows(file, "SELECT name, history, kind FROM tables")
      #expect(names == ["_sqlite_x|_sqlite_x_history|sqlite_x", "entries_2|entries_2_history|entries"])
      let columns = Dictionary(
        uniqueKeysWithValues: try rows(
          file, "SELECT field, name, types FROM columns WHERE \"table\" = '_sqlite_x'"
        ).map {
          ($0.prefix { $0 != "|" }.description, String($0.drop { $0 != "|" }.dropFirst()))
        })
      #expect(columns["TITLE"] == "TITLE|TEXT" && columns["Title"] == "Title_2|INTEGER")
      #expect(columns["title"] == "title_3|TEXT" && columns["_id"] == "_id_2|INTEGER")
      #expect(columns[""] == "_|TEXT" && columns["a\0b"] == "a_b|BLOB" && columns["nil"] == "nil|")
      #expect(
        try rows(
          file,
          #"SELECT title_3, Title_2, TITLE, _id_2, "_", a_b, "on", x, "nil", nested, price, "when", hex("say ""hi""") FROM _sqlite_x"#
        ) == [
          #"007|9007199254740993|18446744073709551615|1|empty|[0, 255]|1|1.5|-|{"a":[1,"b"]}|3.33333333333333333333|2001-01-01T00:00:00.000001Z|004E554C00"#
        ])
      // A number in a column of texts stays a number, and the other way round.
      let again = try CatalogJournal.open(at: URL(filePath: path))
      try again.commit { try $0.updateItem(1, set: ["title": 7, "Title": "08", "x": "9.0"]) }
      try again.close()
      #expect(try export(path, file).code == 0)
      #expect(
        try rows(
          file, "SELECT typeof(title_3), title_3, typeof(Title_2), Title_2, typeof(x), x FROM _sqlite_x")
          == [
            "integer|7|text|08|text|9.0"
          ])
      #expect(
        try rows(file, "SELECT typeof(title_3), typeof(Title_2), typeof(x) FROM _sqlite_x_history") == [
          "text|integer|real", "integer|text|text",
        ])
      #expect(try journal("verify", path, "--export", file).code == 0)
    }
  }

  @Test func whatIsNewIsAddedAndEqualsANewExport() throws {
    try withTemporaryFolder { folder in
      var random = SeededGenerator()
      let (path, file) = (folder.path("J"), folder.path("j.sqlite"))
      let catalog = try CatalogJournal.create(at: URL(filePath: path))
      for round in 0..<6 {
        for _ in 0..<20 { try change(catalog, &random) }
        if round == 3 {
          let item = catalog.state.items.first { _ in true }!
          try catalog.erase([.item(item.id)], reason: "by law")
        }
        if round == 4 {
          try catalog.prune(before: .revision(catalog.head.revision - 30), reason: "old", by: "ana")
        }
        let images = round > 1 ? ["--images"] : []
        let result = try journal(["export", path, "sqlite", file] + images)
        #expect(result.code == 0, "\(result.error)")
        let compared = try journal("verify", path, "--export", file)
        #expect(compared.code == 0, "\(compared.output)\(compared.error)")
        try expectStates(of: catalog, in: file, &random)
      }
      try catalog.close()
    }
  }

  /// A commit of some random changes.
  private func change(_ catalog: CatalogJournal, _ random: inout SeededGenerator) throws {
    let blob = try catalog.blobs.add(Data(random.bytes(4)))
    try catalog.commit(by: ["ana", "bob"].randomElement(using: &random)!) { draft in
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        var values: [String: FieldValue] = [:]
        for name in ["a", "A", "b\(Int.random(in: 0..<30, using: &random))"] {
          values[name] = FieldValue.random(using: &random)
        }
        let known = Array(draft.state.items.map(\.id))
        switch (Int.random(in: 0..<8, using: &random), known.randomElement(using: &random)) {
        case (0, let item?) where known.count > 2: try draft.deleteItem(item)
        case (1..<5, let item?): try draft.updateItem(item, set: values, remove: ["b1", "b2"])
        case (5, let item?): try draft.addImage(to: item, name: "i", mediaType: "image/png", blob: blob)
        case (6, _): try draft.addCategory(name: "c\(random.next() % 100)")
        default: try draft.addItem(kind: ["p", "q", "P"].randomElement(using: &random)!, attributes: values)
        }
      }
    }
  }

  /// Expects that the versions of all tables at a random revision are the entities of that state.
  private func expectStates(
    of catalog: CatalogJournal, in file: String, _ random: inout SeededGenerator
  ) throws {
    let database = try Database(file, isNew: false)
    for revision in [
      catalog.head.revision,
      Int.random(in: (catalog.base?.revision ?? 0)...catalog.head.revision, using: &random),
    ] {
      let state = try catalog.state(asOf: .revision(revision))
      var count = 0
      for table in try database.rows("SELECT name, history, kind FROM tables WHERE entity = 'item'") {
        guard case (.text(let name), .text(let history), .text(let kind)) = (table[0], table[1], table[2])
        else { continue }
        let columns = try database.rows(
          #"SELECT name, field FROM columns WHERE "table" = ? ORDER BY place"#, .text(name))
        let list = columns.map { if case .text(let column) = $0[0] { ", \(column.quoted)" } else { "" } }
          .joined()
        let rows = try database.rows(
          "SELECT _id\(list) FROM \(history.quoted) WHERE _valid_from <= ?1 AND (_valid_to IS NULL OR _valid_to > ?1)",
          .integer(Int64(revision)))
        for row in rows {
          guard case .integer(let number) = row[0], let item = state.item(Catalog.Item.ID(Int(number))) else {
            Issue.record("row \(row) of \(name) at \(revision)")
            continue
          }
          count += 1
          #expect(item.kind == kind)
          for (column, value) in zip(columns, row.dropFirst()) {
            guard case .text(let field) = column[1], !field.hasPrefix("@") else { continue }
            #expect(
              value == item[field].map { Database.Value($0) } ?? .null,
              "\(field) of item \(number) at \(revision)")
          }
        }
      }
      #expect(count == state.items.count)
    }
  }

  @Test func whatWasErasedIsInNoByteOfTheFile() throws {
    try withBooks { path, file in
      #expect(try export(path, file).code == 0)
      #expect(try Data(contentsOf: URL(filePath: file)).range(of: Data("Solaris".utf8)) != nil)
      try CatalogJournal.erase([.item(3)], at: URL(filePath: path), reason: "by law")
      let stale = try journal("verify", path, "--export", file)
      #expect(stale.code == 1 && stale.output.contains("run journal export again"))
      #expect(try export(path, file).code == 0)
      #expect(try Data(contentsOf: URL(filePath: file)).range(of: Data("Solaris".utf8)) == nil)
      #expect(
        try rows(file, "SELECT revision, operation, field FROM changes WHERE entity = 'item:3'") == [
          "4|add|-"
        ])
      #expect(try journal("verify", path, "--export", file).code == 0)
    }
  }

  @Test func aFileAsOfAnEarlierRevisionForgetsWhatWasErasedLater() throws {
    try withBooks { path, file in
      #expect(try export(path, file, "--at", "2").code == 0)
      try CatalogJournal.erase([.item(2)], at: URL(filePath: path), reason: "by law")
      #expect(try export(path, file, "--at", "2").code == 0)
      #expect(try Data(contentsOf: URL(filePath: file)).range(of: Data("Emma".utf8)) == nil)
      #expect(try journal("verify", path, "--export", file).code == 0)
    }
  }

  /// SQLite keeps what it has not moved into the file yet in others next to it.
  @Test func whatSQLiteKeepsNextToTheFileIsNotTakenForAPartOfANewOne() throws {
    try withBooks { path, file in
      #expect(try export(path, file).code == 0)
      _ = try Database(file, isNew: false).rows("PRAGMA journal_mode = WAL")
      let reader = try Database(file, isNew: false)
      #expect(try reader.rows("SELECT count(*) FROM book") == [[.integer(2)]])
      let refused = try export(path, file, "--force")
      #expect(refused.code == 1 && refused.error.contains("another program uses"), "\(refused)")
    }
    try withBooks { path, file in
      try Data("of an older file".utf8).write(to: URL(filePath: file + "-journal"))
      #expect(try export(path, file).code == 0)
      #expect(!FileManager.default.fileExists(atPath: file + "-journal"))
      #expect(try journal("verify", path, "--export", file).code == 0)
      // A link stays one, and its file forgets.
      try FileManager.default.createSymbolicLink(atPath: file + ".link", withDestinationPath: file)
      #expect(try export(path, file + ".link", "--force").code == 0)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file + ".link") == file)
    }
  }

  @Test func namesThatLookLikeSQLAreOnlyNames() throws {
    try withTemporaryFolder { folder in
      let (path, file) = (folder.path("J"), folder.path("j.sqlite"))
      let catalog = try CatalogJournal.create(at: URL(filePath: path))
      // A quotation mark and an accent are one character of a string.
      let names = [
        "a\"\u{301}; DELETE FROM entries; --", "\"", "\"\"\u{301}\"", "x\0\u{301}", "e\u{301}", "\u{E9}",
      ]
      try catalog.commit { draft in
        for kind in names + ["image_bytes", "texts_search_data", "present_texts", "changes_of_entities"] {
          try draft.addItem(
            kind: kind, attributes: Dictionary(uniqueKeysWithValues: Set(names).map { ($0, "v") }))
        }
      }
      try catalog.commit { try $0.addItem(kind: "bare") }
      #expect(try export(path, file).code == 0)
      try catalog.commit { try $0.addItem(kind: "bare") }
      try catalog.close()
      #expect(try export(path, file).code == 0)
      #expect(try rows(file, "SELECT _id FROM bare").count == 2)
      #expect(try rows(file, "SELECT count(*) FROM entries") == ["3"])
      #expect(try rows(file, "SELECT count(*) FROM tables") == ["\(names.count + 5)"])
      #expect(try journal("verify", path, "--export", file).code == 0)
    }
  }

  @Test func aChangedDatabaseIsFoundByTheVerification() throws {
    try withBooks { path, file in
      for (forgery, message) in [
        ("UPDATE book_history SET stars = 4 WHERE stars = 5", "row 2 of book_history"),
        ("DELETE FROM changes WHERE revision = 2", "of changes is"),
        ("UPDATE entries SET author = 'eve' WHERE revision = 2", "row 2 of entries is 2|"),
        ("INSERT INTO texts_search(rowid, text) VALUES(1, 'forged')", "texts_search does not have the words"),
        ("CREATE TABLE more(x)", "there is another table, more"),
        ("DROP TABLE book", "there is no table book"),
      ] {
        // Also replaces the database that was changed before.
        #expect(try export(path, file, "--force").code == 0)
        do { try Database(file, isNew: false).execute(forgery) }
        let result = try journal("verify", path, "--export", file)
        #expect(result.code == 1 && result.output.contains(message), "\(forgery): \(result.output)")
      }
    }
  }

  @Test func noOtherFileIsReplacedWithoutForce() throws {
    try withBooks { path, file in
      try Data("a letter".utf8).write(to: URL(filePath: file))
      let refused = try export(path, file)
      #expect(refused.code == 1 && refused.error.contains("is not a database that journal export has made"))
      #expect(refused.error.contains("--force"))
      #expect(try export(path, file, "--force").code == 0)
      let other = path + "2"
      try makeShop(at: URL(filePath: other)).close()
      let foreign = try export(other, file)
      #expect(foreign.code == 1 && foreign.error.contains("the history of another journal"))
      let earlier = try export(path, file, "--at", "1")
      #expect(earlier.code == 1 && earlier.error.contains("up to revision 4, which is after 1"))
      #expect(try journal("verify", path, "--export", file).code == 0)
      #expect(try export(path, path + "/x").code == 2)
      // What an export that was killed has left is replaced, and never continued.
      try FileManager.default.removeItem(atPath: file)
      try Data("cut short".utf8).write(to: URL(filePath: file + ".unfinished"))
      #expect(try export(path, file).code == 0)
      #expect(!FileManager.default.fileExists(atPath: file + ".unfinished"))
    }
  }
}
