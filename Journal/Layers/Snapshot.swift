public import Foundation

/// A whole state, written on request as a keyed archive in one file. It stays until it is dropped.
public struct Snapshot: Sendable {
  /// The revision of the state.
  public let revision: Revision
  /// The URL of the file, which must not be changed. `NSKeyedUnarchiver`, `plutil` and Python's `plistlib` can read a
  /// copy of it, which describes its own contents.
  public let url: URL
  /// The size of its file.
  public let byteCount: Int
  /// How many entities are in it.
  public let entityCount: Int
  /// The name and version of the model that wrote it.
  public let schema: String
  /// The SHA-256 of the state in canonical form. A replay to the same revision must give the same one.
  public let stateDigest: ContentDigest
}

extension Journal {
  /// All snapshots, oldest first. Their files are not read; `verify` does that.
  /// - Throws: ``JournalError`` if their footers can't be read.
  public func snapshots() throws -> [Snapshot] {
    try settled { try chain.footers.all().filter { $0.name.from == nil }.compactMap(snapshot(of:)) }
  }

  /// How many snapshots are missing in ``snapshots()`` because their footers can't be read.
  package func unreadableSnapshotCount() throws -> Int {
    try settled { try chain.footers.all().count { $0.name.from == nil && $0.footer == nil } }
  }

  /// Writes a snapshot of the state at a point in time, and returns when it is durable. Commits continue in the
  /// meantime.
  ///
  /// A snapshot is for people and other programs, and stays until it is dropped. Opening is fast without it: see
  /// ``LayerPolicy``. If it is of the newest state, what changed since the last layer is also written to a layer, after
  /// this returns, whatever the policy is. So the next opening replays nothing before it, unless
  /// the journal is closed before the layer is written.
  ///
  /// While there are commits, it is written more slowly, down to 8 MiB a second, so that they do not wait for the drive.
  /// - Throws: ``JournalError``: `readOnly`, `wrongUse` for a model without snapshots, or an I/O error, which does not
  ///   affect the journal.
  /// - Complexity: O(n) in the number of entities.
  @discardableResult
  public func takeSnapshot(asOf selector: RevisionSelector = .head()) throws -> Snapshot {
    try settled {
      let keeper = try keeping()
      let revision = try revision(at: selector)
      guard revision > 0 else {
        throw JournalError(.wrongUse, "revision 0 is the empty journal; it needs no snapshot")
      }
      let newest = keeper.newest(at: revision)
      let (version, eventCount) = try newest ?? replayed(through: revision)
      let file = try keeper.take(
        version, eventCount: eventCount, isNewest: newest != nil, freezing: writing().freezeRest)
      if let digest = file.footer?.stateDigest {
        try writing().note(Checkpoint(revision: revision, stateDigest: digest), of: keeper)
      }
      guard let snapshot = snapshot(of: file) else {
        throw JournalError(.io, "the snapshot was not written", revision: revision)
      }
      return snapshot
    }
  }

  /// Removes the snapshot of a revision. This loses no state and no history, and takes no time from openings and past
  /// states.
  /// - Throws: ``JournalError`` with code `notFound` if there is none.
  public func dropSnapshot(at revision: Revision) throws {
    var isDropped = false
    try settled {
      if !isDropped { try keeping().drop(revision, freezing: writing().freezeRest) }
      isDropped = true
    }
  }

  /// Reads a snapshot's whole file and returns its problem, nil if there is none.
  ///
  /// Reading proves that the file is unchanged; `verify` proves that it is the right state.
  package func check(_ snapshot: Snapshot) -> JournalError? {
    do throws(JournalError) {
      let name = LayerName(from: nil, to: snapshot.revision)
      guard let file = try chain.footers.footer(name) else { return nil }
      guard let footer = file.footer else { return file.problem }
      do throws(JournalError) {
        try chain.checkAllPages(name, footer)
        return nil
      } catch {
        // A snapshot that was dropped in the meantime is not a problem.
        return try chain.footers.footer(name) == file ? error : nil
      }
    } catch {
      return error
    }
  }

  private func snapshot(of file: FooterFile) -> Snapshot? {
    guard let footer = file.footer, let stateDigest = footer.stateDigest else { return nil }
    return Snapshot(
      revision: file.name.to,
      url: URL(fileURLWithPath: folder.path(of: file.name), isDirectory: false),
      byteCount: footer.byteCount, entityCount: footer.top.entityCount, schema: footer.schema,
      stateDigest: stateDigest)
  }
}
