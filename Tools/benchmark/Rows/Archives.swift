import CatalogModel
import Foundation

/// Measures writing a state as a keyed archive and decoding all of it, against Foundation's archiver.
func snapshots(_ bench: Workbench) async throws {
  let count = bench.isQuick ? 10_000 : 100_000
  let (url, writing) = try bench.openJournal(items: count, .manual)
  let archived = try writing.state.items.map(ArchivedItem.init)
  let recordByteCount = writing.state.items.reduce(0) { $0 + $1.record.bytes.count }
  let archive = bench.path("archive.plist")
  var writes = Race(bench, "writing a snapshot", operations: count, rounds: 3)
  writes.add("Journal") { try timed { try writing.takeSnapshot() } }
  writes.add("NSKeyedArchiver, no dictionaries, no flush") { try timed { try write(archived, to: archive) } }
  try await writes.report(
    "snapshot of \(count) items, \(try writing.snapshots().last!.byteCount / count) B each", .rate("items"),
    .against(1, atLeast: 50))
  let snapshot = try writing.snapshots().last!
  try writing.close()

  /// The mean time of ten readings of all items, because one reading takes less than 0.1 s. Each opens the journal
  /// again, so that hardly any page of its layer is in memory.
  /// - Parameter measure: decodes a part of an item, and returns its size. The sum of all must be `expected`.
  func read(_ expected: Int, _ measure: (Catalog.Item) -> Int) throws -> Double {
    try (0..<10).reduce(0) { sum, _ in
      let journal = try CatalogJournal.open(at: url, mode: .readOnly)
      defer { try? journal.close() }
      var found = 0
      let seconds = timed { for item in journal.state.items { found += measure(item) } }
      guard found == expected, journal.health.layerProblems.isEmpty else {
        throw PeerFailure("not all of the \(count) items were read")
      }
      return sum + seconds / 10
    }
  }
  var reads = Race(bench, "decoding a layer", operations: count, rounds: 3)
  reads.add("Journal") { try read(recordByteCount) { $0.record.bytes.count } }
  reads.add("NSKeyedUnarchiver, the snapshot") { try unarchive(snapshot.url, count: count) }
  reads.add("Journal, values") {
    try read(Sample.attributeCount * count) { $0.kind.isEmpty ? 0 : $0.attributes.count }
  }
  try await reads.report(
    "all \(count) items of the layer decoded to records", .rate("items"), .against(1, atLeast: 75))
  try await reads.report(
    "the same, and each record to a dictionary of values", .rate("items"), ours: 2, .against(1, atLeast: 50))
}

/// Measures saving one change in an app with many items: a commit, against writing all items as a keyed archive or a
/// property list, as apps used to save.
///
/// Commits are flushed. The files of the peers are not, as in such apps, so a power loss can destroy them.
func save(_ bench: Workbench, among count: Int, wanted: Double? = nil) async throws {
  let (_, journal) = try bench.openJournal(items: count, .manual)
  let archived = try journal.state.items.map(ArchivedItem.init)
  let dictionaries = archived.map(\.propertyList)
  let file = bench.path("items")
  var random = SeededGenerator(seed: bench.seed)
  // Foundation's archiver takes half a minute for 100,000 items.
  let rounds = count > 10_000 ? 1 : Int.max
  var race = Race(bench, "saving one change among \(count) items", rounds: rounds)
  race.add("Journal") {
    try timed {
      for _ in 0..<200 {
        let item = Int.random(in: 1...count, using: &random)
        try journal.commit { try $0.setCount(item, .random(in: 0...1_000_000, using: &random)) }
      }
    } / 200
  }
  race.add("NSKeyedArchiver, all items") { try timed { try write(archived, to: file) } }
  race.add("XML property list, all items") {
    try timed {
      try PropertyListSerialization.data(fromPropertyList: dictionaries, format: .xml, options: 0)
        .write(to: file, options: .atomic)
    }
  }
  try await race.report(.speed, .against(1, atLeast: wanted), .against(2))
}

private func write(_ items: [ArchivedItem], to url: URL) throws {
  try NSKeyedArchiver.archivedData(withRootObject: items as NSArray, requiringSecureCoding: false).write(
    to: url)
}

/// Decodes a snapshot and returns the seconds that this takes.
/// - Parameter count: the number of items that the snapshot must have.
private func unarchive(_ snapshot: URL, count: Int) throws -> Double {
  var root: NSDictionary?
  let seconds = try timed {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: snapshot))
    unarchiver.requiresSecureCoding = false
    unarchiver.setClass(UnarchivedItem.self, forClassName: "JournalItem")
    root = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? NSDictionary
  }
  let items = (root?["entities"] as? NSDictionary)?["item"] as? [UnarchivedItem] ?? []
  guard items.count == count, items.allSatisfy({ $0.attributes.count == Sample.attributeCount }) else {
    throw PeerFailure("the unarchiver gives \(items.count) of \(count) items")
  }
  return seconds
}

/// An item as an app would archive it: a class that is encoded field by field.
///
/// The attributes are fields and no dictionary, because the time of Foundation's archiver for Linux grows with the
/// square of the number of dictionaries: with 800 of them 46 ms an item, without them less than 1 ms.
final class ArchivedItem: NSObject, NSCoding {
  private let item: Catalog.Item
  private let sample: Sample

  init(_ item: Catalog.Item) throws {
    self.item = item
    sample = try item.decode(Sample.self)
  }

  /// `NSCoding` requires this, but archived items are never decoded.
  init?(coder: NSCoder) { nil }

  func encode(with coder: NSCoder) {
    coder.encode(item.id.number, forKey: "number")
    coder.encode(item.created, forKey: "created")
    coder.encode(item.modified, forKey: "modified")
    coder.encode(Sample.kind, forKey: "kind")
    coder.encode(sample.name, forKey: "name")
    coder.encode(sample.note, forKey: "note")
    coder.encode(sample.count, forKey: "count")
    coder.encode(sample.price, forKey: "price")
    coder.encode(sample.seen as NSDate, forKey: "seen")
  }

  var propertyList: [String: Any] {
    [
      "name": sample.name, "note": sample.note, "count": sample.count, "price": sample.price,
      "seen": sample.seen,
    ]
  }
}

/// An item that is decoded from a snapshot.
private final class UnarchivedItem: NSObject, NSCoding {
  let attributes: NSDictionary
  private let numbers: [Int]
  private let kind: String

  init?(coder: NSCoder) {
    guard let kind = coder.decodeObject(forKey: "kind") as? String,
      let attributes = coder.decodeObject(forKey: "attributes") as? NSDictionary
    else { return nil }
    numbers = ["number", "created", "modified"].map { coder.decodeInteger(forKey: $0) }
    self.kind = kind
    self.attributes = attributes
  }

  /// `NSCoding` requires this, but unarchived items are never encoded.
  func encode(with coder: NSCoder) {}
}
