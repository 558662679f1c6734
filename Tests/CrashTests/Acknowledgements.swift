import Journaling
import LogbookModel

/// The acknowledgements of several writers, each of which commits turn after turn, to be compared with a journal that
/// was cut off.
struct Acknowledgements: Sendable {
  struct Turn: Hashable, Sendable {
    var writer: Int
    var turn: Int
  }

  /// What was acknowledged, by revision.
  private(set) var turns: [Revision: Turn] = [:]
  /// The newest entry that was found after the last cut. Nothing up to it may ever change.
  private(set) var found: Head?

  mutating func note(_ revision: Revision, writer: Int, turn: Int) {
    turns[revision] = Turn(writer: writer, turn: turn)
  }

  /// What is wrong with the journal, or nil. It must have every acknowledged commit at its revision. Every commit in it
  /// must have been begun by a writer.
  mutating func problem(with journal: Journal<Logbook>) throws -> String? {
    let newest = turns.keys.max() ?? 0
    let head = journal.head
    guard head.revision >= newest else {
      return "commit \(newest) was acknowledged, and the newest one is \(head.revision)"
    }
    let before = found?.revision ?? 0
    guard head.revision >= before else { return "\(before) commits were found before, now \(head.revision)" }
    if let found, before > 0, try journal.entry(at: before).digest != found.digest {
      return "commit \(before) was found before and has changed"
    }
    if let problem = try problem(with: journal, after: before) { return problem }
    if let problem = try journal.problem() { return problem }
    turns = [:]
    found = head
    return nil
  }

  private func problem(with journal: Journal<Logbook>, after before: Revision) throws -> String? {
    guard before < journal.head.revision else { return nil }
    var last: [Int: Int] = [:]
    var unacknowledged: [Int: Revision] = [:]
    let cursor = journal.entries(before + 1...journal.head.revision)
    var revision = before
    while let entry = try cursor.next() {
      revision += 1
      guard entry.revision == revision else { return "after \(revision - 1) comes \(entry.revision)" }
      guard let writer = Int(entry.author), let turn = Int(entry.note) else {
        return "commit \(revision) is by \"\(entry.author)\", who is no writer"
      }
      if let previous = last[writer], turn != previous + 1 {
        return "writer \(writer)'s turn \(turn) comes after \(previous), at \(revision)"
      }
      last[writer] = turn
      if let told = turns[revision] {
        guard told == Turn(writer: writer, turn: turn) else {
          return "commit \(revision) is turn \(turn) of \(writer), but the acknowledgement was for \(told)"
        }
        if let other = unacknowledged[writer] {
          return "writer \(writer) continued after \(other), which was never acknowledged"
        }
      } else {
        unacknowledged[writer] = revision
      }
    }
    return revision == journal.head.revision ? nil : "\(revision) of \(journal.head.revision) are readable"
  }
}
