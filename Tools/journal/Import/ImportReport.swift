import CatalogModel

/// Says what an import could not take, and counts what it did.
final class ImportReport {
  /// More than these are counted and not printed.
  private static let lineLimit = 100
  private let terminal: Terminal
  private(set) var commits = 0
  private(set) var entries = 0
  private(set) var events = 0
  private(set) var images = 0
  private(set) var notes = 0

  init(_ terminal: Terminal) { self.terminal = terminal }

  /// A commit is done with.
  func countCommit() { commits += 1 }

  /// Something of a commit was not imported.
  func note(_ commit: String, _ message: String) {
    notes += 1
    if notes <= Self.lineLimit {
      terminal.warn("commit \(commit.prefix(12)): \(message.printable)")
    } else if notes == Self.lineLimit + 1 {
      terminal.warn("there is more of this kind, which is only counted")
    }
  }

  /// An entry was made of the events of these entities.
  func count(_ entities: some Collection<EntityKey>) {
    entries += 1
    events += entities.count
    images += entities.count { $0.kind == .image }
  }
}
