import Files

/// The records in a journal's folder of snapshots.
struct SnapshotRecords: Sendable {
  let folder: JournalFolder

  /// The revisions that have a record, in rising order.
  func revisions() throws(JournalError) -> [Revision] {
    guard let snapshots = try folder.openSnapshots() else { return [] }
    return try snapshots.names().compactMap(JournalFolder.revision(ofSnapshotRecord:)).sorted()
  }

  /// The record of the snapshot of a revision, nil when there is none.
  /// - Throws: ``JournalError`` when it can't be read at the moment. One that is damaged is given and says so.
  func record(of revision: Revision) throws(JournalError) -> SnapshotRecord? {
    guard let snapshots = try folder.openSnapshots() else { return nil }
    do throws(JournalError) {
      return try SnapshotRecord(of: revision, in: snapshots)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// All records, the oldest first.
  func all() throws(JournalError) -> [SnapshotRecord] {
    var records: [SnapshotRecord] = []
    for revision in try revisions() {
      if let record = try record(of: revision) { records.append(record) }
    }
    return records
  }

  /// Writes a record, durably; its file must be.
  func write(_ record: SnapshotRecord) throws(JournalError) {
    guard let facts = record.facts else { return }
    let snapshots = try folder.makeSnapshots()
    try snapshots.write(JournalFolder.snapshotRecordName(record.revision), facts.encoded())
    try snapshots.flush()
  }

  /// Removes the records and the files of snapshots.
  func removeSnapshots(_ revisions: [Revision]) throws(JournalError) {
    guard !revisions.isEmpty, let snapshots = try folder.openSnapshots() else { return }
    for revision in revisions { try snapshots.removeFile(JournalFolder.snapshotRecordName(revision)) }
    // So that after a power loss no record is left whose file is gone.
    try snapshots.flush()
    for revision in revisions { try snapshots.removeFile(JournalFolder.snapshotName(revision)) }
  }
}
