import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Whatever happens during an erasure or a pruning of an open journal, it is done in full or not at all, and no commit
  /// that was acknowledged before, meanwhile or afterwards is lost.
  @Suite struct OpenEraseTests {
    @Test func aProcessThatIsKilledWhileItErasesPrunesAndCommitsLosesNoCommitAndKeepsNothingErased() throws {
      var random = SeededGenerator()
      var (commitCount, erasureCount, rounds) = (0, 0, 0)
      // On a busy machine it takes longer until there was one of each.
      func goesOn() -> Bool {
        rounds < Battery.size(60, long: 2_000) || rounds < 300 && (commitCount == 0 || erasureCount == 0)
      }
      while goesOn() {
        // A new journal now and then, because checking and erasing take longer the larger it is.
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          var erased: Set<Int> = []
          for _ in 0..<3 where goesOn() {
            let writers = [1, 2, 8].randomElement(using: &random)!
            let lines = try KilledChild.said(
              by: url, writers: writers, firstTurn: rounds * 10_000, ["erasing"], random: &random)
            rounds += 1
            guard FileManager.default.fileExists(atPath: url.path) else { continue }
            let counts = try check(url, lines, &erased, "round \(rounds), \(writers) writers")
            commitCount += counts.commits
            erasureCount += counts.erasures
          }
        }
      }
      print("open erasures: \(rounds) kills, \(commitCount) acknowledged commits, \(erasureCount) erasures")
      #expect(commitCount > 0 && erasureCount > 0)
    }

    /// Checks a journal whose process was killed.
    /// - Parameter lines: what it had printed.
    private func check(
      _ url: URL, _ lines: [Substring], _ erased: inout Set<Int>, _ place: String
    ) throws -> (commits: Int, erasures: Int) {
      let journal = try Journal<Logbook>.open(at: url)
      let base = journal.base?.revision ?? 0
      var counts = (commits: 0, erasures: 0)
      for line in lines {
        let words = line.split(separator: " ")
        if words.first == "erased", let turn = Int(words[1]) {
          erased.insert(turn)
          counts.erasures += 1
        }
        guard words.count == 3, let revision = Revision(words[0]), revision > base else { continue }
        let entry = try journal.entry(at: revision)
        #expect(entry.author == words[1] && entry.note == words[2], "\(place), \(line)")
        counts.commits += 1
      }
      let problems = try journal.verify().problems.map(\.description)
      try #require(problems == [], "\(place)")
      try journal.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"], "\(place)")
      let found = try allBytes(of: url)
      for turn in erased {
        for word in ["<text \(turn)>", "<image \(turn)>", "<note \(turn)>"] {
          #expect(found.range(of: Data(word.utf8)) == nil, "\(place): \(word) is still in the folder")
        }
      }
      return counts
    }

    /// The follower sees every entry once and in order, with the digest that the entry has after the erasures too.
    @Test func aFollowerInAnotherProcessContinuesAcrossErasuresAndEndsOrContinuesAtAPruning() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        let journal = try Journal<Logbook>.create(at: url, options: JournalOptions(layers: .many))
        let follower = try Child(["follow", url.path, "0"])
        var seen: [String] = []
        for turn in 1...24 {
          try journal.commit(by: "ana", note: "turn\(turn)") { try $0.write(turn, "text \(turn)") }
          // Sometimes it is behind when the log is replaced, and sometimes it has seen all.
          if turn % 8 == 0 {
            let last = journal.head.revision
            seen += try follower.lines(until: { $0.hasPrefix("\(last) ") })
          }
          if turn % 4 == 0 { try journal.erase([.page(turn - 1)], reason: "by law") }
        }
        let last = journal.head.revision
        seen += try follower.lines(until: { $0.hasPrefix("\(last) ") })
        #expect(seen.count == last)
        for (index, line) in seen.enumerated() {
          let words = line.split(separator: " ")
          #expect(words[0] == "\(index + 1)")
          #expect(try words[1] == journal.entry(at: index + 1).digest.hex)
        }
        try journal.prune(before: .revision(10))
        try journal.commit(by: "ana", note: "afterwards") { try $0.write(1, "afterwards") }
        let newest = journal.head
        do {
          let rest = try follower.lines(until: { $0.hasPrefix("\(newest.revision) ") })
          #expect(rest.map { $0.split(separator: " ")[0] } == ["\(last + 1)", "\(newest.revision)"])
          _ = try follower.kill()
        } catch {
          #expect("\(error)".contains("open it again"), "\(error)")
        }
        let again = try Child(["follow", url.path, "\(last)"])
        let rest = try again.lines(until: { $0.hasPrefix("\(newest.revision) ") })
        #expect(rest.last?.contains(newest.digest.hex) == true)
        _ = try again.kill()
        try journal.close()
      }
    }

    /// The step that needs one descriptor more than there are fails, wherever it is, and the journal continues.
    @Test(arguments: [true, false])
    func withTooFewDescriptorsAnErasureOrAPruningFailsAndCanBeRepeated(isErasure: Bool) throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        var codes: [String: Int] = [:]
        for count in 4...200 where codes["ok", default: 0] < 4 {
          let url = try pages.copy("Short.journal")
          let lines = try Child(
            ["short-replacement", url.path, isErasure ? "erase" : "prune", "\(count)"]
          ).end()
          let answers = Dictionary(
            uniqueKeysWithValues: lines.map { line in
              let words = line.split(separator: ": ").map(String.init)
              return (words[0], words[1])
            })
          let code = try #require(answers["short"])
          codes[code, default: 0] += 1
          #expect(["ok", "outOfResources", "outcomeUnknown"].contains(code), "\(count): \(lines)")
          // Only what could not be removed is left to a later opening.
          #expect(answers["commit"] == "ok" && answers["repeated"] == "ok", "\(count): \(lines)")
          #expect(answers["verify"] == "ok" && answers["close"] == "ok", "\(count): \(lines)")
          var run = Run()
          run.acknowledged[try #require(answers["revision"].flatMap { Revision($0) })] = "afterwards"
          #expect(try isDone(run, pages, at: url, isErasure: isErasure, "\(count) descriptors"))
        }
        print("descriptors of an open \(isErasure ? "erasure" : "pruning"): \(codes)")
        #expect(codes["ok"] == 4 && codes["outOfResources", default: 0] > 0)
      }
    }

    @Test(arguments: [true, false])
    func ifAnyOperationFailsTheJournalContinuesOrTakesNoMoreCommits(isErasure: Bool) throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        let operations = Lock(0)
        _ = try rewrite(pages, at: try pages.copy("Count.journal"), isErasure: isErasure) { _ in
          operations.withLock { $0 += 1 }
          return .proceed
        }
        let count = operations.withLock { $0 }
        var (done, undone, continued) = (0, 0, 0)
        for index in 0..<count {
          for lasts in [false, true] {
            let url = try pages.copy("Faulty.journal")
            let seen = Lock(0)
            let run = try rewrite(pages, at: url, isErasure: isErasure) { _ in
              let now = seen.withLock { seen in
                defer { seen += 1 }
                return seen
              }
              return now == index || lasts && now > index ? .fail(EIO) : .proceed
            }
            let place = "operation \(index)\(lasts ? " and all after it" : "")"
            if try isDone(run, pages, at: url, isErasure: isErasure, place) { done += 1 } else { undone += 1 }
            if run.error != nil, run.acknowledged.values.contains("afterwards") { continued += 1 }
          }
        }
        print(
          "open faults: \(count) operations, \(done) times done, \(undone) times not, \(continued) continued")
        #expect(done > 0 && undone > 0 && continued > 0)
      }
    }

    /// The power is lost at any moment, also of the commits during the erasure and afterwards.
    @Test(arguments: NameModel.allCases, [true, false])
    func afterAPowerLossAnErasureIsDoneOrNotAndAcknowledgedCommitsAreThere(
      _ model: NameModel, isErasure: Bool
    ) throws {
      var random = SeededGenerator()
      let findings = Findings()
      try withFolderInMemory { folder in
        let root = folder + "/live"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        let pages = try Pages(in: root, count: 2, &random)
        let before = try CrashState(reading: root)
        let recorder = Recorder()
        let run = try rewrite(
          pages, at: pages.url, isErasure: isErasure, recorder.hook, acknowledging: recorder.acknowledge)
        #expect(run.error == nil && run.acknowledged.count == 2)
        var enumeration = CrashStates(model, effort: 2, random: SeededGenerator(seed: random.next()))
        let states = enumeration.all(
          of: recorder.trace, on: SimulatedDisk(root: root, state: before), isCreated: true
        ).shuffled(using: &random).prefix(Battery.size(250, long: 20_000))
        let counts = Lock((done: 0, undone: 0))
        forEachConcurrently(Array(states), named: \.name) { _, state in
          let copy = "\(folder)/\(UUID().uuidString)"
          defer { try? FileManager.default.removeItem(atPath: copy) }
          do {
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
            try CrashState(state).build(in: copy)
            let url = URL(fileURLWithPath: copy).appendingPathComponent(pages.url.lastPathComponent)
            let left = Run(
              acknowledged: run.acknowledged.filter { $0.key <= state.acknowledged }, error: run.error)
            // What was committed afterwards has the erasure before it.
            let isLate = left.acknowledged.values.contains("afterwards")
            let isDone = try isDone(
              isLate ? left : Run(acknowledged: left.acknowledged, error: ErasureInProgress()), pages,
              at: url,
              isErasure: isErasure, state.name)
            counts.withLock { if isDone { $0.done += 1 } else { $0.undone += 1 } }
          } catch {
            findings.note("\(state.name): an error: \(error)")
          }
        }
        print("open power loss, \(model): \(states.count) states, \(counts.withLock { $0 })")
        #expect(counts.withLock { $0.done > 0 && $0.undone > 0 })
      }
      findings.report()
    }

    private struct ErasureInProgress: Error {}

    private struct Run {
      var acknowledged: [Revision: String] = [:]
      var error: (any Error)?
    }

    /// Erases page 2 or prunes, with a commit in the middle and one afterwards. The hook sees what happens from the
    /// beginning of that on.
    private func rewrite(
      _ pages: Pages, at url: URL, isErasure: Bool, _ hook: @escaping FileHook,
      acknowledging acknowledge: (Revision) -> Void = { _ in }
    ) throws -> Run {
      let isBegun = Lock(false)
      let options = JournalOptions(fileHook: { operation in
        isBegun.withLock { $0 } ? hook(operation) : .proceed
      })
      let journal = try Journal<Logbook>.open(at: url, options: options)
      isBegun.withLock { $0 = true }
      var run = Run()
      func commit(_ note: String) {
        if let commit = try? journal.commit(by: "bob", note: note, { try $0.write(50, note) }) {
          run.acknowledged[commit.revision] = note
          acknowledge(commit.revision)
        }
      }
      var isCommitted = false
      let progress: (CopyProgress) throws -> Void = { progress in
        guard !isCommitted, progress.phase == .proving else { return }
        isCommitted = true
        commit("meanwhile")
      }
      do {
        if isErasure {
          try journal.erase(
            [.page(2)], reason: "by law", by: "eve", includingWords: true, progress: progress)
        } else {
          try journal.prune(before: .revision(5), by: "eve", progress: progress)
        }
      } catch { run.error = error }
      commit("afterwards")
      try? journal.close()
      return run
    }

    private func isDone(
      _ run: Run, _ pages: Pages, at url: URL, isErasure: Bool, _ place: String
    ) throws -> Bool {
      let journal = try Journal<Logbook>.open(at: url)
      for (revision, note) in run.acknowledged {
        #expect(try journal.entry(at: revision).note == note, "\(place)")
      }
      let problems = try journal.verify(.deep).problems.map(\.description)
      try #require(problems == [], "\(place)")
      let isPruned = journal.base != nil
      try journal.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"], "\(place)")
      let found = try allBytes(of: url)
      let gone =
        isErasure
        ? pages.words[2]!.filter { !$0.hasPrefix("image") } + pages.notes[2]!
        : pages.turns.prefix(5).map(\.note)
      let goneCount = gone.count { found.range(of: Data($0.utf8)) == nil }
      #expect(goneCount == 0 || goneCount == gone.count, "\(place): \(goneCount) of \(gone.count)")
      let isDone = goneCount > 0
      #expect(isErasure || isDone == isPruned, "\(place)")
      if run.error == nil { #expect(isDone, "\(place)") }
      return isDone
    }
  }
}
