public import Foundation

/// A whole state that was asked for, written as a keyed archive in one file. It stays until it is dropped.
public struct Snapshot: Sendable {
  /// The revision that it is as of.
  public let revision: Revision
  /// Where it is. The file must not be changed; a copy of it is read by `NSKeyedUnarchiver`, `plutil` and
  /// Python's `plistlib`, and says itself what is in it.
  public let url: URL
  /// The size of its file.
  public let byteCount: Int
  /// How many entities are in it.
  public let entityCount: Int
  /// The name and version of the model that wrote it; one of another schema is not used.
  public let schema: String
  /// The SHA-256 of the state in canonical form, which a replay must reach too.
  public let stateDigest: ContentDigest
}

extension Journal {
  /// All snapshots that were asked for, the oldest first. Their files are not looked at: ``check(_:)`` does that.
  /// - Throws: ``JournalError`` if what is known of them can't be read.
  public func snapshots() throws -> [Snapshot] {
    try chain.records.all().filter { $0.name.from == nil }.compactMap(snapshot(of:))
  }

  /// Writes a snapshot of the state at a point in time, and returns when it is durable. Commits go on meanwhile.
  ///
  /// No one needs to call this for opening to be fast: see ``SnapshotPolicy``. It says all by itself, and stays
  /// until it is dropped.
  /// - Throws: ``JournalError``: `readOnly`, `wrongUse` for a model without snapshots, or what the disk says;
  ///   the journal goes on without the snapshot.
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
    if let digest = record.facts?.stateDigest {
      try writing().note(Checkpoint(revision: revision, stateDigest: digest))
    }
    guard let snapshot = snapshot(of: record) else {
      throw JournalError(.io, "the snapshot was not written", revision: revision)
    }
    return snapshot
  }

  /// Removes the snapshot of a revision. No state and no history is lost, only time.
  /// - Throws: ``JournalError`` with code `notFound` if there is none.
  public func dropSnapshot(at revision: Revision) throws {
    try keeping().drop(revision)
  }

  /// What was found wrong with snapshots since the journal was opened: files that are missing, cut or altered.
  /// None of it cost more than time: the states that were read are right.
  public var snapshotProblems: [JournalError] { chain.problems }

  /// Reads a snapshot's file whole and tells what is wrong with it, nil if nothing is.
  ///
  /// It proves that the file is what was written; `verify(deep:)` proves that this was the state.
  /// - Complexity: O(n) in the bytes of the file.
  public func check(_ snapshot: Snapshot) -> JournalError? {
    do throws(JournalError) {
      let name = LayerName(from: nil, to: snapshot.revision)
      guard let record = try chain.records.record(name) else { return nil }
      guard let facts = record.facts else { return record.problem }
      do throws(JournalError) {
        try chain.file(name, facts).checkAllPages()
        return nil
      } catch {
        // One that was dropped meanwhile has nothing wrong with it.
        return try chain.records.record(name) == record ? error : nil
      }
    } catch {
      return error
    }
  }

  private func snapshot(of record: SnapshotRecord) -> Snapshot? {
    guard let facts = record.facts, let stateDigest = facts.stateDigest else { return nil }
    return Snapshot(
      revision: record.name.to,
      url: URL(fileURLWithPath: folder.path(of: record.name), isDirectory: false),
      byteCount: facts.byteCount, entityCount: facts.top.entityCount, schema: facts.schema,
      stateDigest: stateDigest)
  }
}
