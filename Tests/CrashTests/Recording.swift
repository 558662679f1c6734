import Files
import Foundation
import Journaling
import LevelDB
import LogbookModel

/// The recording of a scenario that ran to its end, and what is needed to judge the states that a crash may leave.
struct Recording: Sendable {
  var trace: Trace
  var oracle: Oracle
  /// With which it ran, and states are opened.
  let layers: LayerPolicy
  /// Where it ran.
  let root: String
  /// Where states are built.
  let workplace: String

  /// Opens each state and notes what is wrong with it.
  func check(_ states: [PossibleState], _ findings: Findings) {
    forEachConcurrently(states, named: \.name) { index, possible in
      let state = CrashState(possible)
      let folder = "\(workplace)/\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      do {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try state.build(in: folder)
      } catch {
        findings.note("\(state.name): the state can't be built: \(error)")
        return
      }
      if let problem = problem(of: state, in: folder, goesOn: index % 4 == 0) {
        findings.note("\(state.name): \(problem)")
      }
    }
  }

  private func problem(of state: CrashState, in folder: String, goesOn: Bool) -> String? {
    let url = URL(fileURLWithPath: folder).appendingPathComponent(journalName)
    if !state.isCreated, !FileManager.default.fileExists(atPath: url.path) { return nil }
    return oracle.problem(
      url, acknowledged: state.acknowledged, options: Scenario.options(layers: layers), goesOn: goesOn)
  }

  /// Records what opening a state, a commit and closing do to a disk on which the state is durable.
  func recovery(from state: CrashState, _ findings: Findings) -> (Recording, SimulatedDisk)? {
    let folder = "\(workplace)/\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let recorder = Recorder()
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try state.build(in: folder)
      let url = URL(fileURLWithPath: folder).appendingPathComponent(journalName)
      let journal = try Journal<Logbook>.open(
        at: url, options: Scenario.options(recorder.hook, layers: layers))
      let found = journal.head.revision
      // Entries that were visible after the recovery must stay.
      recorder.acknowledge(found)
      let commit = try journal.commit(note: "recovered") { try $0.write(1000, "recovered") }
      recorder.acknowledge(commit.revision)
      try journal.takeSnapshot()
      let oracle = Oracle(
        digests: oracle.digests.prefix(found) + [journal.head.digest],
        notes: oracle.notes.prefix(found) + [["recovered"]])
      try journal.close()
      let recording = Recording(
        trace: recorder.trace, oracle: oracle, layers: layers, root: folder, workplace: workplace)
      return (recording, SimulatedDisk(root: folder, state: state))
    } catch {
      findings.note("\(state.name): an error: \(error)")
      return nil
    }
  }

  mutating func leaveOut(_ isLeftOut: (FileOperation) -> Bool) {
    // They stay in the trace as operations that do nothing, so that all positions stay right.
    for index in trace.operations.indices where isLeftOut(trace.operations[index]) {
      trace.operations[index] = FileOperation(.remove, path: root + "/nothing")
    }
  }
}

private let journalName = "Log.journal"

/// Runs the scenario once, recorded.
func withRecording(layers: LayerPolicy = .many, _ body: (Recording) throws -> Void) throws {
  try withFolderInMemory { folder in
    let root = folder + "/live"
    let workplace = folder + "/states"
    for path in [root, workplace] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    let recorder = Recorder()
    let url = URL(fileURLWithPath: root).appendingPathComponent(journalName)
    let scenario = Scenario(url, hook: recorder.hook, recorder: recorder, layers: layers)
    try scenario.run()
    if let failure = scenario.failure { throw failure }
    let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
    var oracle = Oracle(digests: [], notes: scenario.notes)
    let cursor = journal.entries()
    while let entry = try cursor.next() { oracle.digests.append(entry.digest) }
    try journal.close()
    try body(
      Recording(
        trace: recorder.trace, oracle: oracle, layers: layers, root: root, workplace: workplace))
  }
}
