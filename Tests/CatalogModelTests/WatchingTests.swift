import Foundation
import Locks
import Observation
import TestSupport
import Testing

@testable import CatalogModel

struct WatchingTests {
  @Test func statesBeginWithTheNewestAndSkipWhatASlowReaderMissed() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      try await journal.commit { try $0.insert(Recipe(title: "1")) }
      var versions = journal.versions.makeAsyncIterator()
      #expect(await versions.next()?.revision == 1)
      for title in 2...5 { try await journal.commit { try $0.insert(Recipe(title: "\(title)")) } }
      #expect(await versions.next()?.revision == 5)
      var states = journal.states.makeAsyncIterator()
      #expect(await states.next()?.itemCount == 5)
      try await journal.commit { try $0.insert(Recipe(title: "6")) }
      try journal.close()
      // The sequences still give the newest state, and then end.
      #expect(await versions.next()?.revision == 6)
      #expect(await versions.next() == nil)
      #expect(await states.next()?.itemCount == 6)
      #expect(await states.next() == nil)
    }
  }

  @Test func theSequenceOfChangesSaysWhatWasAddedChangedAndDeleted() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let soup = try await journal.commit { try $0.insert(Recipe(title: "Soup")) }.value
      let pie = try await journal.commit { try $0.insert(Recipe(title: "Pie")) }.value
      var changes = journal.changes.makeAsyncIterator()
      try await journal.commit { draft in
        try draft.update(soup) { $0.title = "Hot soup" }
        try draft.delete(pie)
      }
      try await journal.commit { try $0.insert(Recipe(title: "Stew")) }
      let change = try #require(await changes.next())
      #expect(change.old.revision == 2 && change.new.revision == 4)
      #expect(change.differences.map(\.operation) == [.update, .delete, .add])
      #expect(change.differences.map(\.entity) == [soup.entity, pie.entity, .item(3)])
      #expect(
        change.differences[0].old?["title"] == "Soup" && change.differences[0].new?["title"] == "Hot soup")
      #expect(change.differences[1].old?["title"] == "Pie" && change.differences[1].new == nil)
      try journal.close()
      #expect(await changes.next() == nil)
    }
  }

  @Test func aWatchedQueryReportsOnlyChangedAnswers() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let ids = try await journal.commit { draft in
        try ["Soup", "Pie", "Stew"].map { try draft.insert(Recipe(title: $0, stars: 5)) }
      }.value
      var updates = journal.updates { try $0.items(Recipe.self).filter(\.stars >= 4).sorted(by: \.title) }
        .makeAsyncIterator()
      let first = try #require(try await updates.next())
      #expect(first.items.ids == [ids[1], ids[0], ids[2]])
      #expect(first.difference.insertions.count == 3 && first.changed == [])
      // A commit that does not change the answer gives no update, so the next update is that of the second commit.
      try await journal.commit { try $0.insert(Recipe(title: "Gruel", stars: 1)) }
      try await journal.commit { try $0.update(ids[1]) { $0.title = "Zucchini pie" } }
      let second = try #require(try await updates.next())
      #expect(second.items.ids == [ids[0], ids[2], ids[1]])
      #expect(second.changed == [ids[1]])
      #expect(second.difference.count == 2)
      #expect(first.items.ids.applying(second.difference) == second.items.ids)
      guard case .remove(_, ids[1], let destination)? = second.difference.removals.first else {
        Issue.record("the pie did not move")
        return
      }
      #expect(destination == 2)
      try journal.close()
    }
  }

  @Test func aWatcherDuringManyCommitsSeesAllDifferencesUpToTheNewestState() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let ids = try await journal.commit { draft in
        try (0..<64).map { try draft.insert(Recipe(title: "\($0)", stars: 3)) }
      }.value
      let query: @Sendable (Catalog) throws -> ItemQuery<Recipe> = {
        try $0.items(Recipe.self).filter(\.stars >= 3).sorted(by: .descending(\.stars), .ascending(\.title))
      }
      let updates = journal.updates(of: query)
      let changes = journal.changes
      let hasAnswer = Lock(false)
      let watcher = Task {
        var shown: [ItemID<Recipe>] = []
        var answers = 0
        for try await update in updates {
          shown = try #require(shown.applying(update.difference))
          #expect(shown == update.items.ids)
          answers += 1
          hasAnswer.withLock { $0 = true }
        }
        return (shown, answers)
      }
      let start = journal.state
      let follower = Task {
        var records = Dictionary(uniqueKeysWithValues: start.items.map { ($0.id.entity, $0.record) })
        for await change in changes {
          for difference in change.differences {
            #expect(records[difference.entity] == difference.old)
            records[difference.entity] = difference.new
          }
        }
        return records
      }
      // On a busy machine, all commits could otherwise come before it.
      for _ in 0..<60_000 where !hasAnswer.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (writer, id) in ids.enumerated() {
          group.addTask {
            for round in 0..<12 {
              try await journal.commit { draft in
                try draft.update(id) { $0.stars = (writer + round) % 6 }
                if round % 4 == 3 { try draft.insert(Recipe(title: "\(writer) \(round)", stars: 4)) }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let last = journal.state
      try journal.close()
      let (shown, answers) = try await watcher.value
      #expect(try shown == query(last).ids)
      #expect(answers > 1 && answers <= 64 * 12 + 1)
      let records = await follower.value
      #expect(records == Dictionary(uniqueKeysWithValues: last.items.map { ($0.id.entity, $0.record) }))
    }
  }

  @Test(.timeLimit(.minutes(60))) func watchersDoNotKeepAJournalOpen() async throws {
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Watched.journal")
      var journal: CatalogJournal? = try CatalogJournal.create(at: url)
      let (states, changes, entries) = (journal!.states, journal!.changes, journal!.newEntries)
      let updates = journal!.updates { $0.items(Recipe.self) }
      let live = await LiveQuery(journal!) { $0.items(Recipe.self) }
      let watchers = [
        Task { for await _ in states {} }, Task { for await _ in changes {} },
        Task { for await _ in updates {} },
        Task { for try await _ in entries {} },
      ].map { task in Task { _ = await task.result } }
      try await journal?.commit { try $0.insert(Recipe(title: "Soup")) }
      journal = nil
      for watcher in watchers { await watcher.value }
      // It was closed with its last reference, so it can be opened again at once.
      let again = try CatalogJournal.open(at: url)
      #expect(again.state.itemCount == 1)
      // After the end of the journal, the newest answer arrives and stays.
      while await live.items.isEmpty, !Task.isCancelled { await Task.yield() }
      #expect(await live.items.count == 1)
      try again.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) @MainActor func aLiveQueryTellsItsObservers() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let soup = try await journal.commit { try $0.insert(Recipe(title: "Soup", stars: 2)) }.value
      let live = try LiveQuery(journal) { try $0.items(Recipe.self).filter(\.stars > 3) }
      #expect(live.items.isEmpty && live.newest == nil)
      try await untilChanged(live) { try journal.commit { try $0.update(soup) { $0.stars = 5 } } }
      #expect(live.items.ids == [soup])
      #expect(live.newest?.difference.insertions.count == 1)
      // The same object shows another query.
      try live.show(journal) { try $0.items(Recipe.self).filter(\.stars == 1) }
      #expect(live.items.isEmpty)
      try await untilChanged(live) { try journal.commit { try $0.update(soup) { $0.stars = 1 } } }
      #expect(live.items.ids == [soup])
      try journal.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) @MainActor func aLiveQueryWithoutReferencesIsReleased() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      weak var seen: LiveQuery<Recipe>?
      do {
        let live = LiveQuery(journal) { $0.items(Recipe.self) }
        seen = live
        try await untilChanged(live) { try journal.commit { try $0.insert(Recipe(title: "Soup")) } }
      }
      for _ in 0..<1_000 where seen != nil { await Task.yield() }
      #expect(seen == nil)
      try journal.close()
    }
  }

  /// Its task held the first answer, and with it the first state, as long as it watched.
  @Test(.timeLimit(.minutes(60))) @MainActor func aLiveQueryReleasesTheAnswersThatItNoLongerShows()
    async throws
  {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Watched.journal"))
      let live = LiveQuery(journal) { $0.items(Recipe.self) }
      weak var first: QueryAnswer?
      first = Mirror(reflecting: live.items).descendant("answer") as? QueryAnswer
      #expect(first != nil)
      try await untilChanged(live) { try journal.commit { try $0.insert(Recipe(title: "Soup")) } }
      for _ in 0..<1_000 where first != nil { await Task.yield() }
      #expect(first == nil && live.items.count == 1)
      try journal.close()
    }
  }

  /// Makes a change, and returns when the observers of a query's items have been told.
  @MainActor private func untilChanged(
    _ live: LiveQuery<Recipe>, _ change: () throws -> Void
  ) async rethrows {
    let isTold = Lock(false)
    withObservationTracking {
      _ = live.items
    } onChange: {
      isTold.withLock { $0 = true }
    }
    try change()
    while !isTold.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
    #expect(isTold.withLock { $0 })
    // Observers are told before the value is set. The value is set on this actor without a suspension in between.
    await Task.yield()
  }
}

struct DifferenceTests {
  @Test func aDifferenceTurnsOneListIntoAnotherWithTheFewestMoves() {
    var random = SeededGenerator()
    for _ in 0..<300 {
      let all = (1...Int.random(in: 1...30, using: &random)).map { ItemID<Recipe>($0) }
      let old = all.filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
      let new = all.filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
      let difference = CollectionDifference.between(old, and: new)
      #expect(old.applying(difference) == new)
      #expect(difference.count == new.difference(from: old).count)
    }
  }

  @Test func aLongReversedListIsComparedQuickly() {
    let list = (1...200_000).map { ItemID<Recipe>($0) }
    let difference = CollectionDifference.between(list, and: list.reversed())
    #expect(difference.removals.count == 199_999 && difference.insertions.count == 199_999)
    #expect(difference.insertions.allSatisfy { if case .insert(_, _, _?) = $0 { true } else { false } })
  }
}
