import CBOR
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import CatalogModel

/// Observed closures and watched queries run again only if they have to, and always have the answer of a run.
struct ObservingTests {
  @Test(.timeLimit(.minutes(60))) func anObservedClosureRunsOnlyIfSomethingThatItHasReadChanges() async throws
  {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let (soup, pie, shelf) = try await journal.commit { draft in
        (
          try draft.insert(Recipe(title: "Soup", stars: 3)), try draft.insert(Recipe(title: "Pie", stars: 1)),
          try draft.addCategory(name: "Shelf")
        )
      }.value
      let (runs, answers) = (Counter(), Counter())
      let observed = journal.observe { state in
        runs.count()
        let good = try state.items(Recipe.self).filter(\.stars >= 3).sorted(by: \.title)
        return Shown(
          title: state.item(soup)?.item["title"]?.string, count: good.count, first: good.first?.id,
          shelf: state.category(shelf)?.name)
      }
      let watcher = Task {
        var last: Shown?
        for try await shown in observed {
          last = shown
          answers.count()
        }
        return last
      }
      while answers.value < 1 { await Task.yield() }
      // None of these changes anything that the closure has read.
      for number in 1...50 {
        try await journal.commit { draft in
          try draft.update(pie) { $0.tags = ["\(number)"] }
          try draft.insert(Recipe(title: "Gruel", stars: 2))
          try draft.addItem(kind: "book", attributes: ["stars": 5])
        }
      }
      try await journal.commit { try $0.setName(ofCategory: shelf, to: "Box") }
      while answers.value < 2 { await Task.yield() }
      #expect(runs.value == 2)
      // The closure runs again, and its answer is the same.
      try await journal.commit { try $0.update(soup) { $0.stars = 4 } }
      try await journal.commit { try $0.update(pie) { $0.stars = 5 } }
      while answers.value < 3 { await Task.yield() }
      #expect(runs.value <= 4)
      try journal.close()
      #expect(try await watcher.value == Shown(title: "Soup", count: 2, first: pie, shelf: "Box"))
      #expect(answers.value == 3)
    }
  }

  private struct Shown: Equatable {
    var title: String?
    var count: Int
    var first: ItemID<Recipe>?
    var shelf: String?
  }

  @Test(.timeLimit(.minutes(60))) func anErrorOfAnObservedClosureEndsTheSequence() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      var answers = journal.observe { state throws(JournalError) in
        if state.itemCount > 1 { throw JournalError(.wrongUse, "too many") }
        return state.itemCount
      }.makeAsyncIterator()
      #expect(try await answers.next() == 0)
      try await journal.commit { try $0.insert(Recipe(title: "Soup")) }
      #expect(try await answers.next() == 1)
      try await journal.commit { try $0.insert(Recipe(title: "Pie")) }
      await #expect(throws: JournalError.self) { try await answers.next() }
      try journal.close()
    }
  }

  /// A condition's closure was asked about newer items with the state that it had captured, and the answer stayed wrong.
  @Test(.timeLimit(.minutes(60))) func aConditionThatReadsTheStateReadsThatOfItsAnswer() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let query: @Sendable (Catalog) throws -> ItemQuery<Recipe> = { state in
        try state.items(Recipe.self).filter(
          .satisfies { recipe in state.item(Catalog.Item.ID(recipe.stars ?? 0))?["active"] == .bool(true) })
      }
      var counts = journal.observe { try query($0).count }.makeAsyncIterator()
      var updates = journal.updates(of: query).makeAsyncIterator()
      #expect(try await counts.next() == 0)
      #expect(try await updates.next()?.items.count == 0)
      try await journal.commit { draft in
        let book = try draft.addItem(kind: "book", attributes: ["active": true])
        try draft.insert(Recipe(title: "Soup", stars: book.number))
      }
      #expect(try await counts.next() == 1)
      #expect(try await updates.next()?.items.count == 1)
      try await journal.commit { try $0.updateItem(1, set: ["active": false]) }
      #expect(try await counts.next() == 0)
      #expect(try await updates.next()?.items.count == 0)
      try journal.close()
    }
  }

  /// The closure of a live query was called for items that an earlier condition leaves out.
  @Test func aClosureIsCalledOnlyForItemsThatOtherConditionsLeave() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let seen = Lock<Set<Int?>>([])
      let query: @Sendable (Catalog) throws -> ItemQuery<Recipe> = { state in
        try state.items(Recipe.self).filter(
          .satisfies { recipe in
            seen.withLock { _ = $0.insert(recipe.stars) }
            return true
          }
        ).filter(\.stars > 0)
      }
      var run = try QueryRun(journal.version, query)
      for stars in [3, 0, 4] {
        try journal.commit { try $0.insert(Recipe(title: "Soup", stars: stars)) }
        run = try run.following(journal.version)?.run ?? QueryRun(journal.version, query)
      }
      #expect(run.items.count == 2 && seen.withLock { $0 } == [3, 4])
      try journal.close()
    }
  }

  /// Many random closures, each run again only when it says so, against running each after every commit.
  @Test(.disabled(if: TestLength.isUnderSanitizer), arguments: [0, 40])
  func answersEqualThoseOfARunAfterEveryCommit(layerCount: Int) throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let options = layerCount == 0 ? JournalOptions() : JournalOptions(layers: .often(layerCount))
      let url = folder.url.appending(path: "Watched.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      let blob = try journal.blobs.add(Data("a picture".utf8))
      var observed = try (0..<60).map { _ in try Observed(.random(using: &random), journal.version) }
      var (kept, expected) = (0, 0)
      for step in 1...200 {
        try journal.commit { draft in
          for _ in 0..<Int.random(in: 1...3, using: &random) {
            try Self.change(&draft, blob, using: &random)
          }
        }
        if step == 80 { _ = try journal.erase([.item(2), .item(5), .image(1)], reason: "by law") }
        if step == 120 { try journal.prune(before: .revision(60)) }
        if step == 160 {
          try journal.close()
          journal = try CatalogJournal.open(at: url, options: options)
        }
        for index in observed.indices {
          let old = observed[index].answer
          let answer = try observed[index].question.answer(journal.state)
          if try observed[index].follow(journal.version) { kept += 1 }
          if answer == old { expected += 1 }
          #expect(observed[index].answer == answer, "\(observed[index].question.name) after \(step)")
        }
      }
      // Some runs are unnecessary: a closure that lists the kinds, for example, depends on all items.
      #expect(kept > expected / 2, "\(kept) runs of \(expected) were saved")
      try journal.close()
    }
  }

  private static func change(
    _ draft: inout Draft<Catalog>, _ blob: Blob, using random: inout SeededGenerator
  ) throws {
    let item = draft.state.items.map(\.id).randomElement(using: &random)
    let category = draft.state.categories.map(\.id).randomElement(using: &random)
    switch (Int.random(in: 0..<10, using: &random), item, category) {
    case (0, let item?, _): try draft.addImage(to: item, name: "a", mediaType: "image/png", blob: blob)
    case (1, _, _): try draft.addCategory(name: "category \(Int.random(in: 0..<5, using: &random))")
    case (2, _, let category?): try draft.setName(ofCategory: category, to: "name")
    case (3, let item?, _): try draft.setCategory(ofItem: item, to: category)
    case (4, _, _):
      if let image = draft.state.images.map(\.id).randomElement(using: &random) {
        try draft.deleteImage(image)
      }
    default: try QueryTests.change(&draft, using: &random)
    }
  }

  /// Random queries, whose answers follow item by item, against running each after every commit.
  @Test(.disabled(if: TestLength.isUnderSanitizer), arguments: [0, 40])
  func aFollowedQueryHasTheAnswerAndTheDifferencesOfARun(layerCount: Int) throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let options = layerCount == 0 ? JournalOptions() : JournalOptions(layers: .often(layerCount))
      let url = folder.url.appending(path: "Watched.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      try journal.commit { draft in
        for _ in 0..<100 { try QueryTests.change(&draft, insertsOnly: true, using: &random) }
      }
      var watched = try (0..<40).map { _ in try Watched(.random(using: &random), journal.version) }
      for step in 1...150 {
        try journal.commit { draft in
          for _ in 0..<Int.random(in: 1...4, using: &random) { try QueryTests.change(&draft, using: &random) }
        }
        if step == 50 { _ = try journal.erase([.item(3), .item(20)], reason: "by law") }
        if step == 90 { try journal.prune(before: .revision(70)) }
        if step == 120 {
          try journal.close()
          journal = try CatalogJournal.open(at: url, options: options)
        }
        // Some answers follow several commits at once.
        for index in watched.indices where random.chance(2, in: 3) {
          try watched[index].follow(journal.version)
        }
      }
      // Queries without a limit run again only after the first layer, the erasure, the pruning and the opening, and if
      // more than 16 items have changed at once.
      for watched in watched where !watched.question.isLimited { #expect(watched.runCount <= 6) }
      try journal.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) @MainActor func aLiveQueryOfManyItemsFollowsACommitWithoutRunningAgain()
    async throws
  {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let ids = try await journal.commit { draft in
        try (0..<3_000).map { try draft.insert(Recipe(title: "\($0)", stars: $0 % 6)) }
      }.value
      let runs = Counter()
      let live = try LiveQuery(journal) { state in
        runs.count()
        return try state.items(ScannedRecipe.self).filter(\.stars > 0).sorted(by: \.title)
      }
      #expect(live.items.count == 2_500)
      for (number, id) in ids.prefix(40).enumerated() {
        try await journal.commit { draft in
          try draft.update(id) { $0.title = "Z \(number)" }
          try draft.delete(ids[ids.count - 1 - number])
        }
      }
      let newest = journal.state
      let expected = try newest.items(Recipe.self).filter(\.stars > 0).sorted(by: \.title).ids.map(\.item)
      while live.items.ids.map(\.item) != expected, !Task.isCancelled { await Task.yield() }
      #expect(live.items.ids.map(\.item) == expected)
      #expect(runs.value == 1)
      try journal.close()
    }
  }
}

