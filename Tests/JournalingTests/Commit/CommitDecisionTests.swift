import Dispatch
import Foundation
import SHA256
import Testing

@testable import Journaling
@testable import SharedJournals

/// The values that decide about commits, without a journal, a thread or a lock.
@Suite struct CommitDecisionTests {
  private static let digest = SHA256Hash.digest([])

  private func entry(_ revision: Revision, byteCount: Int = 10) -> SealedEntry {
    SealedEntry(
      revision: revision, bytes: [UInt8](repeating: 0, count: byteCount), digest: Self.digest)
  }

  private func failure(_ failure: AppendFailure, isShared: Bool = false) -> CommitFailure {
    CommitFailure(failure, first: 7, isShared: isShared)
  }

  // MARK: Failures

  private typealias Row = (
    failure: AppendFailure, isShared: Bool, own: JournalError.Code, later: JournalError.Code,
    CommitFailure.Consequence
  )

  @Test func aFailedAppendSaysWhatBecomesOfItsCommitsAndOfThoseThatBuildOnThem() {
    func error(_ code: JournalError.Code) -> JournalError { JournalError(code, "why") }
    let rows: [Row] = [
      (.refused(error(.outOfResources)), false, .outOfResources, .outOfResources, .commitsContinue),
      (.refused(error(.io)), false, .poisoned, .poisoned, .noMoreCommits),
      (.unknown(error(.io)), false, .outcomeUnknown, .poisoned, .noMoreCommits),
      (.unknown(error(.unreachable)), false, .outcomeUnknown, .poisoned, .noMoreCommits),
      (.conflict(newest: 9), false, .conflict, .poisoned, .noMoreCommits),
      (.refused(error(.outOfResources)), true, .outOfResources, .outOfResources, .commitsContinue),
      (.refused(error(.io)), true, .io, .io, .commitsContinue),
      (.refused(error(.unreachable)), true, .unreachable, .unreachable, .commitsContinue),
      (.refused(error(.poisoned)), true, .poisoned, .poisoned, .noMoreCommits),
      (.unknown(error(.unreachable)), true, .outcomeUnknown, .unreachable, .commitsContinue),
      (.unknown(error(.diverged)), true, .outcomeUnknown, .diverged, .commitsContinue),
      (.unknown(error(.poisoned)), true, .outcomeUnknown, .poisoned, .noMoreCommits),
      (.conflict(newest: 9), true, .conflict, .conflict, .bodiesRunAgain),
    ]
    for (cause, isShared, own, later, consequence) in rows {
      let found = failure(cause, isShared: isShared)
      #expect(found.error.code == own && found.later.code == later, "\(cause), \(isShared)")
      #expect(found.consequence == consequence, "\(cause), \(isShared)")
      // Only the commits of the batch itself may be stored.
      if own == .outcomeUnknown { #expect(found.error.ofCommit(8).revision == 8) }
      #expect(found.ofLaterBatch.error.code == later)
    }
  }

  /// The error used to name only the time limit.
  @Test func anUnconfirmedCommitSaysWhyTheServerWaitsAndWhatToDo() {
    let unreachable = AppendFailure.unknown(JournalError(.unreachable, "no answer")).adding(
      "no standby is there")
    let found = failure(unreachable, isShared: true)
    #expect("\(found.error)".contains("no standby is there") && found.error.revision == 7)
    #expect(found.error.message.contains("journal join fetches it if it is there"))
    #expect(found.later.message == "no answer; no standby is there")
    #expect(AppendFailure.refused(JournalError(.io, "no")).adding("no standby").cause.message == "no")
  }

  // MARK: The queue

  private func enter(
    _ revision: Revision, _ queue: inout CommitQueue, byteCount: Int = 10, after withdrawalCount: Int = 0
  ) throws -> (CommitBatch, leads: Bool) {
    try queue.enter(
      entry(revision, byteCount: byteCount), eventCount: 1, blobs: [], after: withdrawalCount
    ) { _ in }
  }

  @Test func entriesJoinTheLastBatchUntilItIsTaken() throws {
    var queue = CommitQueue(LogLimits(appendByteCount: 1000, spareByteCount: 0))
    #expect(queue.isEmpty && queue.firstRevision == nil)
    let (first, leads) = try enter(1, &queue)
    let (same, follows) = try enter(2, &queue)
    #expect(leads && same === first && !follows && queue.firstBatch === first && queue.firstRevision == 1)
    let (work, next) = queue.takeFirst()
    #expect(work.batch === first && work.entries.map(\.revision) == [1, 2])
    #expect(work.eventCount == 2 && work.byteCount == 20 && queue.isEmpty)
    // Group commit: what arrives during the flush is in the next batch.
    let (second, leadsNext) = try enter(3, &queue)
    #expect(second === next && leadsNext && queue.firstRevision == 3)
    for batch in [first, second] { batch.finish(nil) }
  }

  @Test func aBatchHasNoMoreBytesThanAnAppendUnlessItIsOneEntry() throws {
    var queue = CommitQueue(LogLimits(appendByteCount: 1000, spareByteCount: 0))
    var batches: [CommitBatch] = []
    for (revision, byteCount) in [(1, 600), (2, 400), (3, 1), (4, 2000), (5, 1)] {
      let (batch, leads) = try enter(revision, &queue, byteCount: byteCount)
      if leads { batches.append(batch) }
    }
    var taken: [[Revision]] = []
    while !queue.isEmpty {
      let (work, next) = queue.takeFirst()
      taken.append(work.entries.map(\.revision))
      #expect(work.batch === batches[taken.count - 1])
      if taken.count < batches.count { #expect(next === batches[taken.count]) }
    }
    #expect(taken == [[1, 2], [3], [4], [5]])
    for batch in batches { batch.finish(nil) }
  }

  @Test func afterALostRevisionTheReservedBatchMayBeAsLargeAsAnAppend() throws {
    var queue = CommitQueue(LogLimits(appendByteCount: 64 << 20, spareByteCount: 0))
    func enterTwo(_ count: Int) throws -> [CommitBatch] {
      try (1...2).map { try enter($0, &queue, byteCount: 9 << 20, after: count).0 }
    }
    let usual = try enterTwo(0)
    #expect(usual[0] !== usual[1])
    var lost = failure(.conflict(newest: 2), isShared: true)
    lost.isTurnReserved = true
    _ = queue.withdraw(because: lost)
    let reserved = try enterTwo(1)
    #expect(reserved[0] === reserved[1])
    _ = queue.takeFirst()
    let later = try enterTwo(1)
    #expect(later[0] !== later[1])
    for batch in usual + [reserved[0]] + later { batch.finish(nil) }
  }

  @Test func afterAFailureWhatWasAcceptedSinceIsWithdrawn() throws {
    for cause in [AppendFailure.refused(JournalError(.outOfResources, "")), .unknown(JournalError(.io, ""))] {
      var queue = CommitQueue(LogLimits(appendByteCount: 1000, spareByteCount: 0))
      let (first, _) = try enter(1, &queue)
      _ = queue.takeFirst()
      let (second, _) = try enter(2, &queue, byteCount: 900)
      let (third, _) = try enter(3, &queue, byteCount: 900)
      let failure = failure(cause)
      let withdrawal = queue.withdraw(because: failure)
      #expect(withdrawal.batches.count == 2 && withdrawal.entryCount == 2)
      #expect(withdrawal.batches[0] === second && withdrawal.batches[1] === third)
      #expect(queue.isEmpty && queue.withdrawalCount == 1 && queue.firstBatch === withdrawal.next)
      let isFinal = failure.consequence == .noMoreCommits
      #expect(withdrawal.endsCommits == isFinal && queue.refusal?.code == (isFinal ? .poisoned : nil))
      // A body that ran meanwhile has seen entries that are withdrawn.
      let stale = #expect(throws: JournalError.self) { try enter(4, &queue) }
      #expect(stale?.code == (isFinal ? .poisoned : .outOfResources))
      if !isFinal {
        let (batch, leads) = try enter(2, &queue, after: 1)
        #expect(leads && batch === withdrawal.next)
        batch.finish(nil)
      }
      let again = queue.withdraw(because: failure)
      #expect(!again.endsCommits)
      for batch in [first, second, third] { batch.finish(nil) }
    }
  }

  @Test func closingRefusesCommitsAndKeepsWhatWasAccepted() throws {
    var queue = CommitQueue(LogLimits(appendByteCount: 1000, spareByteCount: 0))
    let (batch, _) = try enter(1, &queue)
    queue.refuse(.closed())
    let error = #expect(throws: JournalError.self) { try enter(2, &queue) }
    let work = queue.takeFirst().0
    #expect(error?.code == .closed && work.entries.map(\.revision) == [1])
    batch.finish(nil)
    // A failure of these says more.
    let withdrawal = queue.withdraw(because: failure(.refused(JournalError(.io, ""))))
    #expect(withdrawal.endsCommits)
    queue.refuse(.closed())
    #expect(queue.refusal?.code == .poisoned)
  }

  // MARK: A caller

  private func prepared(_ revision: Revision?, in batch: CommitBatch?, fails: Bool = false) -> PreparedCommit
  {
    let commit = Commit<Void>(
      value: (), revision: revision ?? 0, isEmpty: revision == nil, date: .now, clockDate: .now,
      clockWarning: nil)
    return PreparedCommit(
      outcome: fails ? .failure(CancellationError()) : .success(commit), batch: batch, withdrawalCount: 3)
  }

  /// What a step is, in a word.
  private func name(_ step: CommitProgress.Step, _ batches: [CommitBatch] = []) -> String {
    switch step {
    case .run: "run"
    case .wait(let batch): "wait \(batches.firstIndex { $0 === batch } ?? -1)"
    case .end(let prepared): "end \(prepared.ownRevision ?? 0)"
    }
  }

  private func error(of body: () throws -> CommitProgress.Step) -> JournalError? {
    do { _ = try body() } catch { return error as? JournalError }
    return nil
  }

  @Test func aCallerRunsWaitsAndReturns() throws {
    let batch = CommitBatch()
    for revision in [7, nil] {
      var caller = CommitProgress(isPipeline: false)
      #expect(name(try caller.begin(runsOnce: false)) == "run")
      #expect(name(caller.ran(prepared(revision, in: batch)), [batch]) == "wait 0")
      #expect(name(try caller.ended(nil)) == "end \(revision ?? 0)" && !caller.hasLost)
    }
    // What the body saw is durable already.
    var caller = CommitProgress(isPipeline: false)
    _ = try caller.begin(runsOnce: false)
    #expect(name(caller.ran(prepared(nil, in: nil, fails: true))) == "end 0")
    #expect(error { try caller.refused(because: JournalError.poisoned(nil)) }?.code == .poisoned)
  }

  /// The entry itself may be stored. Of a commit that has only seen it, nothing was written.
  @Test func ifABatchFailsItsCommitsAndThoseThatSawItHaveTheirOwnErrors() throws {
    let unknown = failure(.unknown(JournalError(.io, "who knows")))
    for (revision, code) in [(8, JournalError.Code.outcomeUnknown), (nil, .poisoned)] {
      var caller = CommitProgress(isPipeline: false)
      _ = try caller.begin(runsOnce: false)
      _ = caller.ran(prepared(revision, in: CommitBatch()))
      let found = error { try caller.ended(unknown) }
      #expect(found?.code == code && found?.revision == revision)
    }
  }

  @Test(arguments: [false, true]) func aBodyThatHasLostRunsEightTimesAtMost(_ runsOnce: Bool) throws {
    let lost = failure(.conflict(newest: 9), isShared: true)
    var caller = CommitProgress(isPipeline: false)
    _ = try caller.begin(runsOnce: runsOnce)
    var count = 1
    while true {
      _ = caller.ran(prepared(7, in: CommitBatch()))
      let step: CommitProgress.Step
      do { step = try caller.ended(lost) } catch let error as JournalError {
        #expect(error.code == .conflict && error.revision == 9 && error.message.contains("nothing"))
        break
      }
      // The body runs again, and the value is told so.
      #expect(name(step) == "run" && caller.hasLost)
      caller.hasLost = false
      count += 1
    }
    #expect(count == (runsOnce ? 1 : 8) && caller.hasLost)
    // One without an entry runs again, and the reserved turn does not wait for it.
    _ = try caller.begin(runsOnce: false)
    caller.hasLost = false
    _ = caller.ran(prepared(nil, in: CommitBatch()))
    #expect(name(try caller.ended(lost)) == "run" && !caller.hasLost)
  }

  @Test func aPipelineReturnsEarlyAndWaitsWhileMoreThanTwoBatchesAreOutstanding() throws {
    let batches = (0..<4).map { _ in CommitBatch() }
    var caller = CommitProgress(isPipeline: true)
    for (revision, batch) in [(1, 0), (2, 0), (3, 1), (4, 2)] {
      #expect(name(try caller.begin(runsOnce: false)) == "run")
      #expect(name(caller.ran(prepared(revision, in: batches[batch]))) == "end \(revision)")
    }
    #expect(caller.withdrawalCount == 3)
    #expect(name(try caller.begin(runsOnce: false), batches) == "wait 0")
    #expect(name(try caller.ended(nil)) == "run")
    // A body that fails waits for what it saw. Then the pipeline takes further commits.
    #expect(name(caller.ran(prepared(nil, in: batches[3], fails: true)), batches) == "wait 3")
    #expect(name(try caller.ended(nil)) == "end 0")
    #expect(name(try caller.finish(), batches) == "wait 1")
    #expect(name(try caller.ended(nil), batches) == "wait 2")
    #expect(name(try caller.ended(nil)) == "run" && caller.withdrawalCount == nil)
  }

  @Test func aPipelineEndsAtItsFirstEntryThatIsNotStored() throws {
    let short = failure(.refused(JournalError(.outOfResources, "not now")))
    let batches = (0..<3).map { _ in CommitBatch() }
    var caller = CommitProgress(isPipeline: true)
    // The first batch has only entries of others, which its body has seen.
    for (revision, batch) in [(nil, 0), (5, 1), (6, 1), (7, 2)] {
      _ = try caller.begin(runsOnce: false)
      _ = caller.ran(prepared(revision, in: batches[batch]))
    }
    #expect(name(try caller.begin(runsOnce: false), batches) == "wait 0")
    #expect(name(try caller.ended(nil)) == "run")
    // The body finds that entries were withdrawn. Which, the batches say.
    let withdrawn = CommitProgress.EarlierCommitIsWithdrawn()
    #expect(name(try caller.refused(because: withdrawn), batches) == "wait 1")
    let first = error { try caller.ended(short) }
    #expect(first?.code == .outOfResources && first?.revision == 5)
    for _ in 1...2 { #expect(error { try caller.begin(runsOnce: false) }?.revision == 5) }
    #expect(error { try caller.finish() }?.revision == 5)
  }

  @Test func aPipelineWhoseEntriesAreStoredRunsAgainAfterAWithdrawalOfOthers() throws {
    let batch = CommitBatch()
    var caller = CommitProgress(isPipeline: true)
    _ = try caller.begin(runsOnce: false)
    _ = caller.ran(prepared(1, in: batch))
    _ = try caller.begin(runsOnce: false)
    _ = try caller.refused(because: CommitProgress.EarlierCommitIsWithdrawn())
    #expect(name(try caller.ended(nil)) == "run" && caller.withdrawalCount == nil)
    // After a failed write, the error of the pipeline's own entry says more than the refusal.
    _ = caller.ran(prepared(2, in: batch))
    _ = try caller.begin(runsOnce: false)
    #expect(name(try caller.refused(because: JournalError.poisoned(nil)), [batch]) == "wait 0")
    let unknown = error { try caller.ended(failure(.unknown(JournalError(.io, "")))) }
    #expect(unknown?.code == .outcomeUnknown && unknown?.revision == 2)
  }

  /// The body of the second commit runs while the append of the first fails.
  @Test func aPipelineWhoseEntryFailsDuringABodySaysSo() throws {
    let batch = CommitBatch()
    let unknown = failure(.unknown(JournalError(.io, "")))
    var caller = CommitProgress(isPipeline: true)
    _ = try caller.begin(runsOnce: false)
    _ = caller.ran(prepared(2, in: batch))
    _ = try caller.begin(runsOnce: false)
    #expect(name(caller.ran(prepared(nil, in: batch, fails: true)), [batch]) == "wait 0")
    #expect(name(try caller.ended(unknown), [batch]) == "wait 0")
    let found = error { try caller.ended(unknown) }
    #expect(found?.code == .outcomeUnknown && found?.revision == 2)
  }

  // MARK: The turn at a shared log

  @Test func theTurnIsReservedWhileNodesCompete() {
    var turn = AppendTurn()
    let now = DispatchTime.now()
    func begin(_ canRunAgain: Bool = true) -> AppendTurn.Step { turn.begin(canRunAgain: canRunAgain) }
    func loses(_ first: Revision, to newest: Revision) -> Bool { turn.loses(first, to: newest) }
    func isReleased(_ isQueueEmpty: Bool) -> Bool { turn.hasRunAgain(isQueueEmpty: isQueueEmpty) }
    #expect(begin() == .append)
    turn.lost(2, isReserved: true, now: now)
    // The reserved append waits for both bodies.
    #expect(begin() == .awaitBodies(until: now + .seconds(4)) && !turn.bodiesHaveRun)
    #expect(!isReleased(false) && !turn.bodiesHaveRun)
    #expect(!isReleased(false) && turn.bodiesHaveRun)
    // The next one is reserved before it is sent, until no other node competes.
    #expect(begin(false) == .append)
    #expect(begin() == .reserve && loses(5, to: 5))
    turn.lost(1, isReserved: false, now: now)
    #expect(!isReleased(true))
    #expect(begin() == .reserve && !loses(6, to: 5))
    #expect(begin() == .append)
  }

  /// A turn that is not released would delay the other nodes.
  @Test func anUnusedTurnIsReleasedWhenTheLastBodyHasRun() {
    var turn = AppendTurn()
    func isReleased(_ isQueueEmpty: Bool) -> Bool { turn.hasRunAgain(isQueueEmpty: isQueueEmpty) }
    turn.lost(3, isReserved: true)
    #expect(!isReleased(true))
    #expect(!isReleased(false))
    #expect(isReleased(true))
    let next = turn.begin(canRunAgain: true)
    #expect(next == .reserve)
    // A batch that waits in the queue uses it.
    turn.lost(1, isReserved: true)
    #expect(!isReleased(false))
    let last = turn.begin(canRunAgain: true)
    #expect(last != .reserve)
  }
}
