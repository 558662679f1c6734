import Testing

@testable import Journaling

/// What is decided about layers: without a journal, a thread or a file.
@Suite struct LayerScheduleTests {
  private static func policy(_ change: (inout LayerPolicy) -> Void = { _ in }) -> LayerPolicy {
    var policy = LayerPolicy.automatic
    policy.eventCount = 10
    policy.additionsPerEvent = 1
    policy.logShare = 1_000
    change(&policy)
    return policy
  }

  // MARK: Commits

  /// Replaying an addition takes less time than replaying an update, so more of them fit between two layers.
  @Test(arguments: [
    (updates: 9, additions: 0, bytes: 0, isDue: false), (10, 0, 0, true), (0, 79, 0, false), (0, 80, 0, true),
    (5, 39, 0, false), (5, 40, 0, true), (1, 0, 999, false), (1, 0, 1_000, true),
  ]) func aLayerIsDueAfterEventsOrBytes(_ row: (updates: Int, additions: Int, bytes: Int, isDue: Bool)) {
    let policy = Self.policy {
      $0.additionsPerEvent = 8
      $0.byteCount = 1_000
    }
    for bytesAreOfLog in [true, false] {
      var schedule = LayerSchedule(policy, revision: 0, eventCount: 0, frozenCount: 0)
      let tally = EventTally(
        count: row.updates + row.additions, additionCount: row.additions,
        byteCount: bytesAreOfLog ? row.bytes : 0)
      let acceptance = schedule.accept(tally) { bytesAreOfLog ? 0 : row.bytes }
      #expect((acceptance == .freeze) == row.isDue)
    }
  }

  @Test func checkpointsStayCloseWhileLayersWaitForTheirFiles() {
    var played = PlayedLayers(Self.policy())
    var acceptances: [LayerSchedule.Acceptance] = []
    for _ in 1...6 { acceptances.append(played.commit(10, writes: false)) }
    #expect(acceptances == [.freeze, .freeze, .checkpoint, .checkpoint, .checkpoint, .checkpoint])
    var withoutPast = PlayedLayers(Self.policy { $0.keepsPast = false })
    for _ in 1...3 { acceptances.append(withoutPast.commit(10, writes: false)) }
    #expect(acceptances.suffix(3) == [.freeze, .freeze, .nothing])
    var manual = PlayedLayers(.manual)
    #expect(manual.commit(100_000) == .nothing)
  }

  /// If commits come faster than layers can be written, they wait, so that the next opening does not take long.
  @Test(arguments: [
    // The thread does not run, so nothing would end the wait.
    (events: 100, bytes: 0, isWriting: false, stalls: false),
    (99, 0, true, false), (100, 0, true, true), (50, 999, true, false), (50, 1_000, true, true),
  ]) func commitsStallWhileTooMuchIsInNoFile(
    _ row: (events: Int, bytes: Int, isWriting: Bool, stalls: Bool)
  ) {
    var played = PlayedLayers(
      Self.policy {
        $0.backlogCount = 100
        $0.backlogByteCount = 1_000
      })
    for _ in 0..<2 { played.commit(20, writes: row.isWriting, runs: false) }
    // Two layers have 40 events, and the rest is in no layer.
    played.commit(row.events - 40, bytes: row.bytes, writes: row.isWriting, runs: false)
    #expect(played.schedule.stallsCommits == row.stalls)
    played.run()
    #expect(!played.schedule.stallsCommits)
  }

  @Test func whatIsHeldByCheckpointsCountsAsMemory() {
    var schedule = LayerSchedule(
      Self.policy { $0.backlogByteCount = 1_000 }, revision: 0, eventCount: 0, frozenCount: 0)
    for revision in 1...2 {
      #expect(schedule.accept(EventTally(count: 10)) { 10 } == .freeze)
      schedule.froze(through: revision, changedByteCount: 10)
      _ = schedule.store(revision, eventCount: 10)
    }
    #expect(schedule.accept(EventTally(count: 10)) { 600 } == .checkpoint)
    schedule.keptCheckpoint(changedByteCount: 600, replacedByteCount: 0)
    #expect(!schedule.stallsCommits)
    // All of it is replaced, and the checkpoint still holds it.
    #expect(schedule.accept(EventTally(count: 10)) { 600 } == .checkpoint)
    schedule.keptCheckpoint(changedByteCount: 600, replacedByteCount: 600)
    #expect(schedule.stallsCommits)
  }

