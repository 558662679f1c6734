import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import TestSupport
import Testing

/// Creating a journal: by several threads at once, killed in the middle, and again afterwards.
@Suite struct CreationTests {
  @Test func threadsThatRaceToCreateAJournalOpenItOrFindItLocked() throws {
    for _ in 0..<20 {
      try withTemporaryFolder { folder in
        let url = folder.url.appendingPathComponent("Bank.journal")
        let opened = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
          do {
            let journal = try Journal<Ledger>.openOrCreate(at: url)
            opened.withLock { $0 += 1 }
            try journal.commit { _ = try $0.open(owner: "Ana") }
            try journal.close()
          } catch {
            #expect((error as? JournalError)?.code == .locked, "\(error)")
          }
        }
        let count = opened.withLock { $0 }
        #expect(count > 0)
        let journal = try Journal<Ledger>.open(at: url)
        #expect(journal.head.revision == count)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names == ["Bank.journal"])
      }
    }
  }

  @Test func theFolderForANewJournalOrBackupMustExist() throws {
    try withLedger { journal, url in
      let missing = url.deletingLastPathComponent().appendingPathComponent("missing")
      let new = missing.appendingPathComponent("New")
      let attempts: [() throws -> Void] = [
        { _ = try Journal<Ledger>.openOrCreate(at: new) }, { try journal.backup(to: new) },
        { try journal.backup(toFile: new) }, { try journal.copy(to: new) },
      ]
      for attempt in attempts {
        let error = #expect(throws: JournalError.self) { try attempt() }
        #expect(error?.code == .notFound && error?.path == missing.path)
        #expect(error?.message == "the folder for \"New\" does not exist; create it first")
      }
    }
  }

  @Test func theNextCreationRemovesTheFilesOfAKilledOne() throws {
    try withTemporaryFolder { folder in
      // Stop creations at different operations, as if killed there, so nothing is cleaned up afterwards.
      let url = folder.url.appendingPathComponent("Bank.journal")
      for count in [0, 1, 3, 6, 10, 14, 18] {
        try leaveUnfinished(in: folder, after: count)
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(left.count == 7 && left.allSatisfy { $0.hasSuffix(".new") })
      // Folders stay if they only look like unfinished creations, belong to another journal or have other files.
      let others = [
        "Bank.journal.new", "Bank.journal.x.new", "Other.journal.\(UUID().uuidString.lowercased()).new",
      ]
      for name in others { try makeFolder(folder.path(name)) }
      let strange = "Bank.journal.\(UUID().uuidString.lowercased()).new"
      try makeFolder(folder.path(strange))
      try Data("mine".utf8).write(to: URL(filePath: folder.path(strange + "/diary")))
      let journal = try Journal<Ledger>.openOrCreate(at: url)
      try journal.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      #expect(names == (others + [strange, "Bank.journal"]).sorted())
    }
  }

  /// Its folder stayed, because the removal also lacked descriptors. In a process of its own, because other tests need
  /// descriptors.
  @Test func aCreationThatFailsForLackOfDescriptorsLeavesNothing() async {
    await #expect(processExitsWith: .success) {
      try withTemporaryFolder { folder in
        var (failed, made) = (0, 0)
        for count in 3...60 {
          let name = "Bank\(count).journal"
          withDescriptors(atMost: count) {
            do {
              try Journal<Ledger>.create(at: folder.url.appending(path: name)).close()
              made += 1
            } catch { failed += 1 }
          }
          // A journal that was created and could not be opened is whole.
          let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
          #expect(left.allSatisfy { $0.hasSuffix(".journal") }, "\(count) descriptors: \(left)")
        }
        #expect(failed > 0 && made > 0)
      }
    }
  }

  @Test func aCreationInProgressIsNotMistakenForAnAbandonedOne() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Bank.journal")
      let inner = Lock<[String]>([])
      var options = JournalOptions()
      options.fileHook = { operation in
        // In the middle of one creation, another one of the same name cleans up and wins.
        if operation.kind == .create, operation.path.hasSuffix("/FORMAT.new"), inner.withLock({ $0.isEmpty })
        {
          inner.withLock { $0.append("begun") }
          do { try Journal<Ledger>.create(at: url).close() } catch {
            inner.withLock { $0.append("\(error)") }
          }
        }
        return .proceed
      }
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.create(at: url, options: options) }
      #expect(error?.code == .alreadyExists)
      #expect(inner.withLock { $0 } == ["begun"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Bank.journal"])
      try Journal<Ledger>.open(at: url).close()
    }
  }

  private func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  /// Leaves an unfinished journal: runs a creation whose disk fails from some operation on, including the removals.
  private func leaveUnfinished(in folder: TemporaryFolder, after count: Int) throws {
    // Use a separate folder, because a creation would remove the files of the one before.
    let place = folder.url.appendingPathComponent("place")
    try makeFolder(place.path)
    let url = place.appendingPathComponent("Bank.journal")
    let left = Lock(count)
    var options = JournalOptions()
    options.fileHook = { operation in
      let isOver = left.withLock { left in
        left -= 1
        return left < 0
      }
      return isOver && operation.kind != .makeFolder ? .fail(EIO) : .proceed
    }
    #expect(throws: JournalError.self) { try Journal<Ledger>.create(at: url, options: options) }
    for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
      try FileManager.default.moveItem(
        at: place.appendingPathComponent(name), to: folder.url.appendingPathComponent(name))
    }
    try FileManager.default.removeItem(at: place)
  }
}
