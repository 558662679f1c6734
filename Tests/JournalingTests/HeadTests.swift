import Files
import Foundation
import Locks
import LogbookModel
import TestSupport
import Testing

@testable import Journaling

/// HEAD during commits and flushes, and the order of the operations that make a commit durable.
@Suite struct HeadTests {
  /// With two slots that were written in turn, writes to both could be unconfirmed at a power loss.
  @Test(arguments: [true, false])
  func theLastConfirmedMarkIsNeverOverwritten(flushesAlways: Bool) throws {
    let operations = Lock<[FileOperation]>([])
    var options = JournalOptions(flushesHeadAtEveryCommit: flushesAlways)
    options.fileHook = { operation in
      if operation.path.hasSuffix("/HEAD"), [.write, .sync].contains(operation.kind) {
        operations.withLock { $0.append(operation) }
      }
      return .proceed
    }
    try withLedger { journal, url in
      try journal.close()
      for _ in 0..<3 {
        let again = try Journal<Ledger>.open(at: url, options: options)
        for _ in 0..<7 { try again.commit { try $0.open(owner: "Ana") } }
        try again.close()
      }
    }
    var (confirmed, newest): (UInt64?, UInt64?)
    var (writes, flushes) = (0, 0)
    for operation in operations.withLock({ $0 }) {
      if operation.kind == .sync {
        flushes += 1
        confirmed = newest ?? confirmed
      } else {
        writes += 1
        #expect(operation.offset != confirmed, "write \(writes) after \(flushes) flushes")
        newest = operation.offset
      }
    }
    #expect(writes == 21 && flushes >= (flushesAlways ? 21 : 3))
  }