  /// The bytes of withdrawn entries used to count, and made a layer without changes.
  @Test func whatWasWithdrawnMakesNoLayerDue() {
    var played = PlayedLayers(Self.policy { $0.byteCount = 1_000 })
    played.commit(5, bytes: 500)
    #expect(played.schedule.accept(EventTally(count: 5)) { 2_000 } == .freeze)
    played.schedule.froze(through: 2, changedByteCount: 2_000)
    #expect(played.schedule.pendingCount == 1)
    played.schedule.withdraw(to: 1, frozenCount: 0, checkpointCount: nil)
    #expect(played.schedule.pendingCount == 0 && played.schedule.eventCount == 5)
    #expect(!played.schedule.isFreezeDue)
    #expect(played.schedule.accept(EventTally(count: 1)) { 100 } == .nothing)
  }

  // MARK: Work

  /// With a snapshot of the newest state, what is in no layer becomes one, so that the next opening replays nothing.
  @Test(arguments: [true, false]) func aRequestedLayerIsWrittenWhateverThePolicyIs(isAutomatic: Bool) {
    var schedule = LayerSchedule(
      isAutomatic ? Self.policy() : .manual, revision: 0, eventCount: 0, frozenCount: 0)
    schedule.requestLayer()
    #expect(schedule.accept(EventTally(count: 3)) { 0 } == .nothing)
    #expect(schedule.store(1, eventCount: 3) == false)
    #expect(schedule.request() == true)
    #expect(schedule.next([], logByteCount: 0) == .request)
    schedule.requestLayer()
    schedule.finishRequest()
    #expect(schedule.next([], logByteCount: 0, canFreeze: false) == .finish)
    // A commit was in progress. The next one makes the layer.
    #expect(schedule.accept(EventTally(count: 1)) { 0 } == .freeze)
    schedule.froze(through: 2)
    #expect(schedule.store(2, eventCount: 1) && schedule.next([], logByteCount: 0) == .write)
    // Closing cancels the file, and writes it again.
    schedule.cancel()
    #expect(schedule.next([], logByteCount: 0) == .finish)
    schedule.close()
    #expect(schedule.next([], logByteCount: 0) == .write)
    schedule.wrote(2)
    #expect(schedule.next([], logByteCount: 0) == .finish)
  }

  @Test func onlyDurableLayersAreWritten() {
    var schedule = LayerSchedule(Self.policy(), revision: 0, eventCount: 0, frozenCount: 0)
    #expect(schedule.accept(EventTally(count: 10)) { 0 } == .freeze)
    schedule.froze(through: 1)
    #expect(schedule.writable == nil && schedule.next([], logByteCount: 0) == .finish)
    #expect(schedule.store(1, eventCount: 10) && schedule.isWriting)
    #expect(schedule.next([], logByteCount: 0) == .write)
    schedule.wrote(1)
    #expect(schedule.next([], logByteCount: 0) == .finish && !schedule.isWriting)
  }

  @Test func theRestIsFrozenUnlessACommitIsInProgress() {
    var played = PlayedLayers(Self.policy())
    for _ in 1...4 { played.commit(10, runs: false) }
    var work = played.run(freezes: false)
    #expect(work == [.write, .write, .freeze, .finish])
    #expect(played.schedule.isFreezeDue)
    played.commit(0, runs: false)
    work = played.run()
    #expect(work == [.write, .finish])
  }

  @Test(arguments: [3, 4]) func theNumberOfLayersGrowsWithTheLogarithmOfTheEvents(fanout: Int) {
    let policy = Self.policy { $0.fanout = fanout }
    var played = PlayedLayers(policy)
    for count in 1...2_000 {
      played.commit(1)
      var levels = 1
      var size = policy.eventCount
      while size < count {
        size *= fanout
        levels += 1
      }
      #expect(played.files.count <= levels * fanout)
      #expect(played.writtenEventCount <= levels * count)
    }
    #expect(played.files.reduce(0) { $0 + $1.eventCount } == 2_000)
  }

