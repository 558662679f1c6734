import CatalogModel
import Foundation
import LevelDB
import TestSupport
import Testing

/// How the journals in `Tests/Corpus/journals` were made. They are frozen: as long as a format is read, its journals
/// are never made again. To add more, make new ones in another folder.
///
/// ```
/// JOURNAL_MAKE_FIXTURES=FOLDER swift test --filter FixtureMaker
/// ```
@Suite struct FixtureMaker {
  private static let target = ProcessInfo.processInfo.environment["JOURNAL_MAKE_FIXTURES"]

  @Test(.enabled(if: target != nil)) func theFrozenJournalsAreMadeInTheFolderOfTheEnvironment() throws {
    let folder = URL(filePath: try #require(Self.target))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try makeWhole(in: folder)
    try makeDamaged(in: folder)
    for name in try FormatFixture.names(in: folder) {
      try FormatFixture.said(of: folder.appending(path: name + ".journal"))
        .write(to: folder.appending(path: name + ".json"), atomically: true, encoding: .utf8)
    }
    let damaged = folder.appending(path: "damaged")
    var found: [String: FormatFixture.Damage] = [:]
    for name in try FormatFixture.names(in: damaged) {
      found[name] = try FormatFixture.damage(of: damaged.appending(path: name + ".journal"))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(found).write(to: folder.appending(path: "damaged.json"))
  }

  // MARK: Whole

  private var options: JournalOptions { JournalOptions(snapshots: .manual) }

  private func date(_ text: String) -> Date? { Timestamp(text)?.date }

  private func makeWhole(in folder: URL) throws {
    let finds = folder.appending(path: "Finds.journal")
    try makeFinds(at: finds)
    try CatalogJournal.create(at: folder.appending(path: "Empty.journal"), options: options).close()
    try CatalogJournal.erase(
      [.item(1)], at: copy(finds, as: "Erased.journal"), reason: "by law", includingWords: true)
    // A power loss while an entry was being written: the log ends in the middle of it, and HEAD does not know it.
    let torn = try copy(finds, as: "TornEnd.journal")
    let head = try Data(contentsOf: torn.appending(path: "HEAD"))
    let before = try log(of: torn)
    let journal = try CatalogJournal.open(at: torn, options: options)
    try journal.commit(by: "eve", note: "lost", date: date("2026-08-10T00:00:00Z")) { draft in
      try draft.addItem(kind: "find", attributes: ["name": .string("never acknowledged")])
    }
    try journal.close()
    #expect(before.lastPathComponent != (try log(of: torn)).lastPathComponent)
    let bytes = try Data(contentsOf: log(of: torn))
    try bytes.dropLast(20).write(to: log(of: torn))
    try head.write(to: torn.appending(path: "HEAD"))
  }

  /// Makes a journal with everything that a catalog can have in its log: tables and a log of LevelDB's, dates of two
  /// kinds, a checkpoint, and a restored entity.
  private func makeFinds(at url: URL) throws {
    var journal = try CatalogJournal.create(at: url, options: options)
    // The clock was wrong at the last of these entries.
    try commitFinds(
      to: journal, place: "the red field", metadata: ["device": "phone", "app": "3.1"],
      lastDate: "2026-07-01T00:00:00Z")
    try journal.takeSnapshot()
    journal = try again(journal, url)
    try journal.commit(by: "ana", note: "all kinds of values", date: date("2026-08-04T00:00:00Z")) { draft in
      try draft.addItem(
        kind: "sample",
        attributes: [
          "null": .null, "true": .bool(true), "integer": .integer(.min), "double": .double(-0.1),
          "text": .string("Grüße, 世界"), "data": .data(Data([0, 255])),
          "array": .array([.integer(1), .array([]), .dictionary([:])]),
          "nested": .dictionary(["a": .dictionary(["b": .date(Date(timeIntervalSince1970: 1e9))])]),
        ])
    }
    // The next entry carries a checkpoint only while the journal stays open.
    try journal.takeSnapshot()
    try journal.commit(date: date("2026-08-05T00:00:00Z")) { try $0.addTag("v1", at: 3) }
    journal = try again(journal, url)
    for number in 6...12 {
      try journal.commit(by: "eve", note: "\(number)", date: date("2026-08-06T00:00:0\(number % 10)Z")) {
        draft in
        try draft.addItem(kind: "note", attributes: ["number": .integer(Int64(number))])
      }
    }
    let plan = try journal.planRestore(of: .entities([.item(2)]), asOf: .revision(2))
    try journal.commit(plan, by: "ben", date: date("2026-08-07T00:00:00Z"))
    try journal.close()
    // Snapshots are not part of what is frozen, because they can be made again.
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path + "/snapshots") {
      try FileManager.default.removeItem(at: url.appending(path: "snapshots/\(name)"))
    }
  }

  /// Opening makes a table of LevelDB's log.
  private func again(_ journal: CatalogJournal, _ url: URL) throws -> CatalogJournal {
    try journal.close()
    return try CatalogJournal.open(at: url, options: options)
  }

  // MARK: Damaged

  private func makeDamaged(in folder: URL) throws {
    let finds = folder.appending(path: "Finds.journal")
    let damaged = folder.appending(path: "damaged")
    try FileManager.default.createDirectory(at: damaged, withIntermediateDirectories: true)
    func make(_ name: String, _ body: (URL) throws -> Void) throws {
      let url = damaged.appending(path: "\(name).journal")
      try FileManager.default.copyItem(at: finds, to: url)
      try body(url)
    }
    func change(_ url: URL, _ body: (inout Data) throws -> Void) throws {
      var bytes = try Data(contentsOf: url)
      try body(&bytes)
      try bytes.write(to: url)
    }
    func write(_ url: URL, _ body: (Database, inout WriteBatch) throws -> Void) throws {
      let database = try Database(path: url.path + "/entries", access: .existing)
      var batch = WriteBatch()
      try body(database, &batch)
      try database.write(&batch, sync: true)
      try database.close()
    }
    try make("AlteredTable") { url in
      try change(try entryTables(of: url)[1]) { $0[$0.count / 3] ^= 1 }
    }
    try make("MissingTable") { url in try FileManager.default.removeItem(at: entryTables(of: url)[0]) }
    try make("EmptyLog") { url in try change(log(of: url)) { $0 = Data() } }
    try make("CutLog") { url in try change(log(of: url)) { $0 = $0.prefix($0.count / 2) } }
    try make("MissingManifest") { url in
      let name = try #require(names(in: url.appending(path: "entries")).first { $0.hasPrefix("MANIFEST") })
      try FileManager.default.removeItem(at: url.appending(path: "entries/\(name)"))
    }
    try make("MissingHead") { url in try FileManager.default.removeItem(at: url.appending(path: "HEAD")) }
    try make("AlteredHead") { url in
      try change(url.appending(path: "HEAD")) { bytes in
        for slot in 0..<3 { bytes[slot * 4096 + 40] ^= 1 }
      }
    }
    try make("HeadOfAnother") { url in
      let other = try Data(contentsOf: folder.appending(path: "Empty.journal/HEAD"))
      try other.write(to: url.appending(path: "HEAD"))
    }
    try make("AlteredFormat") { url in
      try change(url.appending(path: "FORMAT")) { $0 += Data("may be ignored\n".utf8) }
    }
    try make("OlderFormat") { url in
      try change(url.appending(path: "FORMAT")) { $0[8] = UInt8(ascii: "1") }
    }
    try make("NewerFormat") { url in
      try change(url.appending(path: "FORMAT")) { $0[8] = UInt8(ascii: "3") }
    }
    try make("UnknownFeature") { url in
      try change(url.appending(path: "FORMAT")) { $0 += Data("must fold entries\n".utf8) }
    }
    // From here on, LevelDB's checksums of the altered entries are right.
    try make("ForgedEntry") { url in
      try write(url) { database, batch in
        var bytes = try #require(try database.value(for: key(4)))
        let place = try #require(Data(bytes).firstRange(of: Data("Gr".utf8)))
        bytes[place.lowerBound] = UInt8(ascii: "g")
        batch.put(key(4), bytes)
      }
    }
    try make("ForgedNewestEntry") { url in
      try write(url) { database, batch in
        var bytes = try #require(try database.value(for: key(13)))
        let place = try #require(Data(bytes).firstRange(of: Data("ben".utf8)))
        bytes[place.lowerBound] = UInt8(ascii: "B")
        batch.put(key(13), bytes)
      }
    }
    try make("GarbledEntry") { url in
      try write(url) { _, batch in batch.put(key(8), Array("no entry".utf8)) }
    }
    try make("NewerEntry") { url in
      try write(url) { database, batch in
        var bytes = try #require(try database.value(for: key(9)))
        // A map, its key 0, and the version.
        bytes[2] = 3
        batch.put(key(9), bytes)
      }
    }
    try make("AlteredImage") { url in
      let name = try #require(names(in: url.appending(path: "images")).first)
      try Data("jello".utf8).write(to: url.appending(path: "images/\(name)"))
    }
    try make("MissingImage") { url in
      let name = try #require(names(in: url.appending(path: "images")).first)
      try FileManager.default.removeItem(at: url.appending(path: "images/\(name)"))
    }
  }

  private func copy(_ url: URL, as name: String) throws -> URL {
    let target = url.deletingLastPathComponent().appending(path: name)
    try FileManager.default.copyItem(at: url, to: target)
    return target
  }

  private func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  /// LevelDB's newest log.
  private func log(of url: URL) throws -> URL {
    let entries = url.appending(path: "entries")
    try cutZerosAhead(ofLogsIn: entries)
    return entries.appending(path: try #require(try names(in: entries).last { $0.hasSuffix(".log") }))
  }

  private func key(_ revision: Int) -> [UInt8] {
    [UInt8(ascii: "e")] + (0..<8).map { UInt8(truncatingIfNeeded: revision >> (56 - 8 * $0)) }
  }
}
