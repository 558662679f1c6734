import Files
import Foundation
import Journaling
import LevelDB
import LogbookModel
import Synchronization
import TestSupport
import Testing

extension Battery {
  /// Makes each file operation fail in turn while a small journal is used in every way (`Scenario`).
  @Suite struct FaultTests {
    @Test func ifAnyOperationFailsNothingAcknowledgedIsLostAndReadingContinues() throws {
      try withFolderInMemory { folder in
        let recorder = Recorder()
        let url = URL(fileURLWithPath: "\(folder)/Whole.journal")
        try Scenario(url, hook: recorder.hook).run()
        let operations = recorder.trace.operations
        var cases: [Fault] = []
        var random = SeededGenerator()
        let phase = Int.random(in: 0...1, using: &random)
        for index in operations.indices {
          for kind in Fault.Kind.allCases where kind.isFor(operations[index]) {
            // By default, one of the two, alternating from operation to operation.
            for lasts in [false, true] where Battery.isLong || lasts == (index % 2 == phase) {
              cases.append(Fault(index: index, kind: kind, lasts: lasts))
            }
          }
        }
        let findings = Findings()
        let hits = Atomic<Int>(0)
        forEachConcurrently(cases, named: \.description) { number, fault in
          let url = URL(fileURLWithPath: "\(folder)/\(number).journal")
          var fault = fault
          // The order of threads differs from run to run, so there may be fewer operations.
          for _ in 0..<3 {
            defer { try? FileManager.default.removeItem(at: url) }
            let injector = Injector(fault)
            do {
              let problem = try problem(with: fault, injector, url)
              if let problem { findings.note("\(fault): \(problem)") }
            } catch {
              findings.note("\(fault): an error: \(error)")
            }
            if injector.wasHit {
              hits.add(1, ordering: .relaxed)
              break
            }
            fault.index %= max(injector.operationCount, 1)
          }
        }
        print("faults: \(hits.load(ordering: .relaxed)) of \(cases.count), \(operations.count) operations")
        findings.report()
        #expect(hits.load(ordering: .relaxed) > cases.count * 9 / 10)
      }
    }

    /// Runs the scenario with one fault, and returns what was wrong.
    private func problem(with fault: Fault, _ injector: Injector, _ url: URL) throws -> String? {
      let scenario = Scenario(url, hook: injector.hook)
      var reading: String?
      try scenario.run(afterFailure: { journal in
        reading = try problemReading(journal, acknowledged: scenario.acknowledged)
      })
      if let reading { return "reading after the failure: \(reading)" }
      let wrong = scenario.commitFailures.subtracting([.outcomeUnknown, .poisoned])
      guard wrong.isEmpty else { return "a commit threw \(wrong)" }
      let strange = scenario.snapshotFailures.subtracting([.io, .outcomeUnknown, .poisoned, .notFound])
      guard strange.isEmpty else { return "a snapshot threw \(strange)" }
      if injector.hitsSnapshotsOnly, let failure = scenario.failure {
        return "a fault of a layer or snapshot made something else fail: \(failure)"
      }

      guard FileManager.default.fileExists(atPath: url.path) else {
        return scenario.acknowledged == 0 ? nil : "the journal is gone"
      }
      if scenario.failure == nil, scenario.acknowledged < scenario.notes.count {
        return "a commit did not return"
      }
      let oracle = Oracle(notes: scenario.notes)
      return oracle.problem(
        url, acknowledged: scenario.acknowledged, options: Scenario.options(), goesOn: true)
    }

    /// Checks that everything acknowledged can be read from the journal that failed, while it is still open.
    private func problemReading(_ journal: Journal<Logbook>, acknowledged: Revision) throws -> String? {
      guard journal.head.revision >= acknowledged else { return "the newest entry is not acknowledged" }
      guard acknowledged > 0 else { return nil }
      let cursor = journal.entries(1...acknowledged)
      var count = 0
      while try cursor.next() != nil { count += 1 }
      guard count == acknowledged else { return "\(count) of \(acknowledged) entries" }
      return journal.state.pages[1] == nil ? "the state lacks what was acknowledged first" : nil
    }
  }
}

/// What goes wrong, and when.
private struct Fault: Sendable, CustomStringConvertible {
  enum Kind: String, CaseIterable, Sendable {
    case io
    case noSpace
    /// Half of the bytes are written, and the call succeeds. The rest can be written afterwards.
    case short
    /// Half of the bytes are written, and the rest fails because the disk is full.
    case shortThenNoSpace

    func isFor(_ operation: FileOperation) -> Bool {
      switch self {
      case .io, .noSpace: true
      case .short, .shortThenNoSpace: operation.kind == .write && operation.bytes.count > 1
      }
    }
  }

  var index: Int
  var kind: Kind
  /// Whether all later operations fail as well.
  var lasts: Bool

  var description: String { "\(kind) \(lasts ? "from operation \(index) on" : "at operation \(index)")" }
}

extension FileOperation {
  /// Whether it is an operation on the file of a layer or snapshot.
  fileprivate var isOfSnapshots: Bool {
    path.contains("/snapshots/") || (kind == .syncFolder && path.hasSuffix("/snapshots"))
  }
}

/// A hook that makes operations fail.
private final class Injector: Sendable {
  private let fault: Fault
  private let count = Atomic<Int>(0)
  private let isFull = Atomic<Bool>(false)
  /// How many operations were made to fail, and how many of them were on files of layers and snapshots.
  private let failures = Atomic<Int>(0)
  private let snapshotFailures = Atomic<Int>(0)

  init(_ fault: Fault) { self.fault = fault }

  var operationCount: Int { count.load(ordering: .relaxed) }
  var wasHit: Bool { operationCount > fault.index }

  /// Whether only operations on files of layers and snapshots failed.
  var hitsSnapshotsOnly: Bool {
    let count = failures.load(ordering: .relaxed)
    return count > 0 && count == snapshotFailures.load(ordering: .relaxed)
  }

  var hook: FileHook {
    { [self] operation in
      let verdict = verdict(operation)
      if case .proceed = verdict { return verdict }
      failures.add(1, ordering: .relaxed)
      if operation.isOfSnapshots { snapshotFailures.add(1, ordering: .relaxed) }
      return verdict
    }
  }

  private func verdict(_ operation: FileOperation) -> FileVerdict {
    let index = count.add(1, ordering: .relaxed).oldValue
    if isFull.load(ordering: .relaxed) {
      if !fault.lasts { isFull.store(false, ordering: .relaxed) }
      return .fail(ENOSPC)
    }
    guard index == fault.index || (fault.lasts && index > fault.index) else { return .proceed }
    switch fault.kind {
    case .io: return .fail(EIO)
    case .noSpace: return .fail(ENOSPC)
    case .short: return operation.bytes.count > 1 ? .short(operation.bytes.count / 2) : .proceed
    case .shortThenNoSpace:
      guard operation.bytes.count > 1 else { return .proceed }
      isFull.store(true, ordering: .relaxed)
      return .short(operation.bytes.count / 2)
    }
  }
}