  /// With a busy writer, layers used not to be merged, because merging waited until there was nothing to write.
  @Test func layersStayFewWhileCommitsComeWithoutAPause() {
    var played = PlayedLayers(Self.policy())
    var most = 0
    for _ in 0..<4_000 {
      // Two layers become due in the time of one step.
      for _ in 0..<2 { played.commit(10, runs: false) }
      let work = played.schedule.next(played.files, logByteCount: 1 << 30)
      played.perform(work)
      most = max(most, played.files.count)
    }
    #expect(most > 2 && most <= 24)
    #expect(played.writtenEventCount > played.files.reduce(0) { $0 + $1.eventCount })
  }

  @Test func onlyRunsOfLayersOfSimilarSizeAreMerged() {
    var policy = Self.policy()
    func run(_ eventCounts: [Int]) -> Range<Int> { policy.run(eventCounts.map { ($0, 0) }) }
    #expect(run([]) == 0..<0)
    #expect(run([10, 12, 10]) == 0..<0)
    #expect(run([10, 12, 10, 11]) == 0..<4)
    #expect(run([43, 10, 12, 10]) == 0..<0)
    #expect(run([43, 10, 12, 10, 10]) == 1..<5)
    #expect(run([43, 43, 43, 43, 10]) == 0..<4)
    #expect(run([700, 43, 43, 43, 10]) == 0..<0)
    #expect(run([10, 10, 10, 900, 10, 10, 10, 900, 10, 10]) == 0..<0)
    #expect(run((0..<40).map { $0 % 4 == 3 ? 900 : 10 }).count > 30)
    // Of many, the oldest.
    #expect(run([700] + [Int](repeating: 10, count: 100)) == 1..<9)
    #expect(run([Int](repeating: 10, count: 100) + [43]) == 0..<16)
    #expect(run([1_000_000, 10, 10, 10]) == 0..<0)
    // A few large records count as many events.
    policy.byteCount = 1000
    #expect(policy.run([(4, 4200), (1, 1100), (1, 1100), (1, 1100)]) == 0..<0)
    #expect(policy.run([(4, 4200), (1, 1100), (1, 1100), (1, 1100), (1, 1100)]) == 1..<5)
    #expect(policy.run([(4, 4200), (43, 100), (4, 4200), (43, 100)]) == 0..<4)
  }

  @Test func layersThatTakeMoreThanTheirShareAreMergedWithTheFirst() {
    let policy = LayerPolicy.automatic
    func run(_ byteCounts: [Int], share: Int) -> Range<Int> {
      policy.run(byteCounts.map { ($0, $0) }, share: share)
    }
    #expect(run([], share: 0) == 0..<0)
    #expect(run([100], share: 10) == 0..<0)
    #expect(run([100, 15, 10], share: 10) == 0..<0)
    #expect(run([100, 16, 10], share: 10) == 0..<3)
    #expect(run([100, 16, 10], share: 126) == 0..<0)
  }

  @Test func checkpointsThatTakeMoreThanTheirShareAreDropped() {
    let policy = LayerPolicy.automatic
    let unit = 1 << 20
    func choice(share: Int) -> Int {
      policy.choice([8, 4, 2, 0].map { $0 * unit }, newestByteCount: 10 * unit, share: share)
    }
    #expect(choice(share: 18 * unit) == 0)
    #expect(choice(share: 18 * unit - 1) == 1)
    #expect(choice(share: 12 * unit) == 2)
    #expect(choice(share: 12 * unit - 1) == 3)
    #expect(choice(share: 0) == 3)
    // Saving a little space is not worth a slower past.
    #expect(policy.choice([unit], newestByteCount: 10 * unit, share: 0) == 0)
    #expect(policy.share(ofLog: 1_000) == unit)
    #expect(policy.share(ofLog: 2_000_000) == 2_000_000)
    #expect(LayerPolicy.small.share(ofLog: 2_000_000) == unit)
  }

