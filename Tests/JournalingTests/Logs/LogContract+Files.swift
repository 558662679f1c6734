import Files
import Foundation
import Locks
import TestSupport
import Testing

@testable import Journaling

/// What every log in files must do when writes are lost, cut or in progress, and when files are shared by hard links.
extension LogContract {
  private static var kinds: [LogKind] { LogKind.all.filter(\.hasFiles) }

  /// The process may be killed, and the machine lose its power, as soon as an append has returned.
  @Test(arguments: kinds) func anAppendFlushesEverythingThatItWrote(_ kind: LogKind) throws {
    let unflushed = Lock<Set<String>>([])
    let hook: FileHook = { operation in
      unflushed.withLock { names in
        let name = URL(filePath: operation.path).lastPathComponent
        switch operation.kind {
        case .create: names.formUnion([name, "/"])
        case .write: names.insert(name)
        case .sync: names.remove(name)
        case .rename:
          names.insert("/")
          if names.remove(name) != nil, let path = operation.newPath {
            names.insert(URL(filePath: path).lastPathComponent)
          }
        // A file that comes back after a power loss has nothing that is not known to be elsewhere.
        case .remove: names.remove(name)
        case .syncFolder: names.remove("/")
        case .makeFolder: break
        }
      }
      return .proceed
    }
    try withLog(kind, hook: hook) { site throws in
      try site.write { log throws in
        for last in [1, 4, 9] {
          try log.append(try log.newestRevision() + 1...last)
          // A mark may lag behind; a lock has no contents.
          let mark = try log.acknowledged()?.path.map { URL(filePath: $0).lastPathComponent }
          let names = unflushed.withLock { $0 }.subtracting(["LOCK", mark ?? ""])
          #expect(names == [], "after entry \(last)")
        }
      }
    }
  }

  /// An entry that is written but not flushed can still be lost.
  @Test(arguments: kinds) func aReaderBesideAWriterGetsOnlyDurableEntries(_ kind: LogKind) throws {
    let seen = Lock<[Revision]>([])
    let look = Lock<(@Sendable () -> Void)?>(nil)
    let hook: FileHook = { operation in
      if operation.kind == .sync {
        look.withLock { look in
          defer { look = nil }
          return look
        }?()
      }
      return .proceed
    }
    try withLog(kind, hook: hook) { site throws in
      // As the engine does while a journal is open for writing.
      let root = try Files.Folder<JournalError>(site.place.folder.path, followsLinks: false, hook: nil)
      try #require(try root.lock(exclusive: true))
      defer { root.unlock() }
      try site.write { log throws in
        try log.append(1...3)
        look.withLock { look in
          look = {
            do {
              try site.use(.read) { reader throws in
                #expect(!reader.hasTornTail)
                let read = try reader.revisions(1...9) + [reader.newestRevision()]
                seen.withLock { $0 = read }
              }
            } catch { Issue.record(error) }
          }
        }
        try log.append(4...5)
        #expect(seen.withLock { $0 } == [1, 2, 3, 3])
      }
    }
  }

  /// The machine stops in the middle of an append, and the pieces that it wrote are cut.
  @Test(arguments: kinds) func aTornTailIsReportedAndThenRemoved(_ kind: LogKind) throws {
    let isCut = Lock(false)
    let hook: FileHook = { operation in
      guard isCut.withLock({ $0 }), operation.kind == .write else { return .proceed }
      let count = operation.bytes.count
      return count > 60 ? .short(count / 2) : .fail(EIO)
    }
    try withLog(kind, hook: hook) { site throws in
      let log = try site.open(.write)
      try log.beginWriting()
      try log.append(1...3)
      isCut.withLock { $0 = true }
      #expect(log.failure(of: 4...4) != nil)
      isCut.withLock { $0 = false }
      let copy = try site.copy("Torn")
      try? log.close()
      // Opening changes nothing.
      for _ in 1...2 {
        try copy.use(.write) { log throws in
          #expect(log.hasTornTail)
          #expect(try log.revisions(1...9) == [1, 2, 3])
        }
      }
      try copy.write { log throws in
        #expect(try log.acknowledged()?.revision == 3)
        try log.append([entry(4, byteCount: 1)], after: 3)
      }
      try copy.use(.read) { log throws in
        #expect(!log.hasTornTail)
        let bytes = (1...3).map { entry($0).bytes } + [entry(4, byteCount: 1).bytes]
        #expect(try log.entries(1...9).map(\.bytes) == bytes)
      }
    }
  }

