public import Foundation

/// A state written as a keyed archive, so that a replay can start there.
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
  public let stateDigest: Digest
  /// Whether the journal took it automatically, and drops it when others make it superfluous.
  public let isAutomatic: Bool
}

extension Journal {
  /// All snapshots, the oldest first. Their files are not looked at: ``check(_:)`` does that.
  /// - Throws: ``JournalError`` when what is known of them can't be read.
  public func snapshots() throws -> [Snapshot] { try ladder.records.all().compactMap(snapshot(of:)) }

  /// Writes a snapshot of the state at a point in time, and returns when it is durable. Commits go on meanwhile.
  ///
  /// Nobody needs to call this for opening to be fast: see ``SnapshotPolicy``. One that was asked for stays
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
    let record = try keeper.take(version, eventCount: eventCount, isAutomatic: false)
    if let facts = record.facts {
      try writing().note(Checkpoint(revision: revision, stateDigest: facts.stateDigest))
    }
    guard let snapshot = snapshot(of: record) else {
      throw JournalError(.io, "the snapshot was not written", revision: revision)
    }
    return snapshot
  }

  /// Removes the snapshot of a revision. No state and no history is lost, only time.
  /// - Throws: ``JournalError`` with code `notFound` when there is none.
  public func dropSnapshot(at revision: Revision) throws {
    try keeping().drop(revision)
  }

  /// What was found wrong with snapshots since the journal was opened: files that are missing, cut or altered.
  /// None of it cost more than time: the states that were read are right.
  public var snapshotProblems: [JournalError] { ladder.problems }

  /// Reads a snapshot's file whole and tells what is wrong with it, nil when nothing is.
  ///
  /// It proves that the file is what was written; `verify(deep:)` proves that this was the state.
  /// - Complexity: O(n) in the bytes of the file.
  public func check(_ snapshot: Snapshot) -> JournalError? {
    do throws(JournalError) {
      guard let record = try ladder.records.record(of: snapshot.revision) else { return nil }
      guard let facts = record.facts else { return record.problem }
      do throws(JournalError) {
        try SnapshotFile(in: folder.openSnapshots(), facts: facts, revision: snapshot.revision)
          .checkAllPages()
        return nil
      } catch {
        // One that was dropped meanwhile has nothing wrong with it.
        return try ladder.records.record(of: snapshot.revision) == record ? error : nil
      }
    } catch {
      return error
    }
  }

  private func snapshot(of record: SnapshotRecord) -> Snapshot? {
    record.facts.map { facts in
      Snapshot(
        revision: record.revision,
        url: URL(fileURLWithPath: folder.snapshot(record.revision), isDirectory: false),
        byteCount: facts.byteCount, entityCount: facts.entityCount, schema: facts.schema,
        stateDigest: facts.stateDigest, isAutomatic: facts.isAutomatic)
    }
  }
}
