import Foundation
import JournalMaintenance
import Journaling
import Locks
import TestSupport
import Testing

/// How a log is closed, used by many threads, and damaged.
extension LogContract {
  // MARK: Closing

  @Test(arguments: LogKind.all) func everyCallOfAClosedLogThrowsClosed(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      let log = try site.open(.write)
      try log.beginWriting()
      try log.append(1...3)
      try log.close()
      try log.close()
      let errors = [
        #expect(throws: JournalError.self) { _ = try log.revisions(1...3) },
        #expect(throws: JournalError.self) { _ = try log.revisions(2...2) },
        #expect(throws: JournalError.self) { _ = try log.newestRevision(after: 0, waitingAtMost: .zero) },
        #expect(throws: JournalError.self) { try log.beginWriting() },
        #expect(throws: JournalError.self) { _ = try log.acknowledged() },
        #expect(throws: JournalError.self) { _ = try log.byteCount() },
      ]
      for error in errors { #expect(error?.code == .closed) }
      guard case .refused(let error)? = log.failure(of: 4...4) else {
        Issue.record("not refused")
        return
      }
      #expect(error.code == .closed)
      try site.use(.read) { log throws in #expect(try log.revisions(1...9) == [1, 2, 3]) }
    }
  }

  @Test(arguments: LogKind.all) func closingWaitsForReadersAndEndsTheWaitForEntries(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      let log = try site.open(.write)
      try log.beginWriting()
      try log.append(1...3)
      let (isReading, isWaiting) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let (mayGoOn, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let read = Lock<[Revision]>([])
      let waited = Lock<JournalError?>(nil)
      try #require(
        Threads.start {
          try? unsafe log.read(1...3, newestFirst: false) { revision, _ throws(JournalError) in
            isReading.signal()
            if revision == 1 { mayGoOn.wait() }
            read.withLock { $0.append(revision) }
            return true
          }
          isOver.signal()
        })
      try #require(
        Threads.start {
          isWaiting.signal()
          do throws(JournalError) { _ = try log.newestRevision(after: 3, waitingAtMost: .seconds(600)) } catch
          {
            waited.withLock { $0 = error }
          }
          isOver.signal()
        })
      isReading.wait()
      isWaiting.wait()
      try #require(
        Threads.start {
          // By then, closing has probably begun and waits for the reader.
          Thread.sleep(forTimeInterval: 0.05)
          mayGoOn.signal()
        })
      try log.close()
      #expect(read.withLock { $0 } == [1, 2, 3])
      isOver.wait()
      isOver.wait()
      #expect(waited.withLock { $0 }?.code == .closed)
    }
  }

  // MARK: Many threads

  @Test(arguments: LogKind.all) func readersSeeWhatWasStoredInOrderWhileMoreIsAppended(_ kind: LogKind) throws
  {
    try withLog(kind) { site throws in
      try site.write { log throws in
        try log.append(1...1)
        let problems = Lock<[String]>([])
        let isDone = Lock(false)
        let left = DispatchSemaphore(value: 0)
        for _ in 0..<2 {
          try #require(
            Threads.start {
              var last = 1
              while !isDone.withLock({ $0 }) || last < 200 {
                do {
                  last = try log.newestRevision(after: last, waitingAtMost: .milliseconds(5))
                  let found = try log.entries(1...last)
                  guard found.map(\.revision) == Array(1...last),
                    found.allSatisfy({ $0.bytes == entry($0.revision).bytes })
                  else {
                    problems.withLock { $0.append("\(found.count) of \(last)") }
                    break
                  }
                } catch {
                  problems.withLock { $0.append("\(error)") }
                  break
                }
              }
              left.signal()
            })
        }
        for first in stride(from: 2, through: 200, by: 3) { try log.append(first...min(first + 2, 200)) }
        isDone.withLock { $0 = true }
        left.wait()
        left.wait()
        #expect(problems.withLock { $0 } == [])
      }
    }
  }

  // MARK: Damage

  @Test(arguments: LogKind.all.filter { $0.hasFiles })
  func everyAcknowledgedEntryIsThereEvenIfTheLogWasNeverClosed(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      var copies: [(last: Revision, LogSite)] = []
      try site.write { log throws in
        for (first, last) in [(1, 1), (2, 2), (3, 10), (11, 30)] {
          try log.append(first...last)
          copies.append((last, try site.copy("after \(last)")))
        }
      }
      for (last, copy) in copies {
        let files = try copy.files()
        for access in [LogAccess.read, .write] {
          try copy.use(access) { log throws in
            #expect(try log.entries(1...99).map(\.bytes) == (1...last).map { entry($0).bytes })
            #expect(try #require(try log.acknowledged()).revision <= last)
          }
          #expect(try copy.files() == files)
        }
        try copy.write { log throws in try log.append(last + 1...last + 1) }
        try copy.use(.read) { log throws in #expect(try log.revisions(1...99) == Array(1...last + 1)) }
      }
    }
  }

  /// A loss or an alteration is either reported as an error, or revealed by the mark.
  @Test(arguments: LogKind.all.filter { $0.hasFiles })
  func anyAlteredOrCutFileIsNoticedOrChangesNoEntry(_ kind: LogKind) throws {
    var random = SeededGenerator()
    try withLog(kind) { site throws in
      try site.write { log throws in try log.append(1...20) }
      try site.write { log throws in for revision in 21...40 { try log.append(revision...revision) } }
      let files = try site.files()
      #expect(files.values.contains { !$0.isEmpty })
      for (name, whole) in files.sorted(by: { $0.key < $1.key }) where !whole.isEmpty {
        for isCut in [false, true] {
          for _ in 0..<12 {
            let place = Int.random(in: 0..<whole.count, using: &random)
            var bytes = whole
            if isCut {
              bytes = bytes.prefix(place)
            } else {
              bytes[place] ^= 1 << Int.random(in: 0..<8, using: &random)
            }
            try bytes.write(to: site.url(of: name))
            try check(site, "\(name) \(isCut ? "cut to" : "altered at") \(place)")
            try whole.write(to: site.url(of: name))
          }
        }
      }
      #expect(try site.files() == files)
    }
  }

  @Test(arguments: LogKind.all) func theRemainsOfALogAreReadEntryByEntryAndNothingIsChanged(
    _ kind: LogKind
  ) throws {
    try withLog(kind) { site throws in
      guard kind.hasFiles else {
        let error = #expect(throws: JournalError.self) {
          _ = try site.remains()
        }
        #expect(error?.code == .wrongUse)
        return
      }
      try site.write { log throws in
        try log.append(1...10)
        try log.append(11...20)
      }
      let mark = try site.use(.read) { log throws in try log.acknowledged() }
      let whole = try site.remains()
      #expect(whole.journal == site.place.journal && whole.problems.isEmpty)
      #expect(try site.mark()?.revision == mark?.revision)
      #expect(try whole.lastRevision() == 20)
      for revision in 1...20 { #expect(try whole.candidates(revision) == [entry(revision).bytes]) }
      #expect(try whole.candidates(21).isEmpty)

      // The newest entry is altered, in each file that has it.
      var isAltered = false
      for (name, contents) in try site.files() {
        var altered = contents
        while let found = altered.range(of: Data(entry(20).bytes)) { altered[found.upperBound - 10] ^= 1 }
        guard altered != contents else { continue }
        try altered.write(to: site.url(of: name))
        isAltered = true
      }
      try #require(isAltered, "no file has the bytes of the entry")
      let files = try site.files()
      let left = try site.remains()
      #expect(left.journal == site.place.journal)
      for revision in 1...10 { #expect(try left.candidates(revision) == [entry(revision).bytes]) }
      for revision in 11...20 {
        #expect(try left.candidates(revision).allSatisfy { $0 == entry(revision).bytes })
      }
      #expect(try left.candidates(20).isEmpty)
      #expect(try site.mark()?.revision == mark?.revision)
      #expect(try site.files() == files)

      // All files are missing.
      for name in files.keys { try FileManager.default.removeItem(at: site.url(of: name)) }
      let nothing = try site.remains()
      #expect(try nothing.lastRevision() == 0 && nothing.candidates(1).isEmpty)
    }
  }

  private func check(_ site: LogSite, _ what: String) throws {
    do {
      try site.use(.read) { log throws in
        let newest = try log.newestRevision(after: 0, waitingAtMost: .zero)
        let found = try log.entries(1...99)
        // The engine notices a gap.
        let revisions = found.map(\.revision)
        #expect(revisions == (1...40).filter { $0 <= newest && revisions.contains($0) }, "\(what)")
        for (revision, bytes) in found { #expect(bytes == entry(revision).bytes, "\(what)") }
        guard newest < 40 else { return }
        #expect(try #require(try log.acknowledged()).revision > newest, "\(what)")
      }
    } catch let error as JournalError {
      #expect(error.code == .damaged || error.code == .newerFormat, "\(what): \(error)")
    }
  }
}
