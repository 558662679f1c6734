import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// What was planned, named or begun before an erasure or a pruning of an open journal.
extension OpenErasureTests {
  /// The pruning removed the entry that recorded the erasure, so nothing told that the plan had erased content.
  @Test func aPlanFromBeforeAnErasureThatWasPrunedBringsNothingBack() throws {
    try withJournal { journal, url in
      let cup = try addItem(journal, "secret cup", by: "ana")
      try journal.commit(by: "ana") { try $0.deleteItem(cup) }
      let undo = try #require(try journal.planUndo(by: "ana"))
      try journal.erase([.item(cup)], reason: "by law")
      try journal.prune(before: .revision(3))
      let error = #expect(throws: JournalError.self) { try journal.commit(undo, by: "ana") }
      #expect(error?.code == .conflict, "\(String(describing: error))")
      #expect(try !isInFolder("secret", url))
    }
  }

  /// The note of the plan quotes the erased note, although the plan changes another entity.
  @Test func aPlanWhoseNoteQuotesAnErasedNoteIsAConflict() throws {
    try withJournal { journal, url in
      let (cup, jug) = (try addItem(journal, "cup"), try addItem(journal, "jug"))
      try journal.commit(by: "ana", note: "secret letter") { draft in
        try draft.updateItem(cup, set: ["name": .string("mug")])
        try draft.updateItem(jug, set: ["name": .string("can")])
      }
      try journal.commit(by: "bob") { try $0.updateItem(cup, set: ["name": .string("glass")]) }
      let undo = try #require(try journal.planUndo(by: "ana", later: .keep))
      #expect(undo.changes.map(\.entity) == [.item(jug)] && undo.note.contains("secret"))
      try journal.erase([.item(cup)], reason: "by law", includingWords: true)
      let error = #expect(throws: JournalError.self) { try journal.commit(undo, by: "ana") }
      #expect(error?.code == .conflict, "\(String(describing: error))")
      #expect(try !isInFolder("secret", url))
    }
  }

