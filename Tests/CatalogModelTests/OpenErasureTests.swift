import CatalogModel
import Files
import Foundation
import InMemoryJournals
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// Erasing and pruning a journal that is open: what reads and writes it meanwhile continues.
@Suite struct OpenErasureTests {
  func withJournal(
    _ options: JournalOptions = JournalOptions(),
    _ body: (_ journal: CatalogJournal, _ url: URL) throws -> Void
  ) throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let journal = try CatalogJournal.create(at: url, options: options)
      try body(journal, url)
      try journal.close()
    }
  }

  /// Whether a text is in any file of the journal.
  func isInFolder(_ text: String, _ url: URL) throws -> Bool {
    for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      // LevelDB or a layer may have removed the file in the meantime.
      let bytes = FileManager.default.contents(atPath: "\(url.path)/\(name)") ?? Data()
      if bytes.range(of: Data(text.utf8)) != nil { return true }
    }
    return false
  }

  func addItem(_ journal: CatalogJournal, _ name: String, by author: String = "") throws
    -> Catalog.Item.ID
  {
    try journal.commit(by: author) { try $0.addItem(kind: "find", attributes: ["name": .string(name)]) }.value
  }

  private func name(_ item: Catalog.Item.ID, in state: Catalog) -> FieldValue? {
    state.item(item)?.attributes["name"]
  }

  /// Runs `body` once, in the middle of an erasure or a pruning.
  func once(_ body: @escaping () throws -> Void) -> (CopyProgress) throws -> Void {
    var isDone = false
    return { progress in
      guard !isDone, progress.phase == .proving else { return }
      isDone = true
      try body()
    }
  }

  @Test func anErasureInAnOpenJournalErasesWhatOneInAClosedJournalDoes() throws {
    try withJournal { journal, url in
      let cup = try addItem(journal, "secret cup")
      let jug = try addItem(journal, "plain jug")
      let blob = try journal.blobs.add(Data("secret image".utf8))
      try journal.commit { _ = try $0.addImage(to: cup, name: "cup.png", mediaType: "image/png", blob: blob) }
      let before = journal.version
      let report = try journal.erase([.item(cup)], reason: "by law", by: "eve")
      #expect(report.entities == [.item(cup), .image(1)] && report.imageCount == 1)
      #expect(report.head == journal.head && journal.head.revision == before.revision + 1)
      #expect(journal.state.isErased(.item(cup)) && name(jug, in: journal.state) == "plain jug")
      #expect(try journal.contains(JournalReceipt(id: journal.id, head: before.head)))
      #expect(try journal.state(asOf: .revision(1)).item(cup) == nil)
      #expect(try !isInFolder("secret", url))
      // A state from before keeps what it has.
      #expect(name(cup, in: before.state) == "secret cup")
      #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      #expect(try journal.erase([.item(cup)], reason: "again").isEmpty)
      _ = try addItem(journal, "after")
      let state = journal.state.json
      try journal.close()
      let again = try CatalogJournal.open(at: url)
      #expect(again.state.json == state)
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
    }
  }

  /// Also an image that the item got in the meantime is erased, and one that another item got stays.
  @Test func whatIsCommittedDuringAnErasureIsErasedOrStays() throws {
    try withJournal { journal, url in
      let cup = try addItem(journal, "secret cup")
      let jug = try addItem(journal, "plain jug")
      let shared = try journal.blobs.add(Data("an image that stays".utf8))
      let added = try journal.blobs.add(Data("an image that was added again".utf8))
      for blob in [shared, added] {
        try journal.commit { _ = try $0.addImage(to: cup, name: "a.png", mediaType: "image/png", blob: blob) }
      }
      let progress = once {
        let own = try journal.blobs.add(Data("secret image".utf8))
        #expect(try journal.blobs.add(Data("an image that was added again".utf8)) == added)
        try journal.commit { draft in
          _ = try draft.addImage(to: cup, name: "b.png", mediaType: "image/png", blob: own)
          _ = try draft.addImage(to: jug, name: "c.png", mediaType: "image/png", blob: shared)
          try draft.updateItem(cup, set: ["name": .string("secret mug")])
        }
      }
      let report = try journal.erase([.item(cup)], reason: "by law", progress: progress)
      #expect(report.entities == [.item(cup), .image(1), .image(2), .image(3)])
      #expect(try !isInFolder("secret", url))
      #expect(journal.state.images.map(\.id) == [4])
      #expect(try journal.blobs.data(of: shared) == Data("an image that stays".utf8))
      try journal.commit { _ = try $0.addImage(to: jug, name: "d.png", mediaType: "image/png", blob: added) }
      #expect(try journal.blobs.data(of: added) == Data("an image that was added again".utf8))
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// An image that is moved to the item, or away from it, has entries that were copied already.
  @Test(arguments: [true, false]) func whatBeginsOrCeasesToBelongToAnErasedItemIsFoundAgain(belongs: Bool)
    throws
  {
    try withJournal { journal, _ in
      let (cup, jug) = (try addItem(journal, "cup"), try addItem(journal, "jug"))
      let blob = try journal.blobs.add(Data("image".utf8))
      try journal.commit {
        _ = try $0.addImage(to: belongs ? jug : cup, name: "a.png", mediaType: "image/png", blob: blob)
      }
      let progress = once {
        try journal.commit { draft in
          try draft.update(
            .image(1),
            to: EntityRecord(fields: [
              0: .integer(Int64(belongs ? cup.number : jug.number)), 1: .string("a.png"),
              2: .string("image/png"),
              3: .data(Data(blob.digest.bytes)), 4: .integer(Int64(blob.byteCount)),
            ]))
        }
      }
      let report = try journal.erase([.item(cup)], reason: "by law", progress: progress)
      #expect(report.entities == (belongs ? [.item(cup), .image(1)] : [.item(cup)]))
      #expect(journal.state.images.map(\.id) == (belongs ? [] : [1]))
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func aPlanFromBeforeAnErasureBringsNothingBack() throws {
    try withJournal { journal, url in
      let cup = try addItem(journal, "secret cup", by: "ana")
      try journal.commit(by: "ana") { try $0.deleteItem(cup) }
      let undo = try #require(try journal.planUndo(by: "ana"))
      let restore = try journal.planRestore(of: .entities([.item(cup)]), asOf: .revision(1))
      let revert = try journal.planRevert(of: 2)
      try journal.commit(undo, by: "ana")
      let redone = try #require(try journal.planRedo(by: "ana"))
      try journal.commit(redone, by: "ana")
      let again = try #require(try journal.planUndo(by: "ana"))
      try journal.erase([.item(cup)], reason: "by law")
      for plan in [undo, restore, revert, redone, again] {
        let error = #expect(throws: JournalError.self) { try journal.commit(plan, by: "ana") }
        #expect(error?.code == .conflict, "\(plan.action): \(String(describing: error))")
        let applied = #expect(throws: JournalError.self) { try journal.commit { try $0.apply(plan) } }
        #expect(applied?.code == .conflict, "\(plan.action): \(String(describing: applied))")
      }
      #expect(try !isInFolder("secret", url))
      #expect(journal.state.item(cup) == nil)
    }
  }

  @Test func aJournalInMemoryOrOpenForReadingCanNotBeErasedNorCanOneInACommit() throws {
    try withJournal { journal, url in
      let cup = try addItem(journal, "cup")
      try journal.commit { draft in
        for body in [
          { _ = try journal.erase([.item(cup)], reason: "x") }, { _ = try journal.prune(before: .head()) },
        ] {
          #expect(#expect(throws: JournalError.self) { try body() }?.code == .wrongUse)
        }
        try draft.updateItem(cup, set: ["name": .string("mug")])
      }
      #expect(name(cup, in: journal.state) == "mug")
      let unknown = #expect(throws: JournalError.self) { try journal.erase([.item(9)], reason: "x") }
      #expect(unknown?.code == .notFound)
      let reader = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(
        #expect(throws: JournalError.self) { try reader.erase([.item(cup)], reason: "x") }?.code == .readOnly)
      try reader.close()
      let memory = try CatalogJournal.inMemory()
      _ = try addItem(memory, "cup")
      #expect(
        #expect(throws: JournalError.self) { try memory.erase([.item(cup)], reason: "x") }?.code == .wrongUse)
      try memory.close()
    }
  }

  @Test(arguments: [true, false]) func closingEndsAnErasureOrAPruningInProgressAndNothingIsLost(
    isErasure: Bool
  ) throws {
    try withJournal { journal, url in
      for number in 1...20 { _ = try addItem(journal, "cup \(number)") }
      let began = DispatchSemaphore(value: 0)
      let progress: (CopyProgress) throws -> Void = once {
        // The caller of `close` waits for this thread.
        #expect(#expect(throws: JournalError.self) { try journal.close() }?.code == .wrongUse)
        #expect(#expect(throws: JournalError.self) { try journal.prune(before: .head()) }?.code == .wrongUse)
        _ = try addItem(journal, "committed meanwhile")
        began.signal()
        while !journal.current.isClosing { Thread.sleep(forTimeInterval: 0.001) }
      }
      let closed = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        began.wait()
        try? journal.close()
        closed.signal()
      }
      let error = #expect(throws: JournalError.self) {
        if isErasure {
          try journal.erase([.item(1)], reason: "by law", progress: progress)
        } else {
          try journal.prune(before: .revision(5), progress: progress)
        }
      }
      #expect(error?.code == .closed)
      closed.wait()
      let again = try CatalogJournal.open(at: url)
      #expect(again.head.revision == 21 && again.base == nil)
      #expect(again.state.itemCount == 21 && name(1, in: again.state) == "cup 1")
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
    }
  }

  @Test func onAFullDiskTheJournalContinuesWithItsLogAndCanBeErasedLater() throws {
    let isFull = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      operation.path.contains("entries.new/") && isFull.withLock { $0 } ? .fail(ENOSPC) : .proceed
    }
    try withJournal(options) { journal, url in
      let cup = try addItem(journal, "secret cup")
      for number in 1...5 {
        let fill = once {
          _ = try self.addItem(journal, "committed meanwhile")
          isFull.withLock { $0 = true }
        }
        let error = #expect(throws: JournalError.self) {
          if number % 2 == 0 {
            try journal.prune(before: .head(), progress: fill)
          } else {
            try journal.erase([.item(cup)], reason: "by law", progress: fill)
          }
        }
        #expect(error?.code == .io, "\(String(describing: error))")
        isFull.withLock { $0 = false }
        _ = try addItem(journal, "committed afterwards")
        #expect(name(cup, in: journal.state) == "secret cup" && journal.state.itemCount == 1 + 2 * number)
        #expect(try journal.verify(.deep).problems.map(\.description) == [])
      }
      try journal.erase([.item(cup)], reason: "by law")
      #expect(try !isInFolder("secret", url))
      #expect(journal.state.itemCount == 10)
    }
  }

  /// Of the old logs, nothing stays open.
  @Test func theHundredthErasureOfASessionIsLikeTheFirst() throws {
    try withJournal { journal, url in
      var counts: [Int] = []
      for turn in 1...100 {
        let item = try addItem(journal, "secret \(turn)")
        let stays = try addItem(journal, "stays \(turn)")
        try journal.erase([.item(item)], reason: "turn \(turn)")
        if turn % 10 == 0 { try journal.prune(before: .head(back: 2)) }
        #expect(name(stays, in: journal.state) == .string("stays \(turn)"))
        counts.append(try openFilePaths().count { $0.contains(url.path) })
      }
      #expect(try !isInFolder("secret", url))
      #expect(journal.state.itemCount == 100)
      #expect(counts.suffix(10).max()! <= counts.prefix(10).max()! + 8, "\(counts)")
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// Readers on other threads get the answer from before an erasure or a pruning, or that from after it, and no other.
  @Test func readersDuringErasuresAndPruningsGetRightAnswers() throws {
    try withJournal { journal, _ in
      var items: [Catalog.Item.ID] = []
      for number in 1...40 { items.append(try addItem(journal, "cup \(number)")) }
      for item in items { try journal.commit { try $0.updateItem(item, set: ["stars": .integer(5)]) } }
      let newest = journal.head.revision
      let isOver = Lock(false)
      let problems = Lock<[String]>([])
      let group = DispatchGroup()
      for seed in 1...3 {
        group.enter()
        Thread.detachNewThread { [items] in
          var random = SeededGenerator(seed: UInt64(seed))
          while !isOver.withLock({ $0 }) {
            let number = Int.random(in: 1...40, using: &random)
            let item = items[number - 1]
            do {
              let state = try journal.state(asOf: .revision(newest))
              let found = state.item(item)?.attributes["name"]
              if found != nil, found != .string("cup \(number)") {
                problems.withLock { $0.append("\(found!)") }
              }
              let history = try journal.history(of: .item(item))
              if history.isEmpty { problems.withLock { $0.append("no history of \(item)") } }
              let difference = try journal.diff(of: [.item(item)], from: .revision(40), to: .revision(newest))
              if difference.count > 1 { problems.withLock { $0.append("\(difference)") } }
              let health = try journal.verify(.everything)
              if !health.isSound { problems.withLock { $0.append("not sound: \(health)") } }
              let cursor = journal.entries(newestFirst: true)
              var last = Revision.max
              while let entry = try cursor.next() {
                if entry.revision >= last { problems.withLock { $0.append("\(entry.revision)") } }
                last = entry.revision
              }
            } catch let error as JournalError where error.code == .pruned {
            } catch { problems.withLock { $0.append("\(error)") } }
          }
          group.leave()
        }
      }
      for (turn, item) in items.prefix(20).enumerated() {
        try journal.erase([.item(item)], reason: "turn \(turn)")
        if turn % 7 == 6 { try journal.prune(before: .revision(turn * 3)) }
      }
      isOver.withLock { $0 = true }
      group.wait()
      #expect(problems.withLock { Array($0.prefix(5)) } == [])
      #expect(journal.state.itemCount == 20)
    }
  }

  @Test func aSnapshotAndABackupDuringAnErasureAreWholeOrFailWithTheirOwnError() throws {
    try withJournal { journal, url in
      for number in 1...200 { _ = try addItem(journal, number == 1 ? "secret" : "cup \(number)") }
      let backup = url.deletingLastPathComponent().appending(path: "Finds.backup")
      let isErased = Lock(false)
      var wasReplaced = false
      do {
        try journal.backup(to: backup) { _ in
          if isErased.withLock({ !$0 }) {
            isErased.withLock { $0 = true }
            try journal.erase([.item(1)], reason: "by law")
          }
        }
      } catch let error as JournalError {
        wasReplaced = error.code == .pruned
      }
      #expect(wasReplaced)
      try journal.backup(to: backup)
      #expect(try !isInFolder("secret", backup))
      let copy = try CatalogJournal.open(at: backup, mode: .readOnly)
      #expect(copy.head == journal.head)
      #expect(try copy.verify(.deep).problems.map(\.description) == [])
      try copy.close()
      // A snapshot that is being written is written again.
      let taken = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        for _ in 1...20 { _ = try? journal.takeSnapshot() }
        taken.signal()
      }
      for item in 2...6 { try journal.erase([.item(EntityID(item))], reason: "by law") }
      taken.wait()
      let snapshot = try journal.takeSnapshot()
      #expect(snapshot.revision == journal.head.revision)
      _ = try addItem(journal, "after")
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.dropSnapshot(at: snapshot.revision)
    }
  }

  @Test func historyIsPrunedWhileTheJournalIsOpen() throws {
    var options = JournalOptions(retention: .days(100))
    options.layers.eventCount = 8
    try withJournal(options) { journal, url in
      for number in 0...60 {
        let date = Date(timeIntervalSinceNow: Double(number - 60) * 10 * 86_400)
        try journal.commit(by: "ana", date: date) { try $0.addItem(kind: "book") }
      }
      journal.waitForLayers()
      // What was due while a pruning was in progress follows with the next layer.
      for _ in 1...8 { try journal.commit { try $0.addItem(kind: "book") } }
      journal.waitForLayers()
      journal.waitForRetention()
      let base = try #require(journal.base)
      #expect(base.timestamp.date < Date(timeIntervalSinceNow: -90 * 86_400))
      #expect(journal.state.itemCount == 69)
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// What the writers of a journal have committed, and what was erased of it.
  private struct Model: Sendable {
    var names: [Catalog.Item.ID: String] = [:]
    var erased: Set<Catalog.Item.ID> = []
  }

  /// Two threads erase or prune at once, so one waits for the other.
  @Test(arguments: [false, true])
  func commitsOfThreadsSequencesAndAFollowerContinueAcrossErasuresAndPrunings(prunes: Bool) async throws {
    let random = SeededGenerator()
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      var options = JournalOptions()
      options.layers.eventCount = 16
      let journal = try CatalogJournal.create(at: url, options: options)
      _ = try addItem(journal, "first")
      // Pruning ends a follower.
      let follower = prunes ? nil : try CatalogJournal.open(at: url, mode: .follow)
      let changes = journal.changes
      let seen = Task {
        var names: [EntityKey: FieldValue] = [:]
        for await change in changes {
          for difference in change.differences { names[difference.entity] = difference.new?["name"] }
        }
        return names
      }
      let model = Lock(Model())
      let problems = Lock<[String]>([])
      let group = DispatchGroup()
      func start(_ seed: UInt64, _ body: @escaping @Sendable (inout SeededGenerator) throws -> Void) {
        group.enter()
        Thread.detachNewThread {
          var random = SeededGenerator(seed: random.seed &+ seed)
          do { try body(&random) } catch { problems.withLock { $0.append("\(error)") } }
          group.leave()
        }
      }
      for writer in 1...3 {
        start(UInt64(writer)) { random in
          var own: [Catalog.Item.ID] = []
          for turn in 1...80 {
            let name = "name<\(writer).\(turn)>"
            if let item = own.randomElement(using: &random), random.chance(1, in: 2) {
              do {
                try journal.commit { try $0.updateItem(item, set: ["name": .string(name)]) }
                model.withLock { $0.names[item] = name }
              } catch let error as JournalError where error.code == .rejected {
                // The item was erased.
                own.removeAll { $0 == item }
              }
            } else {
              let item = try addItem(journal, name)
              own.append(item)
              model.withLock { $0.names[item] = name }
            }
          }
        }
      }
      for eraser in 1...2 {
        start(UInt64(10 + eraser)) { random in
          for turn in 1...8 {
            if let item = model.withLock({ $0.names.keys.randomElement(using: &random) }) {
              model.withLock { _ = $0.erased.insert(item) }
              try journal.erase([.item(item)], reason: "turn \(turn)")
            }
            let revision = journal.head.revision
            if prunes, turn % 3 == 0, revision > 20 { try journal.prune(before: .revision(revision - 20)) }
          }
        }
      }
      await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
      #expect(problems.withLock { $0 } == [])
      let (names, erased) = model.withLock { ($0.names, $0.erased) }
      for (item, name) in names {
        let expected: FieldValue? = erased.contains(item) ? nil : .string(name)
        #expect(self.name(item, in: journal.state) == expected, "\(item)")
        if expected == nil { #expect(try !isInFolder(name, url), "\(name)") }
      }
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try follower?.catchUp()
      if let follower { #expect(follower.state.json == journal.state.json) }
      try follower?.close()
      let last = journal.state
      try journal.close()
      // The sequence began after the first item, and has ended with the newest state.
      let shown = await seen.value
      for item in last.items where item.id != 1 {
        #expect(shown[.item(item.id)] == item.attributes["name"], "\(item.id)")
      }
      #expect(shown.count <= last.itemCount)
      let again = try CatalogJournal.open(at: url)
      #expect(again.state.json == last.json)
      try again.close()
    }
  }
}
