import Journaling
import LevelDB
import LogbookModel
import TestSupport

/// Enumerates what a power loss may leave at every moment of a trace.
struct CrashStates {
  let model: NameModel
  /// How many of the pending changes are tried one by one at each moment.
  let effort: Int
  private var random: SeededGenerator
  private var seen: Set<Int> = []

  init(_ model: NameModel, effort: Int, random: SeededGenerator) {
    self.model = model
    self.effort = effort
    self.random = random
  }

  /// The states after each operation of a trace.
  /// - Parameter acknowledged: what was acknowledged before the trace began.
  mutating func all(
    of trace: Trace, on start: SimulatedDisk, acknowledged: Revision = 0, isCreated: Bool = false
  ) -> [PossibleState] {
    var disk = start
    var states: [PossibleState] = []
    for position in 0...trace.operations.count {
      if position > 0 { disk.apply(trace.operations[position - 1]) }
      let isCreated = isCreated || trace.creation.map { $0 <= position } ?? false
      let acknowledged = max(acknowledged, trace.acknowledged(after: position))
      let moment = "after \(position) of \(trace.operations.count) operations"
      states += self.states(of: disk, at: moment, asked: acknowledged, isCreated)
    }
    return states
  }

  private mutating func states(
    of disk: SimulatedDisk, at moment: String, asked acknowledged: Revision, _ isCreated: Bool
  ) -> [PossibleState] {
    var states: [PossibleState] = []
    for (index, names) in nameChoices(disk).enumerated() {
      // All names are combined with every outcome of the writes, every other outcome of names with only a few.
      let choices = writeChoices(disk)
      for (number, fates) in choices.enumerated() {
        guard index == 0 || number < 2 || random.chance(2, in: choices.count) else { continue }
        var hasher = Hasher()
        hasher.combine(acknowledged)
        hasher.combine(isCreated)
        disk.hash(names.names, fates.fates, into: &hasher)
        guard seen.insert(hasher.finalize()).inserted else { continue }
        states.append(
          PossibleState(
            disk: disk, names: names.names, fates: fates.fates, acknowledged: acknowledged,
            isCreated: isCreated, name: "\(model): names \(names.name), writes \(fates.name), \(moment)"))
      }
    }
    return states
  }

  // MARK: Names

  private mutating func nameChoices(_ disk: SimulatedDisk) -> [(name: String, names: SimulatedDisk.Names)] {
    switch model {
    case .ordered:
      let range = disk.orderedCount...disk.changes.count
      var counts = [range.upperBound, range.lowerBound]
      for _ in 0..<effort { counts.append(Int.random(in: range, using: &random)) }
      return counts.map { count in
        var names = disk.orderedNames
        for change in disk.changes[disk.orderedCount..<count] { names.apply(change) }
        return ("\(count - range.lowerBound) of \(range.count - 1)", names)
      }
    case .strict:
      let pending = disk.strictPending.flatMap { $0 }
      var choices: [(String, (Int) -> Bool)] = [("all", { _ in true }), ("none", { _ in false })]
      guard !pending.isEmpty else { return [("all", disk.strictNames)] }
      for one in pick(pending.count) {
        choices.append(("all but \(pending[one])", { $0 != one }))
        choices.append(("only \(pending[one])", { $0 == one }))
        let bits = random.next()
        choices.append(("of \(pending.count) by bits \(bits)", { bits >> UInt64($0 % 64) & 1 == 1 }))
      }
      return choices.map { name, keeps in
        var names = disk.strictNames
        for (index, change) in pending.enumerated() where keeps(index) { names.apply(change) }
        return (name, names)
      }
    }
  }

  // MARK: Writes

  private typealias Fates = [SimulatedDisk.WriteID: Fate]

  private mutating func writeChoices(_ disk: SimulatedDisk) -> [(name: String, fates: Fates)] {
    let writes = disk.pendingWrites
    func fates(_ fate: (Int) -> Fate) -> Fates {
      Fates(uniqueKeysWithValues: writes.indices.map { (writes[$0], fate($0)) })
    }
    var choices: [(String, Fates)] = [("all", [:]), ("none", fates { _ in .lost })]
    guard !writes.isEmpty else { return [("all", [:])] }
    choices.append(("zeroed", fates { _ in .zeroed }))
    let seed = random.next()
    choices.append(("shredded by \(seed)", fates { .shredded(seed &+ UInt64($0)) }))
    for one in pick(writes.count) {
      choices.append(("all but \(writes[one])", fates { $0 == one ? .lost : .kept }))
      choices.append(("only \(writes[one])", fates { $0 == one ? .kept : .lost }))
      choices.append(("zeroed at \(writes[one])", fates { $0 == one ? .zeroed : .kept }))
      let torn = tear(disk.nodes[writes[one].node].pending[writes[one].index])
      choices.append(("torn at \(writes[one])", fates { $0 < one ? .kept : $0 == one ? torn : .lost }))
      let seed = random.next()
      choices.append(("shredded at \(writes[one]) by \(seed)", fates { $0 == one ? .shredded(seed) : .kept }))
      var random = random
      choices.append(
        (
          "random",
          fates { _ in [.kept, .kept, .lost, .zeroed].randomElement(using: &random)! }
        ))
      self.random = random
    }
    return choices
  }

  /// Cuts a write at the end of a sector.
  private mutating func tear(_ write: SimulatedDisk.PendingWrite) -> Fate {
    let sector = 512
    let first = (write.offset / sector + 1) * sector - write.offset
    guard first < write.bytes.count else { return .lost }
    return .cut(first + sector * Int.random(in: 0...(write.bytes.count - first - 1) / sector, using: &random))
  }

  /// At most `effort` different numbers below `count`.
  private mutating func pick(_ count: Int) -> [Int] {
    if count <= effort { return Array(0..<count) }
    var picked: Set<Int> = []
    while picked.count < effort { picked.insert(Int.random(in: 0..<count, using: &random)) }
    return picked.sorted()
  }
}

extension SimulatedDisk {
  /// Hashes what distinguishes the state of these names and fates from others.
  fileprivate func hash(_ names: Names, _ fates: [WriteID: Fate], into hasher: inout Hasher) {
    var open = [0]
    while let folder = open.popLast() {
      for (name, id) in names[folder].sorted(by: { $0.key < $1.key }) {
        hasher.combine(name)
        hasher.combine(id)
        hasher.combine(nodes[id].flushes)
        for index in nodes[id].pending.indices {
          hasher.combine(fates[WriteID(node: id, index: index)] ?? .kept)
        }
        if nodes[id].isFolder { open.append(id) }
      }
    }
  }
}