  /// The rejected commit had looked for the image, which then counted as added again.
  @Test func anImageThatARejectedCommitNamesDuringAnErasureIsRemoved() throws {
    try withJournal { journal, url in
      let (cup, jug) = (try addItem(journal, "cup"), try addItem(journal, "jug"))
      let blob = try journal.blobs.add(Data("secret image".utf8))
      try journal.commit { _ = try $0.addImage(to: cup, name: "a.png", mediaType: "image/png", blob: blob) }
      let missing = Blob(digest: .zero, byteCount: 7)
      let progress = once {
        let error = #expect(throws: JournalError.self) {
          try journal.commit { draft in
            for blob in [blob, missing] {
              _ = try draft.addImage(to: jug, name: "b.png", mediaType: "image/png", blob: blob)
            }
          }
        }
        #expect(error?.code == .rejected)
      }
      let report = try journal.erase([.item(cup)], reason: "by law", progress: progress)
      #expect(report.imageCount == 1)
      #expect(try !isInFolder("secret", url))
    }
  }

  /// A cursor used to end with an error before it came to the pruned entries.
  @Test func aCursorFromTheNewestEntryComesToTheBaseOfAPruning() throws {
    try withJournal { journal, _ in
      for number in 1...2_500 { _ = try addItem(journal, "\(number)") }
      let cursor = journal.entries(newestFirst: true)
      let newest = try #require(try cursor.next())
      try journal.prune(before: .revision(100))
      var revisions = [newest.revision]
      let error = #expect(throws: JournalError.self) {
        while let entry = try cursor.next() { revisions.append(entry.revision) }
      }
      #expect(error?.code == .pruned)
      #expect(revisions == Array((journal.base!.revision + 1...2_500).reversed()))
    }
  }

  /// Entries that were pruned before they were read used to be skipped.
  @Test func aSequenceOfEntriesThatWereNotReadBeforeAPruningSaysSo() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      for number in 1...20 { _ = try addItem(journal, "\(number)") }
      var entries = journal.newEntries(after: 0).makeAsyncIterator()
      #expect(try await entries.next()?.revision == 1)
      try journal.prune(before: .revision(10))
      let error = await #expect(throws: JournalError.self) { _ = try await entries.next() }
      #expect(error?.code == .pruned)
      try journal.close()
    }
  }

  private struct Find: CatalogItem {
    static let kind = "find"
    static let indexes = [Index(\.name)]
    var name: String
  }

  /// The checks of the app were gone, and so were its indexes from new layers.
  @Test(arguments: [true, false])
  func whatAnAppHasAddedToAnOpenJournalStaysAfterAnErasureOrAPruning(isErasure: Bool) throws {
    var options = JournalOptions()
    options.layers.eventCount = 16
    try withJournal(options) { journal, _ in
      for number in 1...200 { try journal.commit { try $0.insert(Find(name: "\(number)")) } }
      try journal.state.buildIndexes(of: Find.self)
      journal.addCheck(of: Find.self) { _, after, _ in
        if after?.name == "forbidden" { throw JournalError(.rejected, "it is forbidden") }
      }
      if isErasure {
        try journal.erase([.item(1)], reason: "by law")
      } else {
        try journal.prune(before: .revision(100))
      }
      let error = #expect(throws: JournalError.self) {
        try journal.commit { try $0.insert(Find(name: "forbidden")) }
      }
      #expect(error?.code == .rejected)
      #expect(journal.state.parts?.declaredIndexes.values.map(\.count) == [1])
      for number in 1...40 { try journal.commit { try $0.insert(Find(name: "new \(number)")) } }
      journal.waitForLayers()
      let name = try #require(journal.state.parts?.declaredIndexes.values.first?.first)
      #expect(LayeredIndex(journal.state.itemTable, name) != nil)
      #expect(try journal.state.items(Find.self).filter(\.name == "7").ids == [7])
      #expect(try journal.state.items(Find.self).filter(\.name == "1").isEmpty == isErasure)
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// The layers that were written in the meantime kept the snapshots from being put back, and they were removed.
  @Test func ifTheExchangeAndItsReversalFailTheSnapshotsAreThereAfterTheNextOpening() throws {
    let fails = Lock(false)
    let exchangeCount = Lock(0)
    var options = JournalOptions()
    options.layers.eventCount = 16
    options.fileHook = { operation in
      guard fails.withLock({ $0 }), operation.kind == .rename, operation.path.contains("entries.new/") else {
        return .proceed
      }
      // Only the first exchange, that of the snapshots, succeeds.
      let isFirst = exchangeCount.withLock { count in
        count += 1
        return count == 1
      }
      return isFirst ? .proceed : .fail(EIO)
    }
    try withJournal(options) { journal, url in
      for number in 1...50 { _ = try addItem(journal, "cup \(number)") }
      let snapshot = try journal.takeSnapshot()
      let progress = once { fails.withLock { $0 = true } }
      let error = #expect(throws: JournalError.self) {
        try journal.erase([.item(1)], reason: "by law", progress: progress)
      }
      #expect(error?.code == .io, "\(String(describing: error))")
      #expect(!FileManager.default.fileExists(atPath: snapshot.url.path))
      for number in 1...50 { _ = try addItem(journal, "jug \(number)") }
      journal.waitForLayers()
      try journal.close()
      fails.withLock { $0 = false }
      let again = try CatalogJournal.open(at: url)
      #expect(again.state.itemCount == 100)
      #expect(try again.snapshots().map(\.revision) == [50])
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.erase([.item(1)], reason: "by law")
      try again.close()
    }
  }

  /// A verification reported ERASING as a problem if an erasure removed the file after it was found and before it was
  /// opened.
  @Test func aRecordThatIsRemovedWhileItIsReadIsNoProblem() throws {
    try withTemporaryFolder { folder in
      let (kept, record) = (folder.path("kept"), folder.path(ReplacementRecord.fileName))
      try Data("erasing 1 5 \(String(repeating: "0", count: 64))\n".utf8).write(to: URL(filePath: kept))
      let root = try JournalFolder(folder.url, hook: nil).root
      let isOver = Lock(false)
      let ended = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        while !isOver.withLock({ $0 }) {
          try? FileManager.default.linkItem(atPath: kept, toPath: record)
          try? FileManager.default.removeItem(atPath: record)
        }
        ended.signal()
      }
      defer {
        isOver.withLock { $0 = true }
        ended.wait()
      }
      var foundCount = 0
      for _ in 0..<50_000 where try ReplacementRecord(in: root) != nil { foundCount += 1 }
      #expect(foundCount > 0)
    }
  }

  /// Between the removals of the old log and of ERASING, a verification took ERASING for that of an earlier erasure.
  @Test func anotherProcessFindsNoProblemAtAnyStepOfAnErasure() throws {
    let isBegun = Lock(false)
    let url = Lock<URL?>(nil)
    let steps = Lock(0)
    let problems = Lock<[String]>([])
    let writer = Lock<CatalogJournal?>(nil)
    var options = JournalOptions()
    options.fileHook = { operation in
      // Each step of the end, which removes what only the old log had.
      guard isBegun.withLock({ $0 }), operation.kind == .remove || operation.kind == .syncFolder,
        let url = url.withLock({ $0 }), let journal = writer.withLock({ $0 }),
        FileManager.default.fileExists(atPath: "\(url.path)/ERASING"), journal.state.isErased(.item(1))
      else { return .proceed }
      isBegun.withLock { $0 = false }
      defer { isBegun.withLock { $0 = true } }
      steps.withLock { $0 += 1 }
      do {
        try journal.commit { try $0.updateItem(2, set: ["step": .string("\(operation)")]) }
        let reader = try CatalogJournal.open(at: url, mode: .readOnly)
        let found = try reader.verify().problems.map { "\(operation): \($0)" }
        problems.withLock { $0 += found }
        try reader.close()
      } catch {
        problems.withLock { $0.append("\(operation): \(error)") }
      }
      return .proceed
    }
    try withJournal(options) { journal, place in
      for number in 1...3 { _ = try addItem(journal, "cup \(number)") }
      url.withLock { $0 = place }
      writer.withLock { $0 = journal }
      isBegun.withLock { $0 = true }
      try journal.erase([.item(1)], reason: "by law")
      isBegun.withLock { $0 = false }
      writer.withLock { $0 = nil }
      #expect(steps.withLock { $0 } > 5)
      #expect(problems.withLock { $0 } == [])
      #expect(!FileManager.default.fileExists(atPath: place.appending(path: "entries.new").path))
    }
  }

  /// A live query loses the erased item, and shows what is committed afterwards.
  @Test(.timeLimit(.minutes(60))) @MainActor func aLiveQueryContinuesAfterAnErasureAndAPruning() async throws
  {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      for number in 1...20 {
        try await journal.commit { try $0.insert(Find(name: number == 3 ? "secret" : "\(number)")) }
      }
      let live = try LiveQuery(journal) { try $0.items(Find.self).sorted(by: \.name) }
      #expect(live.items.count == 20)
      @MainActor func waits(until names: Set<String>) async throws {
        var shown = try Set(live.items.values.map(\.name))
        while shown != names, !Task.isCancelled {
          await Task.yield()
          shown = try Set(live.items.values.map(\.name))
        }
        #expect(shown == names)
      }
      var names = Set((1...20).map { "\($0)" })
      names.remove("3")
      _ = try await journal.read { try $0.erase([.item(3)], reason: "by law") }
      try await waits(until: names)
      try await journal.commit { try $0.insert(Find(name: "after the erasure")) }
      try await waits(until: names.union(["after the erasure"]))
      _ = try await journal.read { try $0.prune(before: .revision(10)) }
      try await journal.commit { try $0.update(ItemID<Find>(1)) { $0.name = "after the pruning" } }
      names.remove("1")
      try await waits(until: names.union(["after the erasure", "after the pruning"]))
      try await journal.read { try $0.close() }
    }
  }
}
