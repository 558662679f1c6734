import CatalogModel

final class ImportReport {
  /// The number of messages to print. Further messages are only counted.
  static let lineLimit = 100
  private let terminal: Terminal
  private(set) var commits = 0
  private(set) var entries = 0
  private(set) var events = 0
  private(set) var images = 0
  private(set) var notes = 0
  /// The number of notes about something that was not imported.
  private(set) var losses = 0
  private var pending: [(commit: String, message: String, isLoss: Bool)] = []

  init(_ terminal: Terminal) { self.terminal = terminal }

  func restart(commits: Int) {
    self.commits = commits
    pending = []
  }

  func finish(_ commit: String) {
    commits += 1
    for note in pending where note.commit == commit {
      if note.isLoss { losses += 1 }
      print(note.commit, note.message)
    }
    pending.removeAll { $0.commit == commit }
  }

  /// Records a part of a commit that was not imported, or a conflict. If the commit is applied again, its repeated
  /// notes are ignored.
  func note(_ commit: String, _ message: String, isLoss: Bool = true) {
    if pending.contains(where: { $0 == (commit, message, isLoss) }) { return }
    pending.append((commit, message, isLoss))
  }

  private func print(_ commit: String, _ message: String) {
    notes += 1
    if notes <= Self.lineLimit {
      terminal.warn("commit \(commit.prefix(12)): \(message.printable)")
    } else if notes == Self.lineLimit + 1 {
      terminal.warn("further messages are only counted")
    }
  }

  func count(_ entities: some Collection<EntityKey>) {
    entries += 1
    events += entities.count
    images += entities.count { $0.kind == .image }
  }
}
