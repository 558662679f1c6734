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
  /// The name and version of the model that wrote it; a snapshot of another schema is not used.
  public let schema: String
  /// The SHA-256 of the state in canonical form. A replay to the same revision must give the same one.
  public let stateDigest: ContentDigest
}

extension Journal {
  /// All snapshots, oldest first. Their files are not read; ``check(_:)`` does that.
  /// - Throws: ``JournalError`` if their records can't be read.
  public func snapshots() throws -> [Snapshot] {
    try chain.footers.all().filter { $0.name.from == nil }.compactMap(snapshot(of:))
  }

  /// How many snapshots are missing in ``snapshots()`` because their records can't be read.
  package func unreadableSnapshotCount() throws -> Int {
    try chain.footers.all().count { $0.name.from == nil && $0.footer == nil }
  }

  /// Writes a snapshot of the state at a point in time, and returns when it is durable. Commits continue in the
  /// meantime.
  ///
  /// Opening is fast without it: see ``LayerPolicy``. A snapshot is self-contained and stays until it is dropped.
  /// While there are commits, it is written more slowly, down to 8 MiB a second, so that they do not wait for the drive.
  /// - Throws: ``JournalError``: `readOnly`, `wrongUse` for a model without snapshots, or an I/O error, which does not
  ///   affect the journal.
  /// - Complexity: O(n) in the number of entities.
  @discardableResult
  public func takeSnapshot(asOf selector: RevisionSelector = .head()) throws -> Snapshot {
    let keeper = try keeping()
    let revision = try revision(at: selector)
    guard revision > 0 else {
      throw JournalError(.wrongUse, "revision 0 is the empty journal; it needs no snapshot")
    }
    let (version, eventCount) = try keeper.newest(at: revision) ?? replayed(through: revision)
    let record = try BackgroundThread.run { () throws(JournalError) in
      try keeper.take(version, eventCount: eventCount)
    }
    if let digest = record.footer?.stateDigest {
      try writing().note(Checkpoint(revision: revision, stateDigest: digest))
    }
    guard let snapshot = snapshot(of: record) else {
      throw JournalError(.io, "the snapshot was not written", revision: revision)
    }
    return snapshot
  }

  /// Removes the snapshot of a revision. This loses no state and no history, and past states stay as fast as they are
  /// without it: if layers begin at it, a layer takes its place.
  /// - Throws: ``JournalError`` with code `notFound` if there is none.
  public func dropSnapshot(at revision: Revision) throws {
    try keeping().drop(revision)
  }

  /// The problems with layers and snapshots since the journal was opened: files that are missing, cut or altered. They
  /// cost only time: the states that were read are right.
  public var snapshotProblems: [JournalError] { chain.problems }

  /// Reads a snapshot's whole file and returns its problem, nil if there is none.
  ///
  /// It proves that the file is unchanged; `verify(deep:)` proves that it is the right state.
  /// - Complexity: O(n) in the bytes of the file.
  public func check(_ snapshot: Snapshot) -> JournalError? {
    do throws(JournalError) {
      let name = LayerName(from: nil, to: snapshot.revision)
      guard let record = try chain.footers.record(name) else { return nil }
      guard let footer = record.footer else { return record.problem }
      do throws(JournalError) {
        try chain.checkAllPages(name, footer)
        return nil
      } catch {
        // A snapshot that was dropped in the meantime is not a problem.
        return try chain.footers.record(name) == record ? error : nil
      }
    } catch {
      return error
    }
  }

  private func snapshot(of record: FooterFile) -> Snapshot? {
    guard let footer = record.footer, let stateDigest = footer.stateDigest else { return nil }
    return Snapshot(
      revision: record.name.to,
      url: URL(fileURLWithPath: folder.path(of: record.name), isDirectory: false),
      byteCount: footer.byteCount, entityCount: footer.top.entityCount, schema: footer.schema,
      stateDigest: stateDigest)
  }
}
