import Foundation
import JournalMaintenance
import Journaling
import Locks
import TestSupport
import Testing

/// A damaged log that has several candidates for an entry.
@Suite struct AmbiguousLogTests {
  /// No later entry says which candidate for the newest one is right. The first used to be read.
  @Test func ofTheCandidatesForTheNewestEntryTheOneThatFollowsIsRead() throws {
    try withLedger { journal, url in
      try journal.close()
      let fork = url.deletingLastPathComponent().appending(path: "Fork.journal")
      try FileManager.default.copyItem(at: url, to: fork)
      var options = JournalOptions()
      options.logStorage = AmbiguousStorage()
      for (url, owner) in [(fork, "Eve"), (url, "Ana")] {
        let journal = try Journal<Ledger>.open(at: url)
        for _ in 1...2 { try journal.commit { try $0.open(owner: owner) } }
        try journal.close()
        let opened = try Journal<Ledger>.openUpToDamage(at: url, options: options)
        #expect(opened.head == journal.head && opened.health.damage == nil)
        #expect(opened.state.accounts.map { $0.row.owner } == [owner, owner])
        try opened.close()
      }
    }
  }
}

/// Adds the second entry of the log whose remains are read first to the remains of all.
private final class AmbiguousStorage: SalvageableStorage {
  let entry = Lock<[UInt8]?>(nil)
  private let storage = LevelDBStorage()

  var isTransient: Bool { false }

  func create(in place: LogPlace) throws(JournalError) { try storage.create(in: place) }

  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try storage.open(access, in: place)
  }

  func mark(in folder: JournalFolder, of journal: JournalID) throws(JournalError) -> LogMark? {
    try storage.mark(in: folder, of: journal)
  }

  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    AmbiguousRemains(remains: try storage.remains(in: folder), storage: self)
  }
}

private struct AmbiguousRemains: LogRemains {
  let remains: any LogRemains
  let storage: AmbiguousStorage

  var journal: JournalID? { remains.journal }
  var problems: [JournalError] { remains.problems }

  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]] {
    let found = try remains.candidates(revision)
    guard revision == 2 else { return found }
    let entry = storage.entry.withLock { entry in
      if entry == nil { entry = found.first }
      return entry
    }
    return (entry.map { [$0] } ?? []) + found
  }

  func lastRevision() throws(JournalError) -> Revision { try remains.lastRevision() }
}
