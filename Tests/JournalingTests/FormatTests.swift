import Foundation
import Journaling
import LevelDB
import TestSupport
import Testing

/// Documentation/Format.md, held against the code: the bytes in it are frozen here, and a journal that is made
/// of them by hand must open for ever.
@Suite struct FormatTests {
  // MARK: Reading

  @Test func aJournalOfTheDocumentedBytesOpens() throws {
    try withDocumentedJournal { url in
      let journal = try Journal<Ledger>.open(at: url)
      #expect(journal.id.description == "b8d6f358-f45b-4c12-bd27-53cd0bd018ba")
      #expect(try (1...3).map { try journal.entry(at: $0).digest.hex } == Documented.digests)
      #expect(journal.head.digest.hex == Documented.digests[2])
      #expect(try journal.verify().problems.isEmpty)

      let first = try journal.entry(at: 1)
      #expect(first.author == "ana")
      #expect(first.note == "moving in")
      #expect(first.metadata == ["app": "bank"])
      #expect(first.date == Date(timeIntervalSince1970: 1_785_578_400))
      #expect(first.previousDigest == .zero)
      #expect(
        first.events == [
          Event(
            entity: .account(1), previous: 0,
            change: .add(Record(["owner": .string("Ana"), "balance": .integer(100)]))),
          Event(
            entity: .account(2), previous: 0,
            change: .add(Record(["owner": .string("Bob"), "balance": .integer(0)]))),
        ])
      let third = try journal.entry(at: 3)
      #expect(third.date == Date(timeIntervalSince1970: 1_785_582_000.5))
      #expect(
        third.events == [
          Event(
            entity: .account(1), previous: 2,
            change: .update(RecordChanges(set: ["balance": .integer(100)], remove: ["owner"]))),
          Event(entity: .account(2), previous: 2, change: .delete),
        ])
      #expect(try journal.state(asOf: .revision(2)).accounts.map { $0.row.balance } == [70, 30])
      #expect(journal.state.accounts.map { $0.row.balance } == [100])
      #expect(StateDigest.digest(of: journal.state)?.hex == Documented.stateDigest)