/// Counts calls on any thread.
private final class Counter: Sendable {
  private let number = Lock(0)
  var value: Int { number.withLock { $0 } }
  func count() { number.withLock { $0 += 1 } }
}

/// Something that a closure may read of a state.
private enum Asked {
  case title(Int)
  case category(Int)
  case itemsOfCategory(Int)
  case images(Int)
  case imageNames
  case itemCount
  case kinds
  case modified(Int)
  case isErased(Int)
  case countOf(Question)
  case valuesOf(Question, limit: Int)
  case pageOf(Question, Ordering, limit: Int)
  case bookCount
  case referrers(Int)

  static func random(using random: inout SeededGenerator) -> Asked {
    let number = Int.random(in: 1...12, using: &random)
    let question = Question.random(using: &random)
    switch Int.random(in: 0..<14, using: &random) {
    case 0: return .title(number)
    case 1: return .category(number / 3)
    case 2: return .itemsOfCategory(number / 3)
    case 3: return .images(number)
    case 4: return .imageNames
    case 5: return .itemCount
    case 6: return .kinds
    case 7: return .modified(number)
    case 8: return .isErased(number)
    case 9: return .countOf(question)
    case 10: return .valuesOf(question, limit: number)
    case 11: return .pageOf(question, .random(using: &random), limit: number / 2)
    case 12: return .bookCount
    default: return .referrers(number)
    }
  }

