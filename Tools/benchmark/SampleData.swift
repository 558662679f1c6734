import CatalogModel
import Foundation

/// The SplitMix64 generator, which is fast and makes the same data for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// An item as an app would have it: five attributes, together some 200 bytes, random so that they hardly compress.
struct Sample: CatalogItem {
  static let kind = "sample"
  static let indexes = [Index(\Sample.count), Index(\.price)]
  static let attributeCount = 5

  var name: String
  var note: String
  var count: Int
  var price: Double
  var seen: Date

  init(_ random: inout SeededGenerator) {
    name = Self.text(18, &random)
    note = Self.text(96, &random)
    count = .random(in: 0...1_000_000, using: &random)
    price = .random(in: 0...1000, using: &random)
    seen = Date(timeIntervalSinceReferenceDate: .random(in: 6e8...9e8, using: &random))
  }

  var attributes: [String: FieldValue] {
    [
      "name": .string(name), "note": .string(note), "count": .integer(Int64(count)), "price": .double(price),
      "seen": .date(seen),
    ]
  }

  static func attributes(count: Int, seed: UInt64) -> [[String: FieldValue]] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in Sample(&random).attributes }
  }

  private static let letters = Array("abcdefghijklmnopqrstuvwxyz      ".utf8)

  private static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = random.next()
      for _ in 0..<min(12, count - bytes.count) {
        bytes.append(letters[Int(word & 31)])
        word >>= 5
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Draft<Catalog> {
  mutating func addSample(_ attributes: [String: FieldValue]) throws {
    _ = try addItem(kind: Sample.kind, attributes: attributes)
  }

  mutating func setCount(_ item: Int, _ count: Int) throws {
    try updateItem(EntityID(item), set: ["count": .integer(Int64(count))])
  }
}

extension CatalogJournal {
  /// Commits entries in a pipeline.
  /// - Parameter body: makes the events of an entry in a draft; it gets the entry's index, from 0.
  func fill(_ count: Int, _ body: (inout Draft<Catalog>, Int) throws -> Void) throws {
    try withPipeline { pipeline in
      for index in 0..<count { try pipeline.commit { try body(&$0, index) } }
    }
  }

  func addItems(_ count: Int, perEntry: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try fill((count + perEntry - 1) / perEntry) { draft, entry in
      for _ in entry * perEntry..<min((entry + 1) * perEntry, count) {
        try draft.addSample(Sample(&random).attributes)
      }
    }
  }

  /// Updates items. Each update sets another count, because a commit that changes nothing makes no entry.
  /// - Parameter item: returns the number of the item that an update changes; it gets the update's index, from 0.
  func update(_ count: Int, perEntry: Int = 1, _ item: (Int) -> Int) throws {
    let start = Int.random(in: 1_000_001...1 << 30)
    try fill(count / perEntry) { draft, entry in
      for index in entry * perEntry..<(entry + 1) * perEntry {
        try draft.setCount(item(index), start + index)
      }
    }
  }
}

extension Workbench {
  func openJournal(
    items count: Int, perEntry: Int = 1_000, _ layers: LayerPolicy = .automatic, isIndexed: Bool = false
  ) throws -> (url: URL, journal: CatalogJournal) {
    show("writing a journal of \(count) items")
    let url = path("items.journal")
    let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: layers))
    // Declares indexes before layers are written, so that the layers get these indexes.
    if isIndexed { try journal.state.buildIndexes(of: Sample.self) }
    try journal.addItems(count, perEntry: perEntry, seed: seed)
    return (url, journal)
  }

  func journal(
    items count: Int, perEntry: Int = 1_000, _ layers: LayerPolicy = .automatic, isIndexed: Bool = false,
    then finish: (CatalogJournal) throws -> Void = { _ in }
  ) throws -> URL {
    let (url, journal) = try openJournal(items: count, perEntry: perEntry, layers, isIndexed: isIndexed)
    try finish(journal)
    journal.waitForLayers()
    try journal.close()
    return url
  }

  /// The number of items with 20 events each, spread over the whole log.
  static let trackedCount = 200

  /// Makes a closed journal whose entries have one event each: they add items, and update some of them 19 times.
  func journal(entries: Int) throws -> URL {
    try journal(items: Self.trackedCount, perEntry: 1) { journal in
      let count = entries - Self.trackedCount
      let updates = Self.trackedCount * 19
      var random = SeededGenerator(seed: seed)
      try journal.fill(count) { draft, index in
        let ordinal = index * updates / count
        if (index + 1) * updates / count > ordinal {
          try draft.setCount(ordinal % Self.trackedCount + 1, 1_000_001 + ordinal)
        } else {
          try draft.addSample(Sample(&random).attributes)
        }
      }
    }
  }
}
