import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport

/// Judges a recovered journal by the commits that were made and acknowledged before.
///
/// The journal must have a prefix of the commits, in order, with the same digests and with every acknowledged one. Its
/// state must be the one that these commits make, whatever backs it. Every recorded layer and snapshot must be whole,
/// and the journal must take further commits.
struct Oracle: Sendable {
  /// The digests of the commits in their order, as far as they are known.
  var digests: [ContentDigest] = []
  /// The notes that each commit may have: one if its outcome and its order are known.
  var notes: [Set<String>] = []

  /// What is wrong with the journal, or nil.
  /// - Parameters:
  ///   - acknowledged: the newest revision whose commit had returned.
  ///   - goesOn: whether to commit to the journal, close it and open it again as well.
  func problem(
    _ url: URL, acknowledged: Revision, options: JournalOptions = JournalOptions(), goesOn: Bool
  ) -> String? {
    do {
      let journal = try Journal<Logbook>.open(at: url, options: options)
      defer { try? journal.close() }
      if let problem = try problem(journal, acknowledged: acknowledged) { return problem }
      guard goesOn else { return nil }
      let commit = try journal.commit(note: "after the crash") { try $0.write(1000, "\($0.revision)") }
      try journal.takeSnapshot()
      try journal.close()
      let again = try Journal<Logbook>.open(at: url, mode: .readOnly, options: options)
      defer { try? again.close() }
      guard again.head.revision == commit.revision else {
        return
          "a commit after the recovery gave \(commit.revision), and then there were \(again.head.revision)"
      }
      if let problem = try strays(in: again) { return problem }
      return try again.problem()
    } catch {
      return "an error: \(error)"
    }
  }

  /// The same for a journal that is open.
  func problem(_ journal: Journal<Logbook>, acknowledged: Revision) throws -> String? {
    let head = journal.head
    guard head.revision >= acknowledged else {
      return "commit \(acknowledged) was acknowledged, and the newest one is \(head.revision)"
    }
    guard head.revision <= notes.count else {
      return "\(notes.count) commits were tried, and there are \(head.revision)"
    }
    let cursor = journal.entries()
    var revision = 0
    while let entry = try cursor.next() {
      revision += 1
      guard entry.revision == revision else { return "after \(revision - 1) comes \(entry.revision)" }
      guard notes[revision - 1].contains(entry.note) else {
        return "commit \(revision) says \"\(entry.note)\", not \(notes[revision - 1])"
      }
      if revision <= digests.count, entry.digest != digests[revision - 1] {
        return "commit \(revision) is altered"
      }
    }
    guard revision == head.revision else { return "\(revision) entries of \(head.revision) are readable" }
    return try journal.problem()
  }

  /// What is wrong in the folder of layers and snapshots. Taking a snapshot must have removed unfinished files from a
  /// crash.
  private func strays(in journal: Journal<Logbook>) throws -> String? {
    let path = journal.url.appendingPathComponent("snapshots").path
    let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    let known = try journal.snapshotFileNames()
    return names == known ? nil : "the layers and snapshots are \(known), and their folder has \(names)"
  }
}

extension Journal where State == Logbook {
  /// Checks the entries, the state and every recorded layer and snapshot, none of which a crash may damage.
  /// - Returns: the first problem, or nil.
  func problem() throws -> String? {
    let verification = try verify(.deep)
    guard verification.isSound else { return "verify: \(verification.problems)" }
    guard verification.head == head else { return "verify ends at \(verification.checkedRevision)" }
    // A layer or snapshot that could not be written because the disk is full is not damage.
    let damage = health.layerProblems.filter { $0.code == .damaged }
    guard damage.isEmpty else { return "snapshots: \(damage)" }
    let replayed = try version(replayedTo: .revision(head.revision))
    guard replayed.head == head, StateDigest.digest(of: replayed.state) == StateDigest.digest(of: state)
    else {
      return "the state is not what the entries make"
    }
    return nil
  }
}
