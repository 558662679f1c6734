import Foundation
import Journaling
import Locks
import TestSupport
import Testing

/// How a log is closed, used by many threads, and damaged.
extension LogContract {
  // MARK: Closing

  @Test(arguments: LogKind.all) func aClosedLogSaysSo(_ kind: LogKind) throws {
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
          // Closing has begun by then, or waits for it to begin.
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

  /// What a log has lost or what was altered in it is either given as an error, or noticed by the mark.
  @Test(arguments: LogKind.all) func whicheverByteIsAlteredOrCutTheEntriesAreThoseOrItIsNoticed(
    _ kind: LogKind
  ) throws {
    var random = SeededGenerator()
    try withLog(kind) { site throws in
      try site.write { log throws in try log.append(1...20) }
      try site.write { log throws in for revision in 21...40 { try log.append(revision...revision) } }
      let files = try site.files()
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

  @Test(arguments: LogKind.all) func whatIsLeftOfALogIsGivenEntryByEntryAndNothingIsChanged(
    _ kind: LogKind
  ) throws {
    try withLog(kind) { site throws in
      guard !site.storage.isTransient, kind.remove == nil else {
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
      let whole = try site.remains()
      #expect(whole.journal == site.place.journal && whole.problems.isEmpty)
      #expect(try whole.acknowledged(by: site.place.journal)?.revision == 20)
      #expect(try whole.lastRevision() == 20)
      for revision in 1...20 { #expect(try whole.candidates(revision) == [entry(revision).bytes]) }
      #expect(try whole.candidates(21).isEmpty)

      // In the last append; and then the file is missing.
      let (name, contents) = try #require(try site.files().max { $0.value.count < $1.value.count })
      var altered = contents
      altered[altered.count - 10] ^= 1
      try altered.write(to: site.url(of: name))
      let files = try site.files()
      let left = try site.remains()
      #expect(left.journal == site.place.journal)
      for revision in 1...10 { #expect(try left.candidates(revision) == [entry(revision).bytes]) }
      for revision in 11...20 {
        #expect(try left.candidates(revision).allSatisfy { $0 == entry(revision).bytes })
      }
      #expect(try left.candidates(20).isEmpty && left.acknowledged(by: site.place.journal)?.revision == 20)
      #expect(try site.files() == files)
    }
  }

  private func check(_ site: LogSite, _ what: String) throws {
    do {
      try site.use(.read) { log throws in
        let newest = try log.newestRevision(after: 0, waitingAtMost: .zero)
        let found = try log.entries(1...99)
        #expect(found.map(\.revision) == Array(1...max(newest, 1)).prefix(newest).map { $0 }, "\(what)")
        for (revision, bytes) in found { #expect(bytes == entry(revision).bytes, "\(what)") }
        guard newest < 40 else { return }
        #expect(try #require(try log.acknowledged()).revision > newest, "\(what)")
      }
    } catch let error as JournalError {
      #expect(error.code == .damaged || error.code == .newerFormat, "\(what): \(error)")
    }
  }
}