  /// A HEAD that was cut stayed short, and a slot beyond its end did not count.
  @Test(arguments: [68, 1_000, 4_096 + 30, 8_192 + 68, 12_287, 20_000])
  func aHEADOfAnotherSizeIsWrittenWholeByTheNextWriter(_ byteCount: Int) throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      let file = url.appending(path: "HEAD")
      var bytes = try Data(contentsOf: file)
      #expect(bytes.count == 12_288)
      bytes = bytes.prefix(byteCount) + Data(count: max(byteCount - bytes.count, 0))
      try bytes.write(to: file)
      let again = try Journal<Ledger>.open(at: url)
      #expect(try Data(contentsOf: file).count == 12_288)
      try again.commit { try $0.open(owner: "Bob") }
      try again.close()
      let whole = try Data(contentsOf: file)
      #expect(whole.count == 12_288)
      let mark = try HeadFile.read(JournalFolder(url, hook: nil), id: again.id)
      #expect(mark.revision == 2)
    }
  }

  /// The control: with two slots, a mark during a flush goes to the confirmed slot.
  @Test(arguments: [3, 2]) func onlyWithThreeSlotsAPowerLossDuringAFlushLeavesTheConfirmedMark(
    _ slotCount: Int
  ) throws {
    try withLedger { journal, url in
      try journal.close()
      let copy = url.deletingLastPathComponent().appending(path: "Cut.journal")
      try FileManager.default.copyItem(at: url, to: copy)

      let unconfirmed = Lock<Set<Int>>([])
      let whenFlushing = Lock<(@Sendable () -> Void)?>(nil)
      let folder = try JournalFolder(url) { operation in
        if operation.kind == .write { unconfirmed.withLock { _ = $0.insert(Int(operation.offset)) } }
        if operation.kind == .sync { whenFlushing.withLock { $0 }?() }
        return .proceed
      }
      let id = try folder.readFormat().id
      let headFile = try HeadFile(folder, id: id, slotCount: slotCount)
      try headFile.mark(LogMark(revision: 1, digest: headFile.found.digest))
      whenFlushing.withLock {
        $0 = {
          do {
            try headFile.mark(LogMark(revision: 2, digest: headFile.found.digest))
            // The power fails before the drive has confirmed anything, and damages all unconfirmed writes.
            var head = try Data(contentsOf: url.appending(path: "HEAD"))
            for offset in unconfirmed.withLock({ $0 }) { head[offset + 30] ^= 0xFF }
            try head.write(to: copy.appending(path: "HEAD"))
          } catch {
            Issue.record(error)
          }
        }
      }
      try headFile.flush()
      do throws(JournalError) {
        let left = try HeadFile.read(JournalFolder(copy, hook: nil), id: id)
        #expect(slotCount == 3 && left.revision == 0)
      } catch {
        #expect(slotCount == 2 && error.code == .damaged)
      }
    }
  }

  /// The entry could be stored, but a later opening could not know if it were missing.
  /// A lack of memory is no exception: commits used to ask to be tried again, which never helps.
  @Test(arguments: [EIO, ENOMEM]) func theCommitAfterAFailedFlushOfHEADIsRefused(error number: Int32) throws {
    let isFailing = Lock(false)
    let isTold = DispatchSemaphore(value: 0)
    var options = JournalOptions { notice in if notice.message.contains("HEAD") { isTold.signal() } }
    options.fileHook = { operation in
      let isFlush = operation.kind == .sync && operation.path.hasSuffix("/HEAD")
      return isFlush && isFailing.withLock { $0 } ? .fail(number) : .proceed
    }
    try withLedger(options: options) { journal, url in
      isFailing.withLock { $0 = true }
      try journal.commit { try $0.open(owner: "Ana") }
      try #require(isTold.wait(timeout: .now() + 60) == .success)
      let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
      #expect(error?.code == .poisoned && journal.head.revision == 1)
      #expect(error?.message.contains("close it and open it again") == true)
      isFailing.withLock { $0 = false }
      // The open journal is in the way.
      let locked = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(locked?.code == .locked && locked?.message.contains("close it first") == true)
      #expect(throws: JournalError.self) { try journal.close() }
      let again = try Journal<Ledger>.open(at: url)
      #expect(again.head.revision == 1)
      try again.commit { try $0.open(owner: "Bob") }
      try again.close()
    }
  }

  /// A second flush may succeed although the names of images were lost. After a lack of memory, it used to be tried.
  @Test(arguments: [EIO, ENOMEM])
  func theCommitAfterAFailedFlushOfTheImagesIsRefused(error number: Int32) throws {
    let flushes = Lock(0)
    let isFailing = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      guard operation.kind == .syncFolder, operation.path.hasSuffix("/images"), isFailing.withLock({ $0 })
      else { return .proceed }
      flushes.withLock { $0 += 1 }
      return .fail(number)
    }
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Log.journal")
      let journal = try Journal<Logbook>.create(at: url, options: options)
      let blob = try journal.blobs.add(Data("cover".utf8))
      isFailing.withLock { $0 = true }
      for _ in 1...2 {
        let error = #expect(throws: JournalError.self) {
          try journal.commit { try $0.write(1, "named", blob: blob) }
        }
        #expect(error?.code == .poisoned, "\(String(describing: error))")
      }
      #expect(flushes.withLock { $0 } == 1)
      isFailing.withLock { $0 = false }
      try? journal.close()
      let again = try Journal<Logbook>.open(at: url)
      let added = try again.blobs.add(Data("cover".utf8))
      try again.commit { try $0.write(1, "named", blob: added) }
      try again.close()
    }
  }

  /// The flush used to hold the lock that marking needs, so commits waited for it.
  @Test func commitsReturnDuringASlowFlushOfHEAD() throws {
    let (isReached, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isArmed = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      guard operation.kind == .sync, operation.path.hasSuffix("/HEAD") else { return .proceed }
      let holds = isArmed.withLock { isArmed in
        defer { isArmed = false }
        return isArmed
      }
      if holds {
        isReached.signal()
        isOver.wait()
      }
      return .proceed
    }
    try withLedger(options: options) { journal, url in
      isArmed.withLock { $0 = true }
      try journal.commit { try $0.open(owner: "Ana") }
      isReached.wait()
      for _ in 2...6 { try journal.commit { try $0.open(owner: "Bob") } }
      // If the process were killed now, HEAD would have all of them.
      let head = try Data(contentsOf: url.appendingPathComponent("HEAD"))
      let revisions = stride(from: 0, to: head.count, by: 4096).map { head[head.startIndex + $0 + 31] }
      #expect(revisions.max() == 6)
      isOver.signal()
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.revision == 6)
    }
  }

  /// A commit used to be able to become durable before the name of a blob that another thread was adding again.
  @Test func aCommitFlushesTheFolderWhileABlobThatItNamesIsRenamed() throws {
    let (isReached, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let state = Lock((isArmed: false, operations: [FileOperation]()))
    var options = JournalOptions()
    options.fileHook = { operation in
      let isNaming = operation.kind == .rename && operation.path.contains("/images/")
      let holds = state.withLock { state in
        state.operations.append(operation)
        defer { if isNaming { state.isArmed = false } }
        return isNaming && state.isArmed
      }
      if holds {
        isReached.signal()
        isOver.wait()
      }
      return .proceed
    }
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Log.journal")
      let journal = try Journal<Logbook>.create(at: url, options: options)
      let bytes = Data("cover".utf8)
      let blob = try journal.blobs.add(bytes)
      try journal.commit { try $0.write(1, "named", blob: blob) }

      state.withLock { $0.isArmed = true }
      let isAdded = DispatchSemaphore(value: 0)
      Thread {
        _ = try? journal.blobs.add(bytes)
        isAdded.signal()
      }.start()
      isReached.wait()
      state.withLock { $0.operations = [] }
      try journal.commit { try $0.write(2, "named again", blob: blob) }
      let made = state.withLock { $0.operations }
      isOver.signal()
      isAdded.wait()
      let folderFlush = made.firstIndex { $0.kind == .syncFolder && $0.path.hasSuffix("/images") }
      let entry = made.firstIndex { $0.kind == .write && $0.path.hasSuffix(".log") }
      #expect(try #require(folderFlush) < #require(entry))
      try journal.close()
    }
  }
}
