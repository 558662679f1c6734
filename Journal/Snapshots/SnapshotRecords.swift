/// The records in a journal's folder of snapshots.
struct SnapshotRecords: Sendable {
  let folder: JournalFolder

  /// The revisions that have a record, in rising order.
  func revisions() throws(JournalError) -> [Revision] {
    guard try Folder.status(folder.snapshots) != nil else { return [] }
    return try Folder.names(folder.snapshots).compactMap(JournalFolder.revision(ofSnapshotRecord:)).sorted()
  }

  /// The record of the snapshot of a revision, nil when there is none.
  /// - Throws: ``JournalError`` when it can't be read at the moment. One that is damaged is given and says so.
  func record(of revision: Revision) throws(JournalError) -> SnapshotRecord? {
    do throws(JournalError) {
      return try SnapshotRecord(reading: folder.snapshotRecord(revision), revision: revision)
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
    try Folder.writeFile(
      folder.snapshotRecord(record.revision), facts.encoded(), in: folder.snapshots, hook: folder.hook)
  }

  /// Removes the records and the files of snapshots.
  func removeSnapshots(_ revisions: [Revision]) throws(JournalError) {
    if revisions.isEmpty { return }
    for revision in revisions { try Folder.removeFile(folder.snapshotRecord(revision), hook: folder.hook) }
    // So that after a power loss no record is left whose file is gone.
    try Folder.synchronize(folder.snapshots, hook: folder.hook)
    for revision in revisions { try Folder.removeFile(folder.snapshot(revision), hook: folder.hook) }
  }
}