  /// An infinite share used to end the process when the first layer was written.
  @Test(arguments: [Double.infinity, .nan, -.infinity, -1, 1e300, 0]) func anyShareOfTheLogCanBeSet(
    _ share: Double
  ) {
    var played = PlayedLayers(Self.policy { $0.logShare = share })
    for logByteCount in [0, 1_000, Int.max] {
      played.logByteCount = logByteCount
      for _ in 0..<50 { played.commit(10) }
      #expect(played.files.count < 50 && played.schedule.share(of: 10, logByteCount: logByteCount) >= 1 << 20)
    }
  }

  /// A layer can be missing between others, for example one that is damaged.
  @Test func onlyLayersWithoutAGapAreMerged() {
    var played = PlayedLayers(Self.policy { $0.fanout = 2 })
    played.files = PlayedLayers.files([(0, 10), (20, 30), (30, 40)])
    played.run()
    #expect(played.files.map(\.name) == [LayerName(from: 0, to: 10), LayerName(from: 20, to: 40)])
  }

  @Test func layersWithoutADeclaredIndexAreMergedWhenNothingElseIsDue() {
    var played = PlayedLayers(Self.policy())
    played.files = PlayedLayers.files([(0, 1_000), (1_000, 1_010), (1_010, 1_020)])
    played.files[1].hasIndexes = false
    #expect(played.run() == [.merge(1..<3), .finish])
    // A single one waits for the next, because no file is replaced by another of its name.
    played.files = PlayedLayers.files([(0, 1_000)])
    played.files[0].hasIndexes = false
    #expect(played.run() == [.finish])
    played.files = PlayedLayers.files([(0, 1_000), (1_000, 1_010)])
    played.files[1].hasIndexes = false
    #expect(played.run() == [.merge(0..<2), .finish])
  }

  @Test func aDamagedFileIsWrittenAgainOnce() {
    var played = PlayedLayers(Self.policy())
    played.files = PlayedLayers.files([(0, 10), (10, 20)])
    played.files[1].isRebuilt = true
    #expect(played.run() == [.repair(1), .finish])
    #expect(played.run() == [.finish])
  }

  // MARK: Failures

  @Test func afterAFailureTheNextAttemptWaitsForMoreEvents() {
    var played = PlayedLayers(Self.policy())
    played.failsToWrite = true
    played.commit(10)
    #expect(played.attemptCount == 1)
    for _ in 1...9 { played.commit(1) }
    #expect(played.attemptCount == 1)
    played.failsToWrite = false
    played.commit(1)
    #expect(played.attemptCount > 1 && !played.files.isEmpty && played.schedule.pendingCount == 0)
  }

  /// A merge needs as much room as the layers that it merges. While it could not succeed, no new layer was written.
  @Test func layersAreWrittenWhileMergesFail() {
    let policy = Self.policy()
    var played = PlayedLayers(policy)
    played.failsToMerge = true
    for _ in 0..<20 { played.commit(10) }
    #expect(played.files.count == 20)
    // There is a limit, because each of them is an open file.
    for _ in 0..<20 { played.commit(10) }
    #expect((20...policy.layerLimit + 2).contains(played.files.count))
    played.failsToMerge = false
    for _ in 0..<4 { played.commit(10) }
    #expect(played.files.count < 8)
  }

  // MARK: Large files

