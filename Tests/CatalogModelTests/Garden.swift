import CBOR
import CatalogModel
import Foundation
import JournalMaintenance
import PropertyLists
import TestSupport
import Testing

@testable import Journaling

/// A journal on a disk with a random history, and what its states were.
final class Garden {
  let url: URL
  private(set) var journal: CatalogJournal
  /// The state at each revision, as text.
  private(set) var states: [String]
  private var generator = SeededGenerator()

  init(_ folder: TemporaryFolder) throws {
    url = folder.url.appending(path: "Garden.journal")
    journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
    states = [journal.state.json]
    try grow(60)
  }

  /// Makes `count` random commits.
  func grow(_ count: Int) throws {
    for _ in 0..<count {
      let commit = try journal.commit(by: "gardener") { draft in
        for _ in 0..<Int.random(in: 1...4, using: &generator) { try change(&draft) }
      }
      if !commit.isEmpty { states.append(journal.state.json) }
    }
  }

  /// Adds `count` items in one commit, so that a file has several pages.
  func plant(_ count: Int) throws {
    try journal.commit { draft in
      for plant in 0..<count {
        _ = try draft.addItem(
          kind: "seed", attributes: ["name": .string("seed \(plant)"), "weight": .integer(Int64(plant))])
      }
    }
    states.append(journal.state.json)
  }

  private func change(_ draft: inout Draft<Catalog>) throws {
    let item = draft.state.items.map(\.id).randomElement(using: &generator)
    let category = draft.state.categories.map(\.id).randomElement(using: &generator)
    switch (Int.random(in: 0..<12, using: &generator), item, category) {
    case (0, _, _):
      _ = try draft.addCategory(name: "bed \(draft.revision)", color: Catalog.Color(hex: "#10203040"))
    case (1, _, let category?): try draft.deleteCategory(category)
    case (2, let item?, _): try draft.deleteItem(item)
    case (3, let item?, _): try draft.setCategory(ofItem: item, to: category)
    case (4...7, let item?, _):
      try draft.updateItem(item, set: ["growth \(item.number % 5)": .random(using: &generator)])
    default:
      _ = try draft.addItem(
        kind: ["tree", "herb", "Gemüse"].randomElement(using: &generator)!, category: category,
        attributes: ["name": .string("plant \(draft.revision)"), "any": .random(using: &generator)])
    }
  }

  func open(mode: CatalogJournal.Mode = .readWrite, options: JournalOptions = JournalOptions()) throws {
    journal = try CatalogJournal.open(at: url, mode: mode, options: options)
  }

  func reopen(options: JournalOptions = JournalOptions(layers: .manual)) throws {
    try journal.close()
    try open(options: options)
  }

  /// Releases the journal without closing it, and puts an empty one in its place.
  func release() throws {
    journal = try CatalogJournal.create(
      at: url.deletingLastPathComponent().appending(path: "Empty.journal"))
  }

  /// The file of the newest layer, once all that are due are written.
  func newestLayer() throws -> URL {
    journal.waitForLayers()
    let layer = try #require(journal.chain.layers.last)
    return url.appending(path: "snapshots/\(layer.name.fileName)")
  }

  /// Opens the closed journal read-only, checks its newest state and a past one, and closes it.
  func expectEveryStateIsRight(
    findsProblem: Bool, options: JournalOptions = JournalOptions(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try open(mode: .readOnly, options: options)
    let state = journal.state
    #expect(state.json == states.last, sourceLocation: sourceLocation)
    #expect(state.problems() == [], sourceLocation: sourceLocation)
    let middle = states.count / 2
    let past = try journal.state(asOf: .revision(middle)).json
    #expect(past == states[middle], sourceLocation: sourceLocation)
    if findsProblem {
      // Only verification reads parts that no state needs, such as a text for people.
      let verification = try journal.verify()
      #expect(!journal.health.layerProblems.isEmpty || !verification.isSound, sourceLocation: sourceLocation)
    } else {
      #expect(journal.health.layerProblems.isEmpty, sourceLocation: sourceLocation)
    }
    try journal.close()
  }
}

extension JournalOptions {
  /// Layers and snapshots are read on demand, as if they were large, and no layer is written automatically.
  static var readingLate: JournalOptions {
    var policy = LayerPolicy.manual
    policy.memoryByteCount = 0
    return JournalOptions(layers: policy)
  }
}

/// Calls `body` with a journal that has a history.
func withGarden<Result>(_ body: (Garden) throws -> Result) throws -> Result {
  try withTemporaryFolder { folder in
    let garden = try Garden(folder)
    defer { try? garden.journal.close() }
    return try body(garden)
  }
}

extension LayerFile {
  var pageByteCount: Int { bytes.pageByteCount }
}

extension Layer {
  var pageByteCount: Int { (contents as? LayerFile)?.pageByteCount ?? 0 }

  func freeUnusedPages(atMost byteCount: Int) -> Int {
    (contents as? LayerFile)?.bytes.freeUnusedPages(atMost: byteCount) ?? 0
  }

  /// Frees all pages, if no other thread reads: the first call finds out which ones are in use, and the second one frees
  /// what was not used since.
  func freePages() { for _ in 0..<2 { _ = freeUnusedPages(atMost: .max) } }
}