  func answer(_ state: Catalog) throws -> [String] {
    switch self {
    case .title(let number): [state.item(ItemID<Recipe>(number))?.item["title"]?.string ?? "none"]
    case .category(let number): [state.category(CategoryID(number))?.name ?? "none"]
    case .itemsOfCategory(let number): state.items(in: CategoryID(number)).map { "\($0.id) \($0.record)" }
    case .images(let number): state.images(of: Catalog.Item.ID(number)).map { "\($0.id)" }
    case .imageNames: state.images.map(\.name)
    case .itemCount: ["\(state.itemCount)"]
    case .kinds: state.kinds
    case .modified(let number): ["\(state.revision(of: .item(number)))"]
    case .isErased(let number): ["\(state.isErased(.item(number)))"]
    case .countOf(let question): ["\(try state.items(Recipe.self).filter(question.filter).count)"]
    case .valuesOf(let question, let limit):
      try state.items(Recipe.self).filter(question.filter).prefix(limit).values.map { "\($0)" }
    case .pageOf(let question, let order, let limit):
      try state.items(Recipe.self).sorted(by: order.orders[0]).prefix(limit).filter(question.filter)
        .map { "\($0.id) \($0.item.record)" }
    case .bookCount: ["\(state.items(ofKind: "book").count)"]
    case .referrers(let number): state.referrers(to: .item(number)).map { "\($0)" }
    }
  }