  /// A merge of a large journal takes long. What was committed during it used to wait until the merge had ended.
  @Test func otherLayersAreWrittenAndMergedDuringALargeFile() {
    var played = PlayedLayers(Self.policy { $0.fanout = 2 })
    played.files = PlayedLayers.files([(0, 1_000)])
    played.reopen(eventCount: 1_000, frozenCount: 1_000, bytes: 0)
    let large = LayerSchedule.LargeFile(end: 1_000, eventCount: 100)
    let start = ContinuousClock.now
    var now = start
    func interruption() -> LayerSchedule.Work? {
      played.schedule.interruption(of: large, played.files, at: now)
    }
    #expect(interruption() == nil)
    played.commit(10, runs: false)
    #expect(interruption() == .write)
    played.perform(.write)
    played.schedule.interrupted(by: .write, from: now, to: now + .seconds(1))
    // Writes get a fifth of the time.
    played.commit(10, runs: false)
    now = start + .seconds(4)
    #expect(interruption() == nil)
    now = start + .seconds(5)
    #expect(interruption() == .write)
    played.perform(.write)
    #expect(interruption() == .merge(1..<3))
    played.schedule.interrupted(by: .merge(1..<3), from: now, to: now + .seconds(10))
    // Merges get half of it. While they are behind, changes stay in memory, unless there are very many.
    now += .seconds(19)
    played.commit(10, runs: false)
    #expect(interruption() == nil)
    for _ in 0..<7 { played.commit(10, runs: false) }
    #expect(interruption() == .write)
    now += .seconds(1)
    #expect(interruption() == .merge(1..<3))
    // A merge of more than half of the large file's events waits, and all do after a failure.
    let small = LayerSchedule.LargeFile(end: 1_000, eventCount: 39)
    #expect(played.schedule.interruption(of: small, played.files, at: now) == .write)
    played.schedule.failed()
    #expect(interruption() == nil)
  }

  /// Layers used to get a fifth of the thread's time while a large file was written, however many changes were in memory.
  @Test func beforeCommitsStallLayersAreWrittenAtOnce() {
    var played = PlayedLayers(Self.policy { $0.backlogCount = 160 })
    let now = ContinuousClock.now
    for work in [LayerSchedule.Work.write, .merge(0..<2)] {
      played.schedule.interrupted(by: work, from: now, to: now + .seconds(100))
    }
    let large = LayerSchedule.LargeFile(end: 0, eventCount: 1_000)
    for _ in 0..<3 { played.commit(10, runs: false) }
    #expect(!played.schedule.mayInterrupt(at: now) && played.schedule.pressure(writing: 0) == .some)
    played.commit(10, runs: false)
    #expect(played.schedule.interruption(of: large, [], at: now) == .write)
    #expect(played.schedule.pressure(writing: 0) == .high)
    // Unless there are too many layers already.
    let many = PlayedLayers.files((0..<24).map { ($0, $0 + 1) })
    #expect(played.schedule.interruption(of: large, many, at: now) == nil)
  }

  // MARK: Requests and closing

  @Test func aRequestComesFirstAndClosingRefusesIt() {
    var schedule = LayerSchedule(.manual, revision: 0, eventCount: 0, frozenCount: 0)
    #expect(schedule.request() == true && schedule.request() == false)
    for _ in 0..<2 {
      #expect(schedule.next([], logByteCount: 0) == .request)
      schedule.finishRequest()
    }
    #expect(schedule.next([], logByteCount: 0) == .finish)
    schedule.cancel()
    #expect(schedule.request() == nil && schedule.isCancelling)
  }

  @Test func aRequestWhoseThreadDidNotStartStartsOne() {
    var schedule = LayerSchedule(.manual, revision: 0, eventCount: 0, frozenCount: 0)
    #expect(schedule.startsForRequests() == false && schedule.request() == true)
    #expect(schedule.startsForRequests() == false)
    schedule.failToStart()
    #expect(schedule.startsForRequests() == true && schedule.startsForRequests() == false)
  }

  /// Such sessions are those of an app that people open for a moment. Each of them used to add a layer, and none merged
  /// them.
  @Test(arguments: [
    (eventCount: 2, byteCount: 1 << 20, backlogCount: 65_536, layerLimit: 24),
    (1_000, 2_500, 65_536, 24),
    // Merges of a few layers are too large for closing.
    (2, 1 << 20, 20, 8),
  ]) func hundredShortSessionsReplayFewEventsAndLeaveFewLayers(
    _ row: (eventCount: Int, byteCount: Int, backlogCount: Int, layerLimit: Int)
  ) {
    let policy = Self.policy {
      ($0.eventCount, $0.byteCount) = (row.eventCount, row.byteCount)
      ($0.backlogCount, $0.layerLimit) = (row.backlogCount, row.layerLimit)
    }
    var played = PlayedLayers(policy)
    for session in 1...100 {
      // An opening replays what is in no file, and freezes it if that makes a layer due.
      let frozenCount = played.files.last?.name.to ?? 0
      #expect(session - 1 - frozenCount <= 4 && played.files.count <= 12)
      played.reopen(eventCount: session - 1, frozenCount: frozenCount, bytes: 2_000)
      played.commit(1, bytes: 2_000 * (session - frozenCount), runs: false)
      played.schedule.cancel()
      #expect(played.schedule.next(played.files, logByteCount: 1 << 30) == .finish)
      played.schedule.close()
      played.run()
    }
    #expect(!played.files.isEmpty)
  }
}

