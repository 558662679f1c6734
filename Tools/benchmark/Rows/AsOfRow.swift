import CatalogModel
import Foundation

/// The state as of a random revision of a long history in which all items are updated in turn, against a full replay,
/// and after a snapshot was taken and dropped against before.
func asOfRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard !bench.rows.isDisjoint(with: [.asOf, .asOfDrop]) else { return [] }
  let entities = bench.isQuick ? 5_000 : 50_000
  let eventsPerEntity = 20
  let entries = entities * eventsPerEntity
  let url = bench.newPath("as-of.journal")
  let copy = bench.newPath("as-of-drop.journal")
  defer {
    bench.discard(url)
    bench.discard(copy)
  }
  bench.progress.show("writing a journal of \(entries) entries")
  var random = SeededGenerator(seed: bench.seed)
  let writing = try CatalogJournal.create(at: url)
  // The layers are those that a journal writes and keeps automatically.
  try writing.fill(entries) { draft, index in
    guard index >= entities else {
      _ = try draft.addItem(kind: SampleData.kind, attributes: SampleData.attributes(&random))
      return
    }
    // Never the item's present number, because a commit that changes nothing makes no entry.
    let change: [String: FieldValue] = ["count": .integer(Int64(1_000_001 + index))]
    try draft.updateItem(EntityID(index % entities + 1), set: change)
  }
  writing.waitForLayers()
  try writing.close()
  try FileManager.default.copyItem(at: url, to: copy)

  let journal = try CatalogJournal.open(at: url)
  defer { try? journal.close() }
  let dropping = try CatalogJournal.open(at: copy)
  defer { try? dropping.close() }
  // Between two layers.
  try await dropping.commit { try $0.updateItem(1, set: ["count": .integer(0)]) }
  try dropping.dropSnapshot(at: dropping.takeSnapshot().revision)
  let statistics = try journal.statistics()
  func replay(_ revision: Revision, _ work: (RevisionSelector) throws -> Version<Catalog>) throws -> Double {
    // Held until the clock has stopped, so that releasing the state is not measured.
    var version: Version<Catalog>?
    let seconds = try timed { version = try work(.revision(revision)) }
    guard let version, version.revision == revision else {
      throw PeerFailure(description: "The replay did not end at \(revision).")
    }
    return seconds
  }
  let sampleCount = 10
  func sample(_ journal: CatalogJournal) throws -> Double {
    let revisions = (0..<sampleCount).map { _ in Int.random(in: 1..<entries, using: &random) }
    return try revisions.reduce(0) { try $0 + replay($1, journal.version(asOf:)) } / Double(sampleCount)
  }
  let race = Race(
    work: "as of", operations: 1,
    contestants: [
      Contestant(name: "Journal") { _ in try sample(journal) },
      Contestant(name: "full replay") { _ in try replay(entries - 1, journal.version(replayedTo:)) },
      Contestant(name: "after a drop") { _ in try sample(dropping) },
    ])
  let results = try await race.run(on: bench)
  let comparison = Comparison(
    peer: "full replay", figure: results.spread(of: 1), ratio: results.speed(of: 0, against: 1),
    wanted: .atLeast(100))
  let (layers, log) = (statistics.layerByteCount / 1_000_000, statistics.logByteCount / 1_000_000)
  return [
    ReportRow(
      .asOf,
      "state as of a random revision of \(entries), \(statistics.layerCount) layers of \(layers) MB, a log of \(log) MB "
        + "(times faster)",
      .seconds, results.spread(of: 0), against: [comparison]),
    ReportRow(
      .asOfDrop, "the same after a snapshot was taken and dropped (times as fast as before)",
      .seconds, results.spread(of: 2),
      against: [
        Comparison(
          peer: "before", figure: results.spread(of: 0), ratio: results.speed(of: 2, against: 0),
          wanted: .atLeast(0.8))
      ]),
  ]
}