  /// The name of the case.
  var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}

/// A closure that is run again only if something that it has read has changed.
private struct Observed {
  let question: Asked
  private(set) var answer: [String]
  private var version: Version<Catalog>
  private var reads = CatalogReads()

  init(_ question: Asked, _ version: Version<Catalog>) throws {
    (self.question, self.version) = (question, version)
    answer = try question.answer(version.state.tracked(by: reads))
  }

  /// Returns whether the closure need not run.
  mutating func follow(_ newer: Version<Catalog>) throws -> Bool {
    defer { version = newer }
    if !reads.differ(in: CatalogStep(from: version, to: newer)) { return true }
    reads = CatalogReads()
    answer = try question.answer(newer.state.tracked(by: reads))
    return false
  }
}

/// A random query, as a closure that a watcher may run.
private struct WatchedQuestion: Sendable {
  let isLimited: Bool
  let query: @Sendable (Catalog) throws -> ItemQuery<Recipe>

  static func random(using random: inout SeededGenerator) -> WatchedQuestion {
    let filter = Bool.random(using: &random) ? Question.random(using: &random).filter : nil
    let orders = Bool.random(using: &random) ? Ordering.random(using: &random).orders : []
    let limit = random.chance(1, in: 4) ? Int.random(in: 0...10, using: &random) : nil
    return WatchedQuestion(isLimited: limit != nil) { state in
      var query = state.items(Recipe.self)
      if let filter { query = try query.filter(filter) }
      if orders.count == 1 { query = try query.sorted(by: orders[0]) }
      if orders.count == 2 { query = try query.sorted(by: orders[0], orders[1]) }
      return limit.map { query.dropFirst(1).prefix($0) } ?? query
    }
  }
}

private struct Watched {
  let question: WatchedQuestion
  private(set) var runCount = 1
  private var run: QueryRun<Recipe>

  init(_ question: WatchedQuestion, _ version: Version<Catalog>) throws {
    self.question = question
    run = try QueryRun(version, question.query)
  }

  mutating func follow(_ version: Version<Catalog>) throws {
    let old = run
    let update: QueryUpdate<Recipe>?
    if let followed = run.following(version) {
      (run, update) = followed
    } else {
      run = try QueryRun(version, question.query)
      update = run.update(since: old)
      runCount += 1
    }
    let expected = try question.query(version.state)
    #expect(run.items.ids == expected.ids)
    #expect(try run.items.values == expected.values)
    let known = Dictionary(uniqueKeysWithValues: old.items.map { ($0.id, $0.item.modified) })
    let changed = expected.filter { known[$0.id] ?? $0.item.modified != $0.item.modified }.map(\.id)
    #expect(changed == update?.changed ?? [])
    let difference = update?.difference
    #expect(old.items.ids.applying(difference ?? .init([])!) == expected.ids)
    for case .remove(_, let id, let place?) in difference?.removals ?? [] {
      #expect(expected.ids[place] == id)
    }
    for case .insert(_, let id, let place?) in difference?.insertions ?? [] {
      #expect(old.items.ids[place] == id)
    }
    if let update { #expect(update.items.ids == expected.ids && update.revision == version.revision) }
  }
}
