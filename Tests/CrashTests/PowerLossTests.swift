import Files
import Foundation
import Journaling
import LevelDB
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Builds the states that a power loss may leave from the recorded file operations of a scenario, and opens each.
  /// `CrashStates` says which states are built, `Scenario` what the journal is used for.
  @Suite struct PowerLossTests {
    @Test(arguments: NameModel.allCases)
    func everythingAcknowledgedSurvivesAPowerLossAtAnyMoment(_ model: NameModel) throws {
      var random = SeededGenerator()
      let findings = Findings()
      var count = 0
      // Threads and salts make each recording a little different.
      for number in 1...Battery.size(1, long: 50) {
        try withRecording { recording in
          let next = SeededGenerator(seed: random.next())
          var enumeration = CrashStates(model, effort: Battery.size(3, long: 12), random: next)
          let states = enumeration.all(of: recording.trace, on: SimulatedDisk(root: recording.root))
          count += states.count
          recording.check(states, findings)
        }
        // A long run takes hours, and what it has done counts even if it is stopped.
        print("power loss, \(model): \(count) states of \(number) recordings, \(findings.all.count) findings")
      }
      #expect(count > 0)
      findings.report()
    }

    /// Merges then drop the past states of layers.
    @Test(arguments: NameModel.allCases)
    func everythingAcknowledgedSurvivesAPowerLossIfNoPastStatesAreKept(_ model: NameModel) throws {
      var random = SeededGenerator()
      try withRecording(layers: .manyWithoutPast) { recording in
        var enumeration = CrashStates(model, effort: Battery.size(3, long: 12), random: random)
        let states = enumeration.all(of: recording.trace, on: SimulatedDisk(root: recording.root))
          .shuffled(using: &random).prefix(Battery.size(1_000, long: .max))
        let findings = Findings()
        recording.check(Array(states), findings)
        print("power loss without past states, \(model): \(states.count) states")
        #expect(!states.isEmpty)
        findings.report()
      }
    }

    @Test(arguments: NameModel.allCases)
    func aSecondPowerLossDuringTheRecoveryLosesNothingEither(_ model: NameModel) throws {
      var random = SeededGenerator()
      try withRecording { recording in
        var enumeration = CrashStates(model, effort: 2, random: random)
        let firsts = enumeration.all(of: recording.trace, on: SimulatedDisk(root: recording.root))
          .filter(\.isCreated).shuffled(using: &random).prefix(Battery.size(6, long: 2000))
        let findings = Findings()
        var count = 0
        for first in firsts {
          guard let (second, disk) = recording.recovery(from: CrashState(first), findings) else { continue }
          var enumeration = CrashStates(model, effort: 1, random: random)
          let states = enumeration.all(
            of: second.trace, on: disk, acknowledged: first.acknowledged, isCreated: true)
          count += states.count
          second.check(states, findings)
        }
        print("second power loss, \(model): \(count) states of \(firsts.count) recoveries")
        #expect(count > 0)
        findings.report()
      }
    }

    // MARK: Controls

    @Test func withoutTheFlushOfTheLogCommitsAreFoundLost() throws {
      try expectFindings(.ordered, "was acknowledged") { operation in
        operation.kind == .sync && operation.path.hasSuffix(".log")
      }
    }

    @Test func withoutTheFlushOfTablesCommitsAreFoundLost() throws {
      try expectFindings(.ordered) { $0.kind == .sync && $0.path.hasSuffix(".ldb") }
    }

    @Test func withoutTheFlushOfBlobsTheyAreFoundAltered() throws {
      try expectFindings(.ordered, "image") { $0.kind == .sync && $0.path.contains("/images/") }
    }

    @Test func withoutTheFlushOfFoldersStrictNamesAreFoundLost() throws {
      try expectFindings(.strict) { $0.kind == .syncFolder && $0.path.hasSuffix("/entries") }
      try expectFindings(.strict, "image") { $0.kind == .syncFolder && $0.path.hasSuffix("/images") }
    }

    @Test func withoutTheFlushOfSnapshotsTheyAreFoundAltered() throws {
      try expectFindings(.ordered, "snapshot") { $0.kind == .sync && $0.path.contains("/snapshots/") }
    }

    @Test func withoutTheFlushOfTheirFolderSnapshotsAreFoundMissing() throws {
      try expectFindings(.strict, "the layer is missing", "the snapshot is missing") {
        $0.kind == .syncFolder && $0.path.hasSuffix("/snapshots")
      }
    }

    /// A merge removes the layers that it has merged. So only its flushes keep the layer that the next opening begins
    /// with.
    @Test func withoutTheFlushesOfAMergeItsLayerIsFoundAltered() throws {
      try expectFindings(.ordered, "snapshot") { $0.kind == .sync && isMerged($0.path) }
    }

    /// Whether a file under `snapshots/` belongs to a merged layer, which spans more events than a new one.
    private func isMerged(_ path: String) -> Bool {
      guard path.contains("/snapshots/"), let name = path.split(separator: "/").last else { return false }
      let revisions = name.prefix { $0.isNumber || $0 == "-" }.split(separator: "-").compactMap { Int($0) }
      return revisions.count == 2 && revisions[1] - revisions[0] >= 2 * LayerPolicy.many.eventCount
    }

    /// Removes some flushes from the trace, as if they had not been made, and expects that the tests notice.
    private func expectFindings(
      _ model: NameModel, _ parts: String..., without isLeftOut: (FileOperation) -> Bool
    ) throws {
      let random = SeededGenerator()
      try withRecording { recording in
        var recording = recording
        recording.leaveOut(isLeftOut)
        var enumeration = CrashStates(model, effort: 1, random: random)
        let states = enumeration.all(of: recording.trace, on: SimulatedDisk(root: recording.root))
        let findings = Findings()
        let sample = stride(from: 0, to: states.count, by: max(1, states.count / 400)).map { states[$0] }
        var isFound = false
        // Check a few states at a time, spread over the whole scenario, until a problem is found.
        for start in 0..<16 where !isFound {
          recording.check(stride(from: start, to: sample.count, by: 16).map { sample[$0] }, findings)
          isFound = findings.all.contains { finding in
            parts.isEmpty || parts.contains { finding.contains($0) }
          }
        }
        #expect(isFound, "the tests do not notice that flushes are missing")
      }
    }
  }
}
