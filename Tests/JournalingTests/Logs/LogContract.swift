import Files
import Foundation
import Journaling
import Locks
import TestSupport
import Testing

/// What every log must do, however it stores entries. ``LogKind`` says how to test another log.
@Suite(.serialized) struct LogContract {
  // MARK: Appending and reading

  @Test(arguments: LogKind.all) func aNewLogIsEmpty(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      for access in [LogAccess.write, .read] {
        try site.use(access) { log throws in
          #expect(try log.newestRevision(after: 0, waitingAtMost: .zero) == 0)
          #expect(try log.revisions(1...10).isEmpty)
          #expect(!log.hasTornTail)
          if let mark = try log.acknowledged() {
            #expect(mark.revision == 0 && mark.digest == site.place.head.digest)
          }
          #expect(log.limits.appendByteCount >= 10 << 20 && log.limits.spareByteCount >= 0)
        }
      }
    }
  }

  @Test(arguments: LogKind.all) func appendedEntriesComeBackNowAndAfterReopening(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      func check(_ log: any EntryLog, through last: Revision) throws {
        #expect(try log.newestRevision(after: 0, waitingAtMost: .zero) == last)
        let found = try log.entries(1...last)
        #expect(found.map(\.revision) == Array(1...last))
        for (revision, bytes) in found { try #require(bytes == entry(revision).bytes) }
      }
      try site.write { log throws in
        try log.append(1...1)
        try check(log, through: 1)
        try log.append(2...40)
        try check(log, through: 40)
      }
      try site.write { log throws in
        try check(log, through: 40)
        try log.append(41...42)
        try check(log, through: 42)
      }
      try site.use(.read) { log throws in try check(log, through: 42) }
    }
  }

  @Test(arguments: LogKind.all) func aRangeIsReadInEitherOrderUntilTheReaderStops(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      try site.write { log throws in
        try log.append(1...20)
        #expect(try log.revisions(5...5) == [5])
        #expect(try log.revisions(5...8) == [5, 6, 7, 8])
        #expect(try log.revisions(5...8, newestFirst: true) == [8, 7, 6, 5])
        #expect(try log.revisions(18...90) == [18, 19, 20])
        #expect(try log.revisions(18...90, newestFirst: true) == [20, 19, 18])
        #expect(try log.revisions(21...90).isEmpty)
        #expect(try log.revisions(21...90, newestFirst: true).isEmpty)
        #expect(try log.revisions(21...21).isEmpty)
        #expect(try log.revisions(1...20, atMost: 3) == [1, 2, 3])
        #expect(try log.revisions(1...20, newestFirst: true, atMost: 3) == [20, 19, 18])
      }
    }
  }

  @Test(arguments: LogKind.all) func entriesMayBeAsLargeAsTheLogSays(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      // More than LevelDB holds in memory.
      let count = 9 << 20
      try site.write { log throws in
        let before = try log.byteCount()
        try log.append([entry(1, byteCount: count)], after: 0)
        try log.append([entry(2, byteCount: 1)], after: 1)
        #expect(try log.byteCount() >= before + count)
      }
      try site.use(.read) { log throws in
        #expect(try log.entries(1...2).map(\.bytes.count) == [count + 8, 9])
        #expect(try log.entries(1...1).first?.bytes == entry(1, byteCount: count).bytes)
      }
    }
  }

  @Test(arguments: LogKind.all) func entriesOfAllSizesComeInOrder(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      // Large entries are first, last, alone and adjacent, among more small ones than a log reads at once.
      let large: Set<Revision> = [1, 2, 700, 4097, 4098, 9001, 9200]
      let all = (1...9200).map { entry($0, byteCount: large.contains($0) ? 5000 : 1) }
      try site.write { log throws in
        for first in stride(from: 0, to: all.count, by: 2300) {
          try log.append(Array(all[first..<first + 2300]), after: first)
        }
        #expect(try log.entries(1...9200).map(\.bytes) == all.map(\.bytes))
        var next = 9200
        try unsafe log.read(3...9999, newestFirst: true) { revision, bytes in
          let isSame = unsafe all[revision - 1].bytes.elementsEqual(bytes)
          #expect(revision == next && isSame)
          next -= 1
          return true
        }
        #expect(next == 2)
        #expect(try log.revisions(4090...4100) == Array(4090...4100))
      }
    }
  }

  @Test(arguments: LogKind.all) func anErrorOfTheReaderIsRethrownAndTheReaderMayCallTheLog(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      try site.write { log throws in
        try log.append(1...9)
        let own = JournalError(.rejected, "the reader's own", revision: 4)
        let error = #expect(throws: JournalError.self) {
          try unsafe log.read(1...9, newestFirst: false) { revision, _ throws(JournalError) in
            guard revision < 4 else { throw own }
            _ = try log.newestRevision(after: 0, waitingAtMost: .zero)
            _ = try log.revisions(revision...revision)
            if revision == 2, let failure = log.failure(of: 10...10) { Issue.record(failure) }
            return true
          }
        }
        #expect(error?.code == own.code && error?.message == own.message && error?.revision == 4)
        #expect(try log.revisions(1...99) == Array(1...10))
      }
    }
  }

  // MARK: The condition of an append

  @Test(arguments: LogKind.all) func anAppendThatDoesNotFollowIsAConflictAndStoresNothing(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      try site.write { log throws in
        try log.append(1...3)
        for after in [0, 2, 4, 9] {
          let failure = log.failure(of: after + 1...after + 1)
          guard case .conflict(newest: 3)? = failure else {
            Issue.record("after \(after): \(String(describing: failure))")
            continue
          }
        }
        try log.append(4...4)
        #expect(try log.revisions(1...9) == [1, 2, 3, 4])
      }
      try site.use(.read) { log throws in
        #expect(try log.entries(1...9).map(\.bytes) == (1...4).map { entry($0).bytes })
      }
    }
  }

  /// After a failed flush, a later one may succeed although the drive has lost what was written before.
  @Test(arguments: LogKind.all.filter(\.hasFiles)) func anAppendWhoseFlushFailsIsUnknownAndTheLastOne(
    _ kind: LogKind
  ) throws {
    let fails = Lock(false)
    let hook: FileHook = { $0.kind == .sync && fails.withLock { $0 } ? .fail(EIO) : .proceed }
    try withLog(kind, hook: hook) { site throws in
      let log = try site.open(.write)
      try log.beginWriting()
      try log.append(1...3)
      fails.withLock { $0 = true }
      guard case .unknown(let error)? = log.failure(of: 4...5) else {
        Issue.record("not unknown")
        return
      }
      #expect(error.code == .io)
      fails.withLock { $0 = false }
      guard case .refused(let later)? = log.failure(of: 4...5) else {
        Issue.record("not refused")
        return
      }
      #expect(later.code == .poisoned)
      // What was acknowledged is still read.
      #expect(try log.revisions(1...3) == [1, 2, 3])
      try? log.close()
      try site.use(.read) { log throws in
        let found = try log.revisions(1...9)
        // The first few of the unacknowledged ones may be there.
        #expect([[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5]].contains(found), "\(found)")
      }
    }
  }

  /// Nothing was written, so it is no failure of the drive.
  @Test(arguments: LogKind.all.filter(\.hasFiles)) func anAppendThatLacksAResourceIsRefusedAndMayBeRepeated(
    _ kind: LogKind
  ) throws {
    let fails = Lock(false)
    let hook: FileHook = { $0.kind == .write && fails.withLock { $0 } ? .fail(ENOMEM) : .proceed }
    try withLog(kind, hook: hook) { site throws in
      try site.write { log throws in
        try log.append(1...3)
        fails.withLock { $0 = true }
        let failure = log.failure(of: 4...4)
        fails.withLock { $0 = false }
        guard case .refused(let error)? = failure, error.code == .outOfResources else {
          // A log that can't tell must not say that it knows.
          guard case .unknown? = failure else {
            Issue.record("\(String(describing: failure))")
            return
          }
          return
        }
        try log.append(4...4)
        #expect(try log.revisions(1...9) == [1, 2, 3, 4])
      }
    }
  }

  @Test(arguments: LogKind.all) func nothingIsStoredBeforeWritingBeginsOrInALogForReading(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      func expectRefusal(_ log: any EntryLog) {
        let failure = log.failure(of: 1...1)
        guard case .refused(let error)? = failure, error.code == .readOnly else {
          Issue.record("\(String(describing: failure))")
          return
        }
      }
      try site.use(.write) { log throws in
        expectRefusal(log)
        try log.beginWriting()
        try log.append(1...1)
      }
      try site.use(.read) { log throws in
        expectRefusal(log)
        #expect(throws: JournalError.self) { try log.beginWriting() }
        #expect(try log.revisions(1...9) == [1])
      }
    }
  }

  @Test(arguments: LogKind.all) func openingALogChangesNothingBeforeWritingBegins(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      for first in [1, 11] {
        try site.write { log throws in try log.append(first...first + 9) }
        let before = try site.files()
        for access in [LogAccess.read, .write] {
          try site.use(access) { log throws in #expect(try log.revisions(1...99).count == first + 9) }
          #expect(try site.files() == before, "\(access)")
        }
      }
    }
  }

  // MARK: Who may open it

  @Test(arguments: LogKind.all) func aLogHasOneWriter(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      let first = try site.open(.write)
      try first.beginWriting()
      try first.append(1...1)
      let error = #expect(throws: JournalError.self) {
        let second = try site.open(.write)
        try? second.beginWriting()
      }
      #expect(error?.code == .locked)
      try first.close()
      try site.write { log throws in #expect(try log.revisions(1...1) == [1]) }
    }
  }

  @Test(arguments: LogKind.all) func theLogOfAnotherJournalIsRefused(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      try site.write { log throws in try log.append(1...3) }
      let error = #expect(throws: JournalError.self) {
        _ = try site.storage.open(.read, in: site.ofAnotherJournal())
      }
      #expect(error?.code == .damaged)
    }
  }

  @Test(arguments: LogKind.all) func aJournalWithoutItsLogIsDamaged(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      for name in try site.files().keys { try FileManager.default.removeItem(at: site.url(of: name)) }
      let storage = site.storage.isTransient ? try kind.makeStorage() : site.storage
      for access in [LogAccess.read, .write] {
        let error = #expect(throws: JournalError.self) { _ = try storage.open(access, in: site.place) }
        #expect(error?.code == .damaged)
      }
    }
  }

  // MARK: Marks

  @Test(arguments: LogKind.all) func theMarkOfALogNamesItsNewestEntry(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      func check(_ log: any EntryLog, _ newest: Revision) throws {
        guard let mark = try log.acknowledged() else {
          #expect(!kind.hasFiles, "the log has no mark")
          return
        }
        #expect(mark.revision == newest && mark.digest == entry(newest).digest)
      }
      try site.write { log throws in
        for last in [1, 4, 9] {
          try log.append(try log.newestRevision(after: 0, waitingAtMost: .zero) + 1...last)
          try check(log, last)
        }
      }
      try site.use(.read) { log throws in try check(log, 9) }
      try site.write { log throws in try check(log, 9) }
    }
  }

  // MARK: Learning of new entries

  @Test(arguments: LogKind.all) func aLogOpenForReadingKeepsTheEntriesAndTheMarkOfItsOpening(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      try site.write { writer throws in
        try writer.append(1...3)
        try site.use(.read) { reader throws in
          try writer.append(4...5)
          #expect(try reader.acknowledged().map { $0.revision <= 3 } ?? true)
          #expect(try reader.newestRevision(after: 3, waitingAtMost: .milliseconds(20)) == 3)
          #expect(try reader.revisions(1...9) == [1, 2, 3])
          #expect(try reader.revisions(1...9, newestFirst: true) == [3, 2, 1])
        }
      }
    }
  }

  @Test(arguments: LogKind.all) func waitingForAnEntryEndsWhenItArrivesOrWhenTheTimeIsOver(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      try site.write { log throws in
        try log.append(1...2)
        #expect(try log.newestRevision(after: 1, waitingAtMost: .seconds(60)) == 2)
        let start = ContinuousClock.now
        #expect(try log.newestRevision(after: 2, waitingAtMost: .milliseconds(30)) == 2)
        #expect(ContinuousClock.now - start >= .milliseconds(30))
        let isAppended = DispatchSemaphore(value: 0)
        try #require(
          Threads.start {
            try? log.append(3...3)
            isAppended.signal()
          })
        #expect(try log.newestRevision(after: 2, waitingAtMost: .seconds(60)) == 3)
        isAppended.wait()
      }
    }
  }

  @Test(arguments: LogKind.all) func aFollowerLearnsOfEntriesThatAWriterAppends(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      try site.write { writer throws in
        try writer.append(1...2)
        try site.use(.follow) { follower throws in
          #expect(throws: JournalError.self) { try follower.beginWriting() }
          for last in 3...30 {
            try writer.append(last...last)
            #expect(try follower.newestRevision(after: last - 1, waitingAtMost: .seconds(60)) == last)
            #expect(try follower.entries(last...last).map(\.bytes) == [entry(last).bytes])
          }
          #expect(try follower.revisions(1...99) == Array(1...30))
        }
      }
    }
  }
}
