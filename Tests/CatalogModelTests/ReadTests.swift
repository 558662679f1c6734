import CatalogModel
import Foundation
import InMemoryJournals
import TestSupport
import Testing

/// Reads away from the main actor.
struct ReadTests {
  @MainActor @Test func aReadRunsAwayFromTheMainActorAndReturnsItsResultOrError() async throws {
    let journal = try CatalogJournal.inMemory()
    try await journal.commit(by: "ana") { try $0.addItem(kind: "book", attributes: ["title": "Dune"]) }
    let (wasMain, title) = try await journal.read { journal in
      (Thread.isMainThread, try journal.state(asOf: .revision(1)).item(1)?["title"])
    }
    #expect(!wasMain && title == "Dune")
    let error = await #expect(throws: JournalError.self) { try await journal.read { try $0.entry(at: 7) } }
    #expect(error?.code == .notFound)
    // A plan that was made there is committed here, and the actor runs meanwhile.
    let plan = try #require(try await journal.read { try $0.planUndo(by: "ana") })
    try await journal.commit(plan, by: "ana")
    #expect(journal.state.itemCount == 0)
    let cancelled = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await journal.read { $0.state.itemCount }
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }
}
