import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// Whatever `commit` accepts, opening accepts and decodes to the same values. Tried through the public API with
/// everything that an app can pass.
@Suite struct CommitFuzzTests {
  @Test func whatCommitAcceptsOpeningAcceptsAndDecodesToTheSame() throws {
    var random = SeededGenerator()
    var (accepted, refused) = (0, 0)
    for round in 0..<cases(24).count {
      try withTemporaryFolder { folder in
        let url = folder.url.appendingPathComponent("Fuzz.journal")
        var journal = try CatalogJournal.create(at: url)
        var guesses = Guesses(blob: try journal.blobs.add(Data("bytes".utf8)))
        for turn in 0..<60 {
          if try commit(to: journal, &guesses, &random) { accepted += 1 } else { refused += 1 }
          guard turn % 20 == 19 else { continue }
          if turn == 39, journal.head.revision > 0 { try journal.takeSnapshot() }
          let (before, head) = (journal.state, journal.head)
          try journal.close()
          journal = try CatalogJournal.open(at: url)
          #expect(journal.head == head)
          expectEqual(journal.state, before)
          for (item, attributes) in guesses.attributes {
            #expect(
              journal.state.item(EntityID(item))?.attributes == attributes, "item:\(item), round \(round)")
          }
          let verification = try journal.verify(.deep)
          #expect(verification.isSound, "\(verification.problems), round \(round)")
        }
        for (revision, said) in guesses.said {
          let entry = try journal.entry(at: revision)
          #expect(entry.author == said.author && entry.note == said.note && entry.metadata == said.metadata)
        }
        // Whatever the journal has, it takes a valid commit.
        if journal.state.items.allSatisfy({ $0.id.number < EntityKey.numbers.upperBound }) {
          try journal.commit { try $0.addItem(kind: "last") }
        }
      }
    }
    #expect(accepted > 100)
    #expect(refused > 100)
  }

  /// What the journal should have.
  private struct Guesses {
    var blob: Blob
    var attributes: [Int: [String: FieldValue]] = [:]
    var said: [Revision: (author: String, note: String, metadata: [String: String])] = [:]
  }

  private func expectEqual(_ state: Catalog, _ other: Catalog) {
    #expect(state.items.map(\.id) == other.items.map(\.id))
    #expect(state.categories.map(\.id) == other.categories.map(\.id))
    #expect(state.images.map(\.id) == other.images.map(\.id))
    let entities =
      state.items.map { EntityKey.item($0.id) } + state.categories.map { .category($0.id) }
      + state.images.map { .image($0.id) }
    for entity in entities {
      #expect(state.record(of: entity) == other.record(of: entity))
      #expect(state.revision(of: entity) == other.revision(of: entity))
    }
  }

  /// One commit of random calls.
  /// - Returns: whether it was accepted.
  private func commit(
    to journal: CatalogJournal, _ guesses: inout Guesses, _ random: inout SeededGenerator
  ) throws -> Bool {
    let author = text(&random)
    let note = random.chance(1, in: 40) ? String(repeating: "n", count: (1 << 20) + 1) : text(&random)
    var metadata: [String: String] = [:]
    for _ in 0..<Int.random(in: 0..<3, using: &random) { metadata[text(&random)] = text(&random) }
    let dates: [Date?] = [
      nil, nil, nil, nil, Date(timeIntervalSince1970: -2e9), .distantPast, .distantFuture,
      Date(timeIntervalSinceReferenceDate: .nan), Date(timeIntervalSinceReferenceDate: 1e300),
      Date(timeIntervalSinceReferenceDate: -1e300), Date(timeIntervalSince1970: 2e9),
    ]
    var attributes = guesses.attributes
    var date = dates.randomElement(using: &random)!
    // A date close to the last possible one would leave none for later entries.
    if date == .distantFuture, !random.chance(1, in: 20) { date = nil }
    do {
      let commit = try journal.commit(by: author, note: note, metadata: metadata, date: date) { draft in
        for _ in 0..<Int.random(in: 1..<5, using: &random) {
          do {
            try call(&draft, &attributes, blob: guesses.blob, &random)
          } catch let error as JournalError {
            #expect(["rejected"].contains(error.code.rawValue), "\(error)")
            if random.chance(1, in: 2) { throw error }
          }
        }
      }
      guesses.attributes = attributes
      if !commit.isEmpty { guesses.said[commit.revision] = (author, note, metadata) }
      return true
    } catch let error as JournalError {
      #expect(["rejected", "tooLarge"].contains(error.code.rawValue), "\(error)")
      return false
    }
  }

  /// One random call of a method of the draft.
  private func call(
    _ draft: inout Draft<Catalog>, _ attributes: inout [Int: [String: FieldValue]], blob: Blob,
    _ random: inout SeededGenerator
  ) throws {
    let number = number(&random)
    let values = values(&random)
    switch Int.random(in: 0..<16, using: &random) {
    case 0: try draft.addCategory(name: text(&random), color: color(&random))
    case 1: try draft.updateCategory(EntityID(number), name: text(&random), color: color(&random))
    case 2: try draft.deleteCategory(EntityID(number))
    case 3, 4, 5:
      let category = random.chance(1, in: 2) ? nil : CategoryID(self.number(&random))
      let item = try draft.addItem(
        kind: text(&random), category: category, attributes: values)
      attributes[item.number] = values
    case 6:
      try draft.replaceAttributes(ofItem: EntityID(number), with: values)
      attributes[number] = values
    case 7:
      try draft.updateItem(
        EntityID(number), set: values, remove: attributes[number, default: [:]].keys.prefix(2))
      attributes[number] = draft.state.item(EntityID(number))?.attributes
    case 8:
      try draft.deleteItem(EntityID(number))
      attributes[number] = nil
    case 9:
      try draft.setCategory(
        ofItem: EntityID(number), to: random.chance(1, in: 3) ? nil : EntityID(self.number(&random)))
    case 10: try draft.setKind(ofItem: EntityID(number), to: text(&random))
    case 11:
      let blobs = [
        blob, blob, Blob(digest: blob.digest, byteCount: self.number(&random)),
        Blob(digest: .zero, byteCount: 5),
      ]
      try draft.addImage(
        to: EntityID(number), name: text(&random), mediaType: text(&random),
        blob: blobs.randomElement(using: &random)!)
    case 12: try draft.deleteImage(EntityID(number))
    default:
      let kind = EntityKind(
        rawValue: random.chance(1, in: 8)
          ? UInt8.random(in: 0...255, using: &random) : UInt8.random(in: 0..<3, using: &random))
      let entity = EntityKey(kind: kind, number: number)
      let record = EntityRecord(values, fields: fields(blob, &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1: try draft.add(entity, record)
      case 2: try draft.update(entity, to: record)
      default: return try remove(entity, &draft, &attributes)
      }
      if kind == .item { attributes[number] = values }
    }
  }

  private func remove(
    _ entity: EntityKey, _ draft: inout Draft<Catalog>, _ attributes: inout [Int: [String: FieldValue]]
  ) throws {
    try draft.delete(entity)
    if entity.kind == .item { attributes[entity.number] = nil }
  }

  private func number(_ random: inout SeededGenerator) -> Int {
    if random.chance(1, in: 500) { return EntityKey.numbers.upperBound }
    let strange = [0, -1, .min, .max, .max - 1, 1 << 53, 1 << 62, 1 << 32]
    return random.chance(1, in: 10)
      ? strange.randomElement(using: &random)! : Int.random(in: 1..<12, using: &random)
  }

  private func text(_ random: inout SeededGenerator) -> String {
    if random.chance(1, in: 30) { return String(repeating: "\u{0}é", count: 2_000) }
    let texts = ["", " ", "a", "é", "e\u{301}", "\u{0}", "😀", "kind", "../x", "\u{FFFD}\u{FFFF}", "a\nb"]
    return texts.randomElement(using: &random)!
  }

  private func color(_ random: inout SeededGenerator) -> Catalog.Color? {
    let components = [0, 1, -1, .nan, .infinity, 0.3, 1e300]
    guard random.chance(1, in: 2) else { return nil }
    return Catalog.Color(
      red: components.randomElement(using: &random)!, green: 0.5, blue: 0,
      alpha: components.randomElement(using: &random)!)
  }

  private func values(_ random: inout SeededGenerator) -> [String: FieldValue] {
    var values: [String: FieldValue] = [:]
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      values[text(&random)] = random.chance(1, in: 6) ? deep(&random) : FieldValue.random(using: &random)
    }
    return values
  }

  private func deep(_ random: inout SeededGenerator) -> FieldValue {
    let depth = [1, 100, 126, 127, 128, 129, 130, 131, 1_000, 5_000].randomElement(using: &random)!
    return (0..<depth).reduce(.null) { value, _ in
      random.chance(1, in: 2) ? .dictionary(["a": value]) : .array([value])
    }
  }

  private func fields(_ blob: Blob, _ random: inout SeededGenerator) -> [UInt8: FieldValue] {
    var fields: [UInt8: FieldValue] = [:]
    switch Int.random(in: 0..<5, using: &random) {
    case 0, 1: fields = [0: .string("kind"), 1: .integer(Int64(number(&random)))]
    case 2: fields = [0: .string("name")]
    case 3:
      fields = [
        0: .integer(Int64(number(&random))), 1: .string("n"), 2: .string("m"),
        3: .data(Data(blob.digest.bytes)), 4: .integer(Int64(blob.byteCount)),
      ]
    default: break
    }
    if random.chance(1, in: 8) {
      fields[UInt8.random(in: 0...255, using: &random)] = FieldValue.random(using: &random)
    }
    return fields
  }
}
