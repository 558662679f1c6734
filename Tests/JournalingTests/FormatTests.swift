import Foundation
import JournalMaintenance
import LevelDB
import TestSupport
import Testing

@testable import Journaling

/// Documentation/Format.md, compared with the code. Its bytes are frozen here, and a journal that is made of them by
/// hand must open forever.
@Suite struct FormatTests {
  // MARK: Reading

  @Test func aJournalOfTheDocumentedBytesOpens() throws {
    try withDocumentedJournal { url in
      let journal = try Journal<Ledger>.open(at: url)
      #expect(journal.id.description == "b8d6f358-f45b-4c12-bd27-53cd0bd018ba")
      #expect(try (1...4).map { try journal.entry(at: $0).digest.hex } == Documented.digests)
      #expect(journal.head.digest.hex == Documented.digests[3])
      let verification = try journal.verify(.deep)
      #expect(verification.problems.isEmpty)
      #expect(verification.checkpointCount == 1)

      let first = try journal.entry(at: 1)
      #expect(first.author == "ana")
      #expect(first.note == "moving in")
      #expect(first.metadata == ["app": "bank"])
      #expect(first.date == Date(timeIntervalSince1970: 1_785_578_400))
      #expect(first.clockDate == first.date)
      #expect(first.schemaVersion == 1)
      #expect(!first.isAnnotationErased)
      #expect(first.previousDigest.hex == Documented.formatDigest)
      #expect(
        first.events == [
          JournalEvent(
            entity: .account(1), previous: 0,
            change: .add(EntityRecord(["owner": .string("Ana"), "balance": .integer(100)]))),
          JournalEvent(
            entity: .account(2), previous: 0,
            change: .add(EntityRecord(["owner": .string("Bob"), "balance": .integer(0)]))),
        ])
      let third = try journal.entry(at: 3)
      #expect(third.date == Date(timeIntervalSince1970: 1_785_582_000.5))
      #expect(
        third.events == [
          JournalEvent(
            entity: .account(1), previous: 2,
            change: .update(RecordChanges(set: ["balance": .integer(100)], remove: ["owner"]))),
          JournalEvent(entity: .account(2), previous: 2, change: .delete),
        ])
      let fourth = try journal.entry(at: 4)
      #expect(fourth.author.isEmpty)
      #expect(fourth.date == third.date)
      #expect(fourth.clockDate == Date(timeIntervalSince1970: 1_785_578_400.5))
      #expect(try journal.state(asOf: .revision(2)).accounts.map { $0.row.balance } == [70, 30])
      #expect(journal.state.accounts.map { $0.row.balance } == [100, 5])
      let state = try journal.state(asOf: .revision(3))
      #expect(StateDigest.digest(of: state)?.hex == Documented.stateDigest)

