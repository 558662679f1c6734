import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

/// Random commits, compared with a model that is too simple to be wrong. Every state is kept and compared again after
/// all later commits, and equals its replay.
struct ModelTests {
  @Test func everyRevisionEqualsTheModelAndStaysAsItWas() throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    var model = NaiveCatalog()
    var models = [model]
    for _ in 0..<200 {
      let revision = history.revision + 1
      var attempt = model
      try history.commit { draft in
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          try attempt.changeAtRandom(&draft, using: &random)
        }
      }
      guard history.revision == revision else { continue }
      model = attempt.settled(after: model, at: revision)
      models.append(model)
      try #require(NaiveCatalog(history.state, numbers: model) == model)
    }
    #expect(history.revision > 150)
    for (revision, model) in models.enumerated() {
      #expect(NaiveCatalog(history.states[revision], numbers: model) == model)
    }
    for revision in stride(from: 0, through: history.revision, by: 37) + [history.revision] {
      #expect(try history.replayed(to: revision).json == history.states[revision].json)
    }
    try compareListings(history.state, model)
  }

  private func compareListings(_ catalog: Catalog, _ model: NaiveCatalog) throws {
    for category in 0...model.highestCategory + 1 {
      let expected = model.items.filter { $0.value.category == category }.keys.sorted()
      #expect(catalog.items(in: EntityID(category)).map(\.id.number) == expected)
    }
    for kind in NaiveCatalog.kinds {
      let expected = model.items.filter { $0.value.kind == kind }.keys.sorted()
      #expect(catalog.items(ofKind: kind).map(\.id.number) == expected)
    }
    for item in 0...model.highestItem + 1 {
      let expected = model.images.filter { $0.value.item == item }.keys.sorted()
      #expect(catalog.images(of: EntityID(item)).map(\.id.number) == expected)
    }
  }
}