/// Layers of a journal in which each revision has one event, unless the test says otherwise.
private struct PlayedLayers {
  var schedule: LayerSchedule
  var files: [LayerSchedule.File] = []
  var logByteCount = 1 << 30
  var failsToWrite = false
  var failsToMerge = false
  private(set) var attemptCount = 0
  private(set) var writtenEventCount = 0
  private let policy: LayerPolicy
  private var eventCount = 0
  private var frozen: [LayerSchedule.File] = []
  private var frozenCount = 0

  init(_ policy: LayerPolicy) {
    self.policy = policy
    schedule = LayerSchedule(policy, revision: 0, eventCount: 0, frozenCount: 0)
  }

  static func files(_ ranges: [(Revision, Revision)]) -> [LayerSchedule.File] {
    ranges.map {
      LayerSchedule.File(
        name: LayerName(from: $0.0, to: $0.1), eventCount: $0.1 - $0.0, byteCount: $0.1 - $0.0)
    }
  }

  mutating func reopen(eventCount: Int, frozenCount: Int, bytes: Int) {
    (self.eventCount, self.frozenCount, frozen) = (eventCount, frozenCount, [])
    schedule = LayerSchedule(policy, revision: eventCount, eventCount: eventCount, frozenCount: frozenCount)
    accept(EventTally(), bytes * (eventCount - frozenCount))
  }

  /// Commits an entry, whose revision is the number of events so far.
  /// - Parameters:
  ///   - bytes: how many all records have since the newest layer.
  ///   - writes: whether the entry becomes durable, which starts the thread.
  @discardableResult
  mutating func commit(
    _ count: Int, bytes: Int = 0, writes: Bool = true, runs: Bool = true
  ) -> LayerSchedule.Acceptance {
    eventCount += count
    let acceptance = accept(EventTally(count: count), bytes)
    if writes, schedule.store(eventCount, eventCount: count), runs { run() }
    return acceptance
  }

  @discardableResult
  private mutating func accept(_ events: EventTally, _ bytes: Int) -> LayerSchedule.Acceptance {
    let acceptance = schedule.accept(events) { bytes }
    switch acceptance {
    case .freeze: freeze(bytes)
    case .checkpoint: schedule.keptCheckpoint(changedByteCount: 0, replacedByteCount: 0)
    case .nothing: break
    }
    return acceptance
  }

  private mutating func freeze(_ bytes: Int = 0) {
    schedule.froze(through: eventCount, changedByteCount: bytes)
    frozen += Self.files([(frozenCount, eventCount)])
    frozenCount = eventCount
  }

  /// Does what is due.
  @discardableResult
  mutating func run(freezes: Bool = true) -> [LayerSchedule.Work] {
    var done: [LayerSchedule.Work] = []
    while done.last != .finish {
      let work = schedule.next(files, logByteCount: logByteCount, canFreeze: done.last != .freeze)
      done.append(work)
      if work == .freeze, freezes, schedule.isFreezeDue { freeze() }
      perform(work)
    }
    return done
  }

  mutating func perform(_ work: LayerSchedule.Work) {
    switch work {
    case .write:
      attemptCount += 1
      if failsToWrite { return schedule.failed() }
      let file = frozen.removeFirst()
      files.append(file)
      writtenEventCount += file.eventCount
      schedule.wrote(file.name.to)
    case .merge(let run):
      if failsToMerge { return schedule.failedToMerge() }
      let merged = Self.files([(files[run.lowerBound].start, files[run.upperBound - 1].name.to)])
      writtenEventCount += merged[0].eventCount
      files.replaceSubrange(run, with: merged)
      schedule.merged()
    case .repair(let index): schedule.repaired(files[index].name)
    case .request, .freeze, .finish: break
    }
  }
}