      // The journal takes further commits.
      try journal.commit { try $0.deposit(1, on: 1) }
      #expect(try journal.entry(at: 5).previousDigest.hex == Documented.digests[3])
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.revision == 5)
    }
  }

  @Test func anEmptyJournalHasTheDigestOfItsFormat() throws {
    try withLedger { journal, url in
      let format = try Data(contentsOf: url.appending(path: "FORMAT"))
      #expect(journal.head.digest == SHA256Hash.digest([2] + Array(format)))
      #expect(journal.head.revision == 0)
      let digest = journal.head.digest
      try journal.commit { try $0.open(owner: "Ana") }
      #expect(try journal.entry(at: 1).previousDigest == digest)
    }
  }

  private static let otherBytes: [(Int, UInt8, String)] = [
    (0, 0xA6, "a map of six"), (2, 0x01, "version 1"), (24, 0x04, "a checkpoint of itself"),
    (26, 0x00, "version 0 of the model"), (29, 0x1F, "a digest of another length"), (63, 0x82, "two events"),
    (65, 0x03, "an unknown operation"), (69, 0x82, "no checkpoint"), (70, 0x50, "a salt without content"),
    (72, 0x25, "a payload that ends late"), (89, 0xA3, "three attributes"), (108, 0xF8, "a simple value"),
    (110, 0x2F, "a checkpoint that ends early"), (27, 0x03, "a key twice"),
  ]

  @Test(arguments: otherBytes)
  func anEntryOfAnotherFormIsRefused(_ offset: Int, _ byte: UInt8, _ what: String) throws {
    var entries = Documented.entries
    entries[3][offset] = byte
    let error = try openingError(entries)
    #expect(error.cause is CBORError, "\(what)")
  }

  /// Opening does not read the contents of checkpoints. Only `verify(.deep)` used to read them.
  @Test func verificationReadsTheContentsOfCheckpoints() throws {
    var entries = Documented.entries
    // A digest of 31 bytes.
    entries[3][110] = 0x2F
    entries[3].removeLast()
    try withDocumentedJournal(entries: entries) { url in
      // HEAD has not seen that entry.
      let file = url.appending(path: "HEAD")
      var head = try Data(contentsOf: file)
      head.replaceSubrange(0..<68, with: Data(count: 68))
      try head.write(to: file)
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(journal.head.revision == 4)
      for deep in [false, true] {
        let problems = try journal.verify(deep ? .deep : .everything).problems
        #expect(problems.first?.code == .damaged && problems.first?.revision == 4, "\(problems)")
      }
      try journal.close()
    }
  }

  @Test func aNumberThatIsNoOperationIsRefused() throws {
    var entries = Documented.entries
    // 256, whose low byte is the operation of an add.
    entries[3].replaceSubrange(65...65, with: [0x19, 0x01, 0x00])
    #expect(try openingError(entries).cause is CBORError)
  }

  @Test(arguments: [6, 18, 40, 80, 95, 120, 158])
  func anEntryWithAlteredContentIsRefused(_ offset: Int) throws {
    var entries = Documented.entries
    entries[3][offset] ^= 1
    #expect(try openingError(entries).message.contains("acknowledged"))
  }

  @Test func anEventThatFollowsAnotherThanTheNewestIsRefused() throws {
    var entries = Documented.entries
    entries[3][68] = 3
    #expect(
      try openingError(entries).message.contains("account:3 follows its revision 3, but the newest one is 0"))
  }

  @Test func bytesAfterAnEntryAreRefused() throws {
    var entries = Documented.entries
    entries[3].append(0)
    #expect(try openingError(entries).cause is CBORError)
  }

  /// The error of opening a journal whose fourth entry is not the documented one.
  private func openingError(_ entries: [[UInt8]]) throws -> JournalError {
    try withDocumentedJournal(entries: entries) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .damaged)
      #expect(error?.revision == 4)
      return try #require(error)
    }
  }

  // MARK: Later versions

  @Test func unknownPartsThatMayBeIgnoredAreIgnored() throws {
    let format = Documented.format + "may COLOURS all of them\nmay PAINT oil\n"
    try withDocumentedJournal(entries: Documented.entries + [Documented.Fifth.withExtensions]) { url in
      let journal = try Journal<Ledger>.open(at: url)
      #expect(journal.state.accounts[1]?.balance == 7)
      #expect(try journal.entry(at: 5).author == "eve")
      #expect(try journal.verify(.deep).problems.isEmpty)
      try journal.close()
    }
    // The first entry was sealed with another FORMAT, so this one can only be parsed by itself.
    #expect(throws: Never.self) { try JournalFormat(Array(format.utf8), path: "") }
  }

  @Test(arguments: [
    Documented.Fifth.withFeature, Documented.Fifth.ofVersion3, Documented.Fifth.ofNewerModel,
  ])
  func anEntryOfALaterVersionIsNewerAndNotDamaged(_ entry: [UInt8]) throws {
    try withDocumentedJournal(entries: Documented.entries + [entry]) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .newerFormat)
      #expect(error?.revision == 5)
    }
  }

  @Test func anAnnotationOfALaterVersionIsNewerAndNotDamaged() throws {
    try withDocumentedJournal(entries: Documented.entries + [Documented.Fifth.withAnnotationFeature]) { url in
      // The state does not depend on the annotation.
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      let error = #expect(throws: JournalError.self) { try journal.entry(at: 5) }
      #expect(error?.code == .newerFormat)
    }
  }

  @Test(arguments: [
    ("ERASING", "erasing 2 all\n"), ("RECEIPT", "receipt 2\n"), ("SHARED", "shared 2\nx\ny\n"),
  ])
  func aFileOfALaterVersionIsNewerAndNotDamaged(_ name: String, _ text: String) throws {
    try withLedger { journal, url in
      try journal.close()
      try Data(text.utf8).write(to: url.appending(path: name))
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url).backupReceipt() }
      #expect(
        error?.code == .newerFormat && error?.path?.hasSuffix(name) == true, "\(String(describing: error))")
      #expect(error?.message.contains("version 2") == true)
      guard name == "ERASING" else { return }
      let advice = try Journal<Ledger>.diagnose(url).problems.map(\.advice)
      #expect(advice == ["Use a newer version of this program."])
    }
  }

  @Test func aDateThatNoEntryCanHaveIsRefused() throws {
    try withDocumentedJournal(entries: Documented.entries + [Documented.Fifth.inYear10000]) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .damaged)
      #expect(error?.revision == 5)
    }
  }

  private static let otherFormats: [(text: String, code: JournalError.Code)] = {
    let format = Documented.format
    func ofModel(_ model: String) -> String { format.replacingOccurrences(of: "ledger 1", with: model) }
    var formats: [(text: String, code: JournalError.Code)] = []
    formats.append(("journal 1 b8d6f358-f45b-4c12-bd27-53cd0bd018ba\n", .olderFormat))
    formats.append(("journal 3 and nobody knows\nwhat else\n", .newerFormat))
    formats.append(("\(format)must COLOURS all of them\n", .newerFormat))
    formats.append((ofModel("ledger 2"), .newerFormat))
    formats.append((ofModel("notebook 7"), .otherModel))
    for text in [
      ofModel("ledger 0"), ofModel("ledger"), "\(format)will COLOURS all of them\n",
      String(format.dropLast()),
      "\(format)\n", format.uppercased(), "",
      // This one is valid, but the first entry was sealed with another one.
      "\(format)may COLOURS all of them\n",
    ] { formats.append((text, .damaged)) }
    return formats
  }()

  @Test(arguments: otherFormats)
  func anotherOrInvalidFORMATIsRefused(_ format: String, _ code: JournalError.Code) throws {
    try withDocumentedJournal(format: format) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == code)
      #expect(error?.path?.hasPrefix(url.path) == true)
    }
  }

  // MARK: Writing

  @Test func writtenJournalsHaveTheDocumentedBytes() throws {
    try withLedger { journal, url in
      try journal.commit(by: "ana", note: "moving in", metadata: ["app": "bank"]) { draft in
        _ = try draft.open(owner: "Ana", balance: 100)
        _ = try draft.open(owner: "Bob")
      }
      try journal.commit(by: "bob", note: "rent") { try $0.transfer(30, from: 1, to: 2) }
      let (id, digests) = (journal.id, [try journal.entry(at: 1).digest, journal.head.digest])
      try journal.close()

      let format = try String(contentsOf: url.appendingPathComponent("FORMAT"), encoding: .utf8)
      #expect(format == "journal 2 \(id)\nmodel ledger 1\n")
      let head = try Data(contentsOf: url.appendingPathComponent("HEAD"))
      #expect(head.count == 3 * 4096)
      var slots: Set<[UInt8]> = []
      for start in stride(from: 0, to: head.count, by: 4096) {
        let slot = head.dropFirst(start)
        slots.insert(Array(slot.prefix(64)))
        #expect(slot.dropFirst(68).prefix(4096 - 68).allSatisfy { $0 == 0 })
      }
      // Which slot has which mark depends on when HEAD was flushed, but one has the newest.
      let newest = Array("JRNLHEAD".utf8) + id.bytes + [0, 0, 0, 0, 0, 0, 0, 2] + digests[1].bytes
      #expect(slots.contains(newest))

      let database = try Database(path: url.appendingPathComponent("entries").path, access: .readOnly)
      #expect(try database.value(for: Array("m".utf8)) == id.bytes)
      var keys: [[UInt8]] = []
      try unsafe database.scan(from: [], through: [0xff]) { key, _ in
        keys.append(unsafe Array(key))
        return .next
      }
      #expect(keys == [Documented.key(1), Documented.key(2), Array("m".utf8)])

      // Apart from date, salts and the digest before it, an entry of the same events has the same bytes.
      for revision in 1...2 {
        var bytes = try #require(try database.value(for: Documented.key(revision)))
        let documented = Documented.entries[revision - 1]
        try #require(bytes.count == documented.count)
        for range in Documented.variable[revision - 1] {
          bytes.replaceSubrange(range, with: documented[range])
        }
        #expect(bytes == documented)
      }
    }
  }

  @Test func theDigestIsTheDocumentedHash() {
    #expect(SHA256Hash.digest([2] + Array(Documented.format.utf8)).hex == Documented.formatDigest)
    for (index, entry) in Documented.entries.enumerated() {
      let (end, parts) = Documented.parts[index]
      let sealed =
        [1] + Documented.journalID + [0, 0, 0, 0, 0, 0, 0, UInt8(index + 1)] + entry[..<end]
        + parts.flatMap { SHA256Hash.digest([0] + entry[$0]).bytes }
      #expect(SHA256Hash.digest(sealed).hex == Documented.digests[index])
    }
  }

  @Test func recordsAndChangesHaveTheDocumentedBytes() throws {
    let book = EntityRecord(["title": .string("Dune")], fields: [0: .string("book"), 1: .integer(3)])
    #expect(book.bytes == bytes("a30064626f6f6b0103657469746c656444756e65"))
    let changes = RecordChanges(set: ["title": .string("Arrakis")], removeFields: [1])
    #expect(changes.bytes == bytes("a201f7657469746c6567417272616b6973"))
    let document = try Documented.text.replacingOccurrences(of: " ", with: "")
    #expect(document.contains("h'\(hex(book.bytes))'"))
    #expect(document.contains("h'\(hex(changes.bytes))'"))
  }

  // MARK: The document

  @Test func theDocumentShowsTheFrozenBytes() throws {
    let text = try Documented.text
    // The listing that the recomputation begins with consists of hexadecimal texts in quotes.
    let quoted = text.split(separator: "\"").filter { $0.count > 8 && $0.allSatisfy(\.isHexDigit) }
    let listing: String = quoted.map { String($0) }.joined()
    #expect(listing == hex(Documented.journalID + Documented.entries.joined()))
    for digest in Documented.digests + [Documented.stateDigest, Documented.formatDigest] {
      #expect(text.contains(digest))
    }

    let words = text.replacingOccurrences(of: " ", with: "").replacingOccurrences(of: "\n", with: "")
    #expect(words.contains("0000" + hex(Documented.slots[0]) + "1000" + hex(Documented.slots[1])))

    // Each line of the annotated entry has an offset of five columns, bytes, two spaces, and what the bytes mean.
    let start = try #require(text.range(of: "     a7      ")).lowerBound
    let end = try #require(text.range(of: "```", range: start..<text.endIndex)).lowerBound
    let annotated = text[start..<end].split(separator: "\n").flatMap { line in
      let bytes = line.dropFirst(5).drop { $0 == " " }
      return bytes.prefix(upTo: bytes.range(of: "  ")?.lowerBound ?? bytes.endIndex).filter { $0 != " " }
    }
    #expect(String(annotated) == hex(Documented.entries[3]))
  }
}