  /// Each change of an append fails in turn, and all that follow.
  @Test(arguments: kinds.filter { !$0.decodesEntries })
  func whateverAnAppendHasWrittenTheNextWriterRaisesTheMark(_ kind: LogKind) throws {
    let left = Lock(Int.max)
    let hook: FileHook = { _ in
      left.withLock { left in
        if left != .max { left -= 1 }
        return left < 0 ? .fail(EIO) : .proceed
      }
    }
    var outcomes: Set<Revision> = []
    for count in 0..<14 {
      try withLog(kind, hook: hook) { site throws in
        let log = try site.open(.write)
        try log.beginWriting()
        try log.append(1...3)
        left.withLock { $0 = count }
        let failure = log.failure(of: 4...5)
        left.withLock { $0 = -1 }
        try? log.close()
        left.withLock { $0 = .max }
        try site.write { log throws in
          let newest = try log.newestRevision()
          outcomes.insert(newest)
          #expect(failure == nil ? newest == 5 : 3...5 ~= newest, "change \(count)")
          let mark = try log.acknowledged()
          #expect(mark?.revision == newest && mark?.digest == entry(newest).digest, "change \(count)")
        }
      }
    }
    #expect(outcomes.isSuperset(of: [3, 5]))
  }

  /// Verification asks an open log.
  @Test(arguments: kinds) func anOpenLogNoticesDamageToItsMark(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      try site.write { log throws in try log.append(1...3) }
      for access in [LogAccess.read, .write, .follow] {
        try site.use(access) { log throws in
          let path = URL(filePath: try #require(try log.acknowledged()?.path))
          let whole = try Data(contentsOf: path)
          try Data([1, 2, 3]).write(to: path)
          let error = #expect(throws: JournalError.self) { _ = try log.acknowledged() }
          #expect(error?.code == .damaged, "\(access)")
          try whole.write(to: path)
        }
      }
    }
  }

  /// A backup of hard links (`cp -al`) shares the files with the journal.
  @Test(arguments: kinds.filter { !$0.decodesEntries }) func aBackupOfHardLinksStaysAsItIs(_ kind: LogKind)
    throws
  {
    try withLog(kind) { site throws in
      let bytes = (1...5).map { entry($0).bytes }
      try site.write { log throws in
        try log.append(1...3)
        let linked = try hardLinks(of: site)
        try log.append(4...5)
        try linked.use(.read) { copy throws in
          let newest = try copy.newestRevision()
          #expect(try #require(try copy.acknowledged()).revision <= newest)
          #expect(try copy.entries(1...9).map(\.bytes) == Array(bytes.prefix(newest)))
        }
        // From now on, two journals are written.
        try linked.write { copy throws in
          let newest = try copy.newestRevision()
          try copy.append([entry(newest + 1, byteCount: 7)], after: newest)
        }
        #expect(try log.entries(1...9).map(\.bytes) == bytes)
      }
      try site.use(.read) { log throws in
        #expect(try log.entries(1...9).map(\.bytes) == bytes)
        #expect(try #require(try log.acknowledged()).digest == entry(5).digest)
      }
    }
  }

  private func hardLinks(of site: LogSite) throws -> LogSite {
    let root = URL(filePath: site.place.folder.path)
    let copy = root.deletingLastPathComponent().appending(path: "Links.journal")
    // A hard link to each file in the folder.
    try FileManager.default.linkItem(at: root, to: copy)
    let made = try JournalFolder(copy, hook: nil)
    return LogSite(
      storage: site.storage, place: LogPlace(made, try made.readFormat(), options: site.place.options))
  }
}

extension LogContract {
  /// A wake that is lost costs a minute.
  @Test(arguments: LogKind.all) func waitsEndAtOnce(_ kind: LogKind) throws {
    try withLog(kind) { site throws in
      try site.write { log throws in try log.append(1...3) }
      for access in [LogAccess.read, .write, .follow] {
        let log = try site.open(access)
        let start = ContinuousClock.now
        #expect(try log.newestRevision(after: 3, waitingAtMost: .milliseconds(80)) == 3)
        #expect(ContinuousClock.now - start >= .milliseconds(80), "\(access)")
        let code = Lock<JournalError.Code?>(nil)
        let isOver = DispatchSemaphore(value: 0)
        try #require(
          Threads.start {
            do throws(JournalError) {
              _ = try log.newestRevision(after: 3, waitingAtMost: .seconds(60))
            } catch { code.withLock { $0 = error.code } }
            isOver.signal()
          })
        usleep(30_000)
        let time = try ContinuousClock().measure {
          try log.close()
          isOver.wait()
        }
        #expect(time < .seconds(30), "\(access)")
        #expect(code.withLock { $0 } == .closed, "\(access)")
      }
      try site.write { log throws in
        let isOver = DispatchSemaphore(value: 0)
        let waited = Lock(Duration.zero)
        try #require(
          Threads.start {
            let time = ContinuousClock().measure {
              _ = try? log.newestRevision(after: 3, waitingAtMost: .seconds(60))
            }
            waited.withLock { $0 = time }
            isOver.signal()
          })
        usleep(30_000)
        try log.append(4...4)
        isOver.wait()
        #expect(waited.withLock { $0 } < .seconds(30))
      }
    }
  }
}
