import CatalogModel
import Files
import Foundation
import InMemoryJournals
import JournalMaintenance
import Locks
import TestSupport
import Testing

/// Reads away from the main actor.
struct ReadTests {
  private static let queue: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the caller runs on the queue of the main actor, which on Linux changes its thread.
  private static var isOnMainActor: Bool { DispatchQueue.getSpecific(key: queue) == true }

  @MainActor @Test func aReadRunsAwayFromTheMainActorAndReturnsItsResultOrError() async throws {
    let journal = try CatalogJournal.inMemory()
    try await journal.commit(by: "ana") { try $0.addItem(kind: "book", attributes: ["title": "Dune"]) }
    let (wasMain, title) = try await journal.read { journal in
      (Self.isOnMainActor, try journal.state(asOf: .revision(1)).item(1)?["title"])
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

  /// Each call of a list of those that read or wait, made in `read`.
  @MainActor @Test func noCallInAReadUsesAFileOnTheMainActor() async throws {
    try await withTemporaryFolder { folder in
      let used = Lock<[String]>([])
      var options = JournalOptions()
      options.fileHook = { operation in
        if Self.isOnMainActor { used.withLock { $0.append("\(operation)") } }
        return .proceed
      }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Books.journal"), options: options)
      // Here, on the main actor, the hook has seen files.
      #expect(Self.isOnMainActor && !used.withLock { $0.isEmpty })
      used.withLock { $0 = [] }
      let blob = try await journal.read { try $0.blobs.add(Data("cover".utf8)) }
      try await journal.commit(by: "ana") { draft in
        let book = try draft.addItem(kind: "book", attributes: ["title": "Dun"])
        _ = try draft.addImage(to: book, name: "cover", mediaType: "image/png", blob: blob)
      }
      try await journal.commit(by: "ana") { try $0.updateItem(1, set: ["title": "Dune"]) }
      let calls: [(String, @Sendable (CatalogJournal) throws -> Bool)] = [
        ("state(asOf:)", { try $0.state(asOf: .revision(1)).item(1) != nil }),
        ("history", { try $0.history(of: .item(1)).count == 2 }),
        ("blame", { try $0.blame(.item(1)) != nil }),
        ("diff", { try $0.diff(from: .revision(1), to: .head()).count == 1 }),
        ("planUndo", { try $0.planUndo(by: "ana") != nil }),
        ("planRevert", { try !$0.planRevert(of: 2).isEmpty }),
        ("planRestore", { try !$0.planRestore(of: .everything, asOf: .revision(1)).isEmpty }),
        ("blobs", { try $0.blobs.data(of: blob) == Data("cover".utf8) }),
        ("takeSnapshot", { try $0.takeSnapshot().revision == 2 }),
        ("verify", { try $0.verify(.deep).isSound }),
        ("backup", { try $0.backup(to: folder.url.appending(path: "Books.backup")).entryCount == 2 }),
        ("erase", { try $0.erase([.item(1)], reason: "by law").imageCount == 1 }),
        ("prune", { try $0.prune(before: .revision(1)).entryCount == 1 }),
      ]
      for (name, call) in calls {
        let (wasMain, isRight) = try await journal.read { (Self.isOnMainActor, try call($0)) }
        #expect(!wasMain && isRight, "\(name)")
        #expect(used.withLock { $0 } == [], "\(name)")
      }
      // The main actor runs while a read waits.
      let began = Lock(false)
      let gate = DispatchSemaphore(value: 0)
      let waiting = Task {
        try await journal.read { _ in
          began.withLock { $0 = true }
          gate.wait()
        }
      }
      while !began.withLock({ $0 }) { await Task.yield() }
      #expect(Self.isOnMainActor)
      gate.signal()
      try await waiting.value
      try await journal.read { try $0.close() }
    }
  }
}
