import CatalogModel
import Foundation

/// Writing a state as a keyed archive and decoding all of it, against Foundation's archiver.
func snapshotRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard !bench.rows.isDisjoint(with: [.snapshotWrite, .snapshotRead, .snapshotValues]) else { return [] }
  let subject = try SnapshotSubject(bench, itemCount: bench.isQuick ? 10_000 : 100_000)
  defer { subject.discard(bench) }
  var rows: [ReportRow] = []
  if bench.rows.contains(.snapshotWrite) {
    let race = Race(
      work: "writing a snapshot", operations: subject.itemCount, roundLimit: 3,
      contestants: [
        Contestant(name: "Journal") { _ in try subject.write() },
        Contestant(name: "NSKeyedArchiver, no dictionaries, no flush") { _ in
          try subject.writeWithFoundation()
        },
      ])
    let results = try await race.run(on: bench)
    rows.append(
      ReportRow(
        .snapshotWrite, "snapshot of \(subject.itemCount) items, \(try subject.byteCount) B each",
        unit: "items", of: results, against: [(1, .atLeast(50))]))
  }
  if !bench.rows.isDisjoint(with: [.snapshotRead, .snapshotValues]) {
    try subject.prepareReading()
    let race = Race(
      work: "decoding a snapshot", operations: subject.itemCount, roundLimit: 3,
      contestants: [
        Contestant(name: "Journal") { _ in try subject.readRepeatedly(decodingValues: false) },
        Contestant(name: "NSKeyedUnarchiver, the same file") { _ in try subject.readWithFoundation() },
        Contestant(name: "Journal, values") { _ in try subject.readRepeatedly(decodingValues: true) },
      ])
    let results = try await race.run(on: bench)
    rows += [
      ReportRow(
        .snapshotRead, "all \(subject.itemCount) items of it decoded to records", unit: "items", of: results,
        against: [(1, .atLeast(75))]),
      ReportRow(
        .snapshotValues, "the same, and each record to a dictionary of values", unit: "items", of: results,
        ours: 2, against: [(1, .atLeast(50))]),
    ]
  }
  return rows
}

/// A journal of items, and the same items as objects for Foundation's archiver.
private final class SnapshotSubject {
  let itemCount: Int
  private let url: URL
  private let archive: URL
  private let journal: CatalogJournal
  private let items: [ArchivedItem]
  private let recordByteCount: Int
  private var snapshot: URL?

  init(_ bench: Workbench, itemCount: Int) throws {
    self.itemCount = itemCount
    url = bench.newPath("snapshot.journal")
    archive = bench.newPath("archive.plist")
    journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
    bench.progress.show("writing a journal of \(itemCount) items")
    try journal.addItems(itemCount, perEntry: 1_000, seed: bench.seed)
    recordByteCount = journal.state.items.reduce(0) { $0 + $1.record.bytes.count }
    items = journal.state.items.compactMap { ArchivedItem($0) }
    guard items.count == itemCount else {
      throw PeerFailure(description: "Only \(items.count) of \(itemCount) items are as they were made.")
    }
  }

  /// Bytes of the snapshot for each item.
  var byteCount: Int {
    get throws { (try journal.snapshots().last?.byteCount ?? 0) / itemCount }
  }

  func write() throws -> Double { try timed { try journal.takeSnapshot() } }

  func writeWithFoundation() throws -> Double { try FoundationPeer.write(items, to: archive) }

  /// Writes a snapshot if none was written, because only reading was requested, and closes the journal.
  func prepareReading() throws {
    if try journal.snapshots().isEmpty { _ = try write() }
    snapshot = try journal.snapshots().last?.url
    try journal.close()
  }

  /// The mean time of ten readings: one takes less than a tenth of a second, and the unarchiver takes seconds.
  func readRepeatedly(decodingValues: Bool) throws -> Double {
    let count = 10
    return try (0..<count).reduce(0) { seconds, _ in
      try seconds + read(decodingValues: decodingValues)
    } / Double(count)
  }

  /// Decodes every item of a journal that was just opened, when only a few pages of its snapshot have been read.
  /// - Parameter decodingValues: whether all contents of each record are decoded to values. Otherwise the records are
  ///   only made and checked: a state holds them in the log's encoding, and an app decodes the parts that it asks for.
  func read(decodingValues: Bool) throws -> Double {
    let journal = try CatalogJournal.open(at: url, mode: .readOnly)
    defer { try? journal.close() }
    var byteCount = 0
    var attributeCount = 0
    let seconds = timed {
      if decodingValues {
        for item in journal.state.items where !item.kind.isEmpty { attributeCount += item.attributes.count }
      } else {
        for item in journal.state.items { byteCount += item.record.bytes.count }
      }
    }
    let isWhole =
      decodingValues
      ? attributeCount == SampleData.attributeCount * itemCount : byteCount == recordByteCount
    guard isWhole, journal.snapshotProblems.isEmpty else {
      throw PeerFailure(description: "Of the \(itemCount) items, not all were read.")
    }
    return seconds
  }

  func readWithFoundation() throws -> Double {
    guard let snapshot else { throw PeerFailure(description: "There is no snapshot to read.") }
    return try FoundationPeer.read(snapshot, count: itemCount)
  }

  func discard(_ bench: Workbench) {
    try? journal.close()
    bench.discard(url)
    bench.discard(archive)
  }
}
