import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Erasures and prunings, which replace a journal's log, under power losses and while others read the journal.
  @Suite struct ReplacementTests {
    @Test(arguments: NameModel.allCases)
    func anErasureOrPruningDuringAPowerLossIsDoneInFullOrNotAtAll(_ model: NameModel) throws {
      var random = SeededGenerator()
      let findings = Findings()
      var counts: [String] = []
      for isErasure in [true, false] {
        try withFolderInMemory { folder in
          let root = folder + "/live"
          try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
          let pages = try Pages(in: root, count: 2, &random)
          let before = try CrashState(reading: root)
          let recorder = Recorder()
          if isErasure {
            _ = try Journal<Logbook>.erase(
              [.page(2)], at: pages.url, reason: "by law", options: JournalOptions(fileHook: recorder.hook))
          } else {
            _ = try Journal<Logbook>.prune(
              before: .head(back: 3), at: pages.url, options: JournalOptions(fileHook: recorder.hook))
          }
          let after = try Journal<Logbook>.open(at: pages.url, mode: .readOnly)
          let head = after.head
          try after.close()
          let next = SeededGenerator(seed: random.next())
          var enumeration = CrashStates(model, effort: 2, random: next)
          let states = enumeration.all(
            of: recorder.trace, on: SimulatedDisk(root: root, state: before), isCreated: true
          ).shuffled(using: &random).prefix(Battery.size(250, long: 20_000))
          let done = Counter()
          forEachConcurrently(Array(states), named: \.name) { _, state in
            let copy = "\(folder)/\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            do {
              try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
              try CrashState(state).build(in: copy)
              let url = URL(fileURLWithPath: copy).appendingPathComponent(pages.url.lastPathComponent)
              if let problem = try problem(pages, head, at: url, isErasure: isErasure, done) {
                findings.note("\(state.name): \(problem)")
              }
            } catch {
              findings.note("\(state.name): an error: \(error)")
            }
          }
          counts.append("\(isErasure ? "erasures" : "prunings"): \(states.count) states, \(done.value) done")
          #expect(done.value > 0 && done.value < states.count)
        }
      }
      print("power loss, \(model), \(counts.joined(separator: "; "))")
      findings.report()
    }

    /// What is wrong with a journal whose replacement was interrupted, or nil if it was done in full or not at all.
    private func problem(
      _ pages: Pages, _ head: Head, at url: URL, isErasure: Bool, _ done: Counter
    ) throws -> String? {
      let journal = try Journal<Logbook>.open(at: url)
      let (found, base) = (journal.head, journal.base)
      let verification = try journal.verify(.deep)
      try journal.close()
      if let problem = verification.problems.first { return problem.description }
      let names = try Set(FileManager.default.contentsOfDirectory(atPath: url.path))
      guard names == ["FORMAT", "HEAD", "entries", "images", "snapshots"] else { return "there are \(names)" }
      let bytes = try allBytes(of: url)
      if found == pages.head {
        guard base == nil else { return "there is a base and no entry of it" }
        let lost = pages.turns.first { bytes.range(of: Data($0.text.utf8)) == nil }
        return lost.map { "\($0.text) is gone" }
      }
      // All states come from one run, so the date of the appended entry is the same in all of them.
      guard found == head else { return "the newest entry is \(found)" }
      done.add()
      let gone =
        isErasure ? pages.words[2]! : pages.turns.prefix(pages.head.revision - 3).map(\.note)
      return gone.first { bytes.range(of: Data($0.utf8)) != nil }.map { "\($0) is there" }
    }

    @Test func openingAJournalDuringAPruningShowsItBeforeOrAfter() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 4, &random)
        let (url, head) = (pages.url, pages.head)
        let isOver = Lock(false)
        let findings = Findings()
        let opened = Counter()
        let readers = DispatchGroup()
        for mode in [Journal<Logbook>.Mode.readOnly, .follow] {
          readers.enter()
          Thread.detachNewThread {
            defer { readers.leave() }
            do {
              while !isOver.withLock({ $0 }) {
                let journal = try Journal<Logbook>.open(at: url, mode: mode)
                defer { try? journal.close() }
                opened.add()
                if journal.head.revision < head.revision || journal.state.pages[1] != nil {
                  findings.note("\(mode): opened at \(journal.head)")
                }
                // The history may be pruned while the journal is open.
                do { _ = try journal.state(asOf: .start) } catch let error as JournalError
                  where error.code == .pruned
                {}
              }
            } catch {
              findings.note("\(mode): \(error)")
            }
          }
        }
        defer {
          isOver.withLock { $0 = true }
          readers.wait()
        }
        for revision in stride(from: 1, through: head.revision, by: 2) {
          try Journal<Logbook>.prune(before: .revision(revision), at: url)
          // Wait until readers have opened the journal in between.
          let count = opened.value
          for _ in 0..<10_000 where opened.value < count + 2 && findings.all.isEmpty { usleep(1000) }
        }
        #expect(opened.value > 10)
        findings.report()
      }
    }

    @Test(arguments: [Journal<Logbook>.Mode.readOnly, .follow], [true, false])
    func anErasureOrPruningDuringAnyReadOfAnOpeningIsSeenOrNot(
      _ mode: Journal<Logbook>.Mode, isErasure: Bool
    ) throws {
      let count = try forEachRead(isErasure: isErasure) { pages, interruption in
        interruption.isEnabled.withLock { $0 = true }
        let journal = try Journal<Logbook>.open(
          at: interruption.url, mode: mode, options: interruption.options)
        interruption.isEnabled.withLock { $0 = false }
        defer { try? journal.close() }
        #expect(journal.head.revision >= pages.head.revision)
        #expect(journal.state.record(of: .page(1)) == nil && journal.state.record(of: .page(3)) != nil)
      }
      #expect(count > 10)
    }

    @Test(arguments: [Journal<Logbook>.Mode.readOnly, .follow], [true, false])
    func anErasureOrPruningDuringAnyReadOfAnOpenJournalIsNoDamage(
      _ mode: Journal<Logbook>.Mode, isErasure: Bool
    ) throws {
      let uses: [(name: String, body: @Sendable (Journal<Logbook>, URL) throws -> Void)] = [
        (
          "verify",
          { journal, _ in
            let problems = try journal.verify(.deep).problems
            #expect(problems.isEmpty, "\(problems)")
          }
        ),
        (
          "entries",
          { journal, _ in
            let cursor = journal.entries()
            while try cursor.next() != nil {}
          }
        ),
        ("as of", { journal, _ in _ = try journal.state(asOf: .revision(7)) }),
        ("history", { journal, _ in _ = try journal.history(of: .page(3)) }),
        ("backup", { journal, url in try journal.backup(to: url.appendingPathExtension("backup")) }),
        ("copy", { journal, url in try journal.copy(to: url.appendingPathExtension("copy")) }),
        ("state", { journal, url in try journal.copyState(to: url.appendingPathExtension("state")) }),
      ]
      for use in uses {
        let count = try forEachRead(isErasure: isErasure) { _, interruption in
          let journal = try Journal<Logbook>.open(
            at: interruption.url, mode: mode, options: interruption.options)
          defer { try? journal.close() }
          interruption.isEnabled.withLock { $0 = true }
          do {
            try use.body(journal, interruption.url)
          } catch let error as JournalError where error.code == .pruned {
            #expect(error.message.contains("open it again"))
          } catch {
            Issue.record("\(use.name), read \(interruption.position): \(error)")
          }
        }
        #expect(count > 1, "\(use.name)")
      }
    }

    /// Readers that opened the journal after its log was replaced, and before HEAD named the newest entry, saw erased
    /// content without the entry that erased it, and copied that.
    @Test(arguments: [true, false])
    func atEachOperationOfAnErasureOrPruningWhatIsReadAndCopiedIsSound(isErasure: Bool) throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        for isPruned in [false, true] {
          if isPruned { try Journal<Logbook>.prune(before: .revision(3), at: pages.url) }
          let url = try pages.copy("\(isPruned).journal")
          let early = try Journal<Logbook>.open(at: url, mode: .readOnly)
          defer { try? early.close() }
          let operations = Counter()
          let hook: FileHook = { operation in
            // While it makes a LOCK, no other log can be opened in this process.
            if operation.kind == .write || operation.path.hasSuffix("/LOCK") { return .proceed }
            operations.add()
            let place = "\(isPruned ? "pruned" : "whole"), operation \(operations.value), \(operation)"
            do {
              for mode in [Journal<Logbook>.Mode.readOnly, .follow] {
                let journal = try Journal<Logbook>.open(at: url, mode: mode)
                defer { try? journal.close() }
                try expectSound(journal, place)
              }
              do { try expectSound(early, place) } catch let error as JournalError where error.code == .pruned
              {}
            } catch {
              Issue.record("\(place): \(error)")
            }
            return .proceed
          }
          let options = JournalOptions(fileHook: hook)
          if isErasure {
            try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law", options: options)
          } else {
            try Journal<Logbook>.prune(before: .head(back: 3), at: url, options: options)
          }
          #expect(operations.value > 20)
        }
      }
    }

    /// The same of a backup that is rewritten because something was erased.
    @Test func atEachOperationOfARewrittenBackupItsReadersSeeItBeforeOrAfter() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
        let operations = Counter()
        let hook: FileHook = { operation in
          if operation.kind == .write || operation.path.hasSuffix("/LOCK") { return .proceed }
          operations.add()
          let place = "operation \(operations.value), \(operation)"
          do {
            let reader = try Journal<Logbook>.open(at: backup, mode: .readOnly)
            defer { try? reader.close() }
            try expectWhole(reader, place)
          } catch {
            Issue.record("\(place): \(error)")
          }
          return .proceed
        }
        func update(_ options: JournalOptions = JournalOptions()) throws -> BackupReport {
          let reader = try Journal<Logbook>.open(at: pages.url, mode: .readOnly, options: options)
          defer { try? reader.close() }
          return try reader.backup(to: backup)
        }
        func commit(_ pages: Int..., at url: URL) throws {
          let journal = try Journal<Logbook>.open(at: url)
          for page in pages { try journal.commit { try $0.write(page, "later") } }
          try journal.close()
        }
        _ = try update()
        try commit(3, at: pages.url)
        try Journal<Logbook>.erase([.page(2)], at: pages.url, reason: "by law")
        try commit(1, 3, 3, at: pages.url)
        #expect(try update(JournalOptions(fileHook: hook)).isRebuilt)
        #expect(operations.value > 20)
      }
    }

    private func expectSound(_ journal: Journal<Logbook>, _ place: String) throws {
      try expectWhole(journal, place)
      let url = journal.url.appendingPathExtension("backup")
      try? FileManager.default.removeItem(at: url)
      try journal.backup(to: url)
      let backup = try Journal<Logbook>.open(at: url, mode: .readOnly)
      defer { try? backup.close() }
      try expectWhole(backup, "a backup, \(place)")
    }

    /// Expects a sound journal without erased content whose erasure no entry records.
    private func expectWhole(_ journal: Journal<Logbook>, _ place: String) throws {
      let problems = try journal.verify(.deep).problems
      #expect(problems.isEmpty, "\(place): \(problems)")
      let cursor = journal.entries()
      var hasErasedContent = false
      var recordsErasure = false
      while let entry = try cursor.next() {
        if entry.rewriting == "erased" { recordsErasure = true }
        for event in entry.events { if case .erased = event.change { hasErasedContent = true } }
      }
      #expect(!hasErasedContent || recordsErasure, "\(place)")
    }

    /// Calls `body` for each read that it makes, with a new copy of a journal that is replaced during that read: first
    /// with a whole history and then with a pruned one.
    /// - Returns: how often it was called.
    private func forEachRead(
      isErasure: Bool, _ body: (Pages, Interruption) throws -> Void
    ) throws -> Int {
      var random = SeededGenerator()
      var count = 0
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        for isPruned in [false, true] {
          if isPruned { try Journal<Logbook>.prune(before: .revision(3), at: pages.url) }
          for position in 1... {
            let url = try pages.copy("\(isPruned)-\(position).journal")
            let interruption = Interruption(url, at: position) {
              if isErasure {
                try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law")
              } else {
                try Journal<Logbook>.prune(before: .head(back: 3), at: url)
              }
            }
            do { try body(pages, interruption) } catch {
              Issue.record("read \(position) of a \(isPruned ? "pruned" : "whole") journal: \(error)")
            }
            count += 1
            guard interruption.hasHappened else { break }
          }
        }
      }
      return count
    }

    @Test func aFollowerContinuesAfterAnErasureAndReportsAPruning() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        func commit(_ page: Int) throws -> Head {
          let journal = try Journal<Logbook>.open(at: pages.url)
          defer { try? journal.close() }
          try journal.commit { try $0.write(page, "after") }
          return journal.head
        }
        let follower = try Journal<Logbook>.open(at: pages.url, mode: .follow)
        let reader = try Journal<Logbook>.open(at: pages.url, mode: .readOnly)
        #expect(follower.state.pages[2] != nil)
        try Journal<Logbook>.erase([.page(2)], at: pages.url, reason: "by law")
        let erased = try commit(50)
        try follower.catchUp()
        #expect(follower.head == erased)
        #expect(follower.state.pages[50] != nil)
        // The follower used to keep what was erased, and to call the log damaged when the page was added again.
        #expect(follower.state.isErased(.page(2)))
        _ = try commit(2)
        try follower.catchUp()
        #expect(follower.state.pages[2]?.record["text"] == .string("after"))
        try Journal<Logbook>.prune(before: .head(back: 3), at: pages.url)
        let pruned = try commit(51)
        let error = #expect(throws: JournalError.self) { try follower.catchUp() }
        #expect(error?.code == .pruned && error?.message.contains("open it again") == true, "\(error!)")
        try follower.close()
        // A reader still sees the old history, or gets an error that says that it was pruned.
        do {
          #expect(try reader.verify().head == pages.head)
          #expect(try reader.entry(at: 1).note == pages.turns[0].note)
        } catch let error as JournalError {
          #expect(error.code == .pruned)
        }
        try reader.close()
        let again = try Journal<Logbook>.open(at: pages.url, mode: .follow)
        #expect(again.head == pruned && again.base?.revision == erased.revision - 2)
        try again.close()
      }
    }
  }
}

/// A counter for several threads.
private final class Counter: Sendable {
  private let count = Lock(0)

  var value: Int { count.withLock { $0 } }

  /// Adds one, and returns the new value.
  @discardableResult func add() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}

/// Something that happens during a read of a journal's files.
private final class Interruption: Sendable {
  let url: URL
  let position: Int
  /// Whether reads count.
  let isEnabled = Lock(false)
  private let reads = Counter()
  private let body: @Sendable () throws -> Void

  init(_ url: URL, at position: Int, _ body: @escaping @Sendable () throws -> Void) {
    self.url = url
    self.position = position
    self.body = body
  }

  var hasHappened: Bool { reads.value >= position }

  /// The options of the journal that reads.
  var options: JournalOptions {
    var options = JournalOptions()
    options.readHook = { [self] _, _ in
      guard isEnabled.withLock({ $0 }) else { return .proceed }
      if reads.add() == position {
        do { try body() } catch { Issue.record("the interruption failed: \(error)") }
      }
      return .proceed
    }
    return options
  }
}