      // And it goes on from there.
      try journal.commit { try $0.deposit(1, on: 1) }
      #expect(try journal.entry(at: 4).previousDigest.hex == Documented.digests[2])
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.revision == 4)
    }
  }

  @Test(arguments: [
    (0, 0x86, "an array of six"), (1, 0x02, "version 2"), (17, 0x59, "a digest of another length"),
    (51, 0x83, "three events"), (53, 0x03, "an unknown operation"), (62, 0x81, "one payload"),
    (63, 0x50, "a payload that ends early"), (81, 0xA3, "three changes"), (88, 0xF8, "a simple value"),
    (99, 0x4F, "a salt that is too short"),
  ])
  func anEntryOfAnotherFormIsRefused(_ offset: Int, _ byte: UInt8, _ what: String) throws {
    var entries = Documented.entries
    entries[2][offset] = byte
    let error = try openingError(entries)
    #expect(error.cause is CBORError, "\(what)")
  }

  @Test func aNumberThatIsNoOperationIsNotTakenForOne() throws {
    var entries = Documented.entries
    // 256, whose low byte is that of an add.
    entries[2].replaceSubrange(58...58, with: [0x19, 0x01, 0x00])
    #expect(try openingError(entries).cause is CBORError)
  }

  @Test(arguments: [3, 12, 20, 64 + 2, 98])
  func anEntryOfTheSameFormAndOtherContentIsRefused(_ offset: Int) throws {
    var entries = Documented.entries
    entries[2][offset] ^= 1
    #expect(try openingError(entries).message.contains("acknowledged"))
  }

  @Test func anEventThatFollowsAnotherThanTheNewestIsRefused() throws {
    var entries = Documented.entries
    entries[2][56] = 3
    #expect(
      try openingError(entries).message.contains("account:1 follows its revision 3, but the newest one is 2"))
  }

  @Test func bytesBehindAnEntryAreRefused() throws {
    var entries = Documented.entries
    entries[2].append(0)
    #expect(try openingError(entries).cause is CBORError)
  }

  /// What opening says of a journal whose third entry is not the documented one.
  private func openingError(_ entries: [[UInt8]]) throws -> JournalError {
    try withDocumentedJournal(entries: entries) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .damaged)
      #expect(error?.revision == 3)
      return try #require(error)
    }
  }

  // MARK: Writing

  @Test func whatIsWrittenHasTheDocumentedForm() throws {
    try withLedger { journal, url in
      try journal.commit(by: "ana", note: "moving in", metadata: ["app": "bank"]) { draft in
        _ = try draft.open(owner: "Ana", balance: 100)
        _ = try draft.open(owner: "Bob")
      }
      try journal.commit(by: "bob", note: "rent") { try $0.transfer(30, from: 1, to: 2) }
      let (id, digests) = (journal.id, [try journal.entry(at: 1).digest, journal.head.digest])
      try journal.close()

      let format = try String(contentsOf: url.appendingPathComponent("FORMAT"), encoding: .utf8)
      #expect(format == "journal 1 \(id)\n")
      let head = try Data(contentsOf: url.appendingPathComponent("HEAD"))
      #expect(head.count == 3 * 4096)
      var slots: Set<[UInt8]> = []
      for start in stride(from: 0, to: head.count, by: 4096) {
        let slot = head.dropFirst(start)
        slots.insert(Array(slot.prefix(64)))
        #expect(slot.dropFirst(68).prefix(4096 - 68).allSatisfy { $0 == 0 })
      }
      // Which slot has which mark depends on when HEAD was flushed; the newest is there.
      let newest = Array("JRNLHEAD".utf8) + id.bytes + [0, 0, 0, 0, 0, 0, 0, 2] + digests[1].bytes
      #expect(slots.contains(newest))

      let database = try Database(path: url.appendingPathComponent("entries").path, access: .readOnly)
      #expect(try database.value(for: Array("m".utf8)) == id.bytes)
      var keys: [[UInt8]] = []
      var cursor = try database.cursor()
      var isAtEntry = try cursor.seekToFirst()
      while isAtEntry {
        keys.append(
          try cursor.withEntry { key, _ in unsafe key.withUnsafeBytes { unsafe Array($0) } })
        isAtEntry = try cursor.next()
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
    var previous = Digest.zero
    for (index, entry) in Documented.entries.enumerated() {
      let (end, payloads) = Documented.parts[index]
      let parts =
        [0x02, 0x01] + Documented.journalID + [0, 0, 0, 0, 0, 0, 0, UInt8(index + 1)] + previous.bytes
        + SHA256Hash.digest([0x01] + entry[..<end]).bytes
        + payloads.flatMap { SHA256Hash.digest([0x00] + entry[$0]).bytes }
      previous = SHA256Hash.digest(parts)
      #expect(previous.hex == Documented.digests[index])
    }
  }

  @Test func recordsAndChangesHaveTheDocumentedBytes() throws {
    let book = Record(["title": .string("Dune")], fields: [0: .string("book"), 1: .integer(3)])
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
    // The listing that the recomputation starts from: hexadecimal texts in quotes.
    let quoted = text.split(separator: "\"").filter { $0.count > 8 && $0.allSatisfy(\.isHexDigit) }
    let listing: String = quoted.map { String($0) }.joined()
    #expect(listing == hex(Documented.journalID + Documented.entries.joined()))
    for digest in Documented.digests + [Documented.stateDigest] { #expect(text.contains(digest)) }

    let words = text.replacingOccurrences(of: " ", with: "").replacingOccurrences(of: "\n", with: "")
    #expect(words.contains("0000" + hex(Documented.slots[0]) + "1000" + hex(Documented.slots[1])))

    // The annotated entry: behind an offset of five columns bytes, and behind two spaces what they mean.
    let start = try #require(text.range(of: "     87      ")).lowerBound
    let end = try #require(text.range(of: "```", range: start..<text.endIndex)).lowerBound
    let annotated = text[start..<end].split(separator: "\n").flatMap { line in
      let bytes = line.dropFirst(5).drop { $0 == " " }
      return bytes.prefix(upTo: bytes.range(of: "  ")?.lowerBound ?? bytes.endIndex).filter { $0 != " " }
    }
    #expect(String(annotated) == hex(Documented.entries[2]))
  }
}

/// Makes a journal of documented bytes, with nothing of the code that writes journals.
private func withDocumentedJournal<Result>(
  entries: [[UInt8]] = Documented.entries, _ body: (URL) throws -> Result
) throws -> Result {
  try withTemporaryFolder { folder in
    let url = folder.url.appendingPathComponent("Bank.journal")
    for name in ["", "entries", "images", "snapshots"] {
      try FileManager.default.createDirectory(
        atPath: folder.path("Bank.journal/\(name)"), withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    try Data("journal 1 b8d6f358-f45b-4c12-bd27-53cd0bd018ba\n".utf8).write(
      to: url.appendingPathComponent("FORMAT"))
    let padding = [UInt8](repeating: 0, count: 4096 - 68)
    let empty = [UInt8](repeating: 0, count: 4096)
    try Data(Documented.slots.flatMap { $0 + padding } + empty).write(to: url.appendingPathComponent("HEAD"))
    let database = try Database(path: url.appendingPathComponent("entries").path, access: .existingOrNew)
    var batch = WriteBatch()
    batch.put(Array("m".utf8), Documented.journalID)
    for (index, entry) in entries.enumerated() { batch.put(Documented.key(index + 1), entry) }
    try database.write(&batch)
    try database.close()
    return try body(url)
  }
}

/// The worked example of Documentation/Format.md. Never to be changed: it was written once by a journal of
/// format 1.
private enum Documented {
  static let journalID = bytes("b8d6f358f45b4c12bd2753cd0bd018ba")

  static let entries = [
    """
    87011b000657f95e40280063616e61696d6f76696e6720696ea1636170706462616e6b582000000000000000000000000000000000
    000000000000000000000000000000008284000001008400000200825825f4414d993d769663c19b9a827a4a0cf4a2656f776e6572
    63416e616762616c616e63651864582470bb808e5c9126fc1345007c46087729a2656f776e657263426f626762616c616e636500
    """,
    """
    87011b000657f961d3af0063626f626472656e74a0582027c59ced1f430e1a4d3124a9344a2fa6520cadf32fc2764984f9dc61578b
    3e59828401000101840100020182581bf5a31028ba7d49914bc1463780a1857ca16762616c616e63651846581bc140cae509661a38
    96df68d0ad49242da16762616c616e6365181e
    """,
    """
    87011b000657fa34db6d2063616e6160a05820675c8a0d758d76cf518e5c44d0232bd0b74a6a2d9dad3a19dc5ad59198aafd488284
    010001028402000202825822bab2d46c4cf52bdc970073fbe01b0beba2656f776e6572f76762616c616e6365186450472b1b49947f
    aa95dc7a43505e8ef7b1
    """,
  ].map { bytes($0.replacingOccurrences(of: "\n", with: "")) }

  /// Of the state at revision 3.
  static let stateDigest = "a8600953b44f79871f7138a91a0231cda1f5a3c078f27a0c383dfa2ee6c64307"

  static let digests = [
    "27c59ced1f430e1a4d3124a9344a2fa6520cadf32fc2764984f9dc61578b3e59",
    "675c8a0d758d76cf518e5c44d0232bd0b74a6a2d9dad3a19dc5ad59198aafd48",
    "76b84877ec766818feb411ebad72087dd3af93d11adc8e196b1f641c2af001ef",
  ]

  /// Where the header of each entry ends, and where its payloads stand.
  static let parts = [(80, [83..<120, 122..<158]), (66, [69..<96, 98..<125]), (62, [65..<99, 100..<116])]

  /// What differs each time an entry is written: its date, the digest before it, its salts.
  static let variable = [[3..<11, 83..<99, 122..<138], [3..<11, 23..<55, 69..<85, 98..<114]]

  /// The two slots of HEAD, of entries 2 and 3.
  static let slots = [
    bytes("4a524e4c48454144b8d6f358f45b4c12bd2753cd0bd018ba0000000000000002" + digests[1] + "aac83619"),
    bytes("4a524e4c48454144b8d6f358f45b4c12bd2753cd0bd018ba0000000000000003" + digests[2] + "614801b6"),
  ]

  static func key(_ revision: Int) -> [UInt8] { [0x65, 0, 0, 0, 0, 0, 0, 0, UInt8(revision)] }

  static var text: String {
    get throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
      return try String(contentsOf: root.appending(path: "Documentation/Format.md"), encoding: .utf8)
    }
  }
}

private func bytes(_ hex: String) -> [UInt8] {
  let digits = Array(hex)
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
}

private func hex(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
