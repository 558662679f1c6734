import Files

/// The records in a journal's folder of snapshots.
struct SnapshotRecords: Sendable {
  let folder: JournalFolder

  /// What has a record, the oldest first.
  func names() throws(JournalError) -> [LayerName] {
    guard let snapshots = try folder.openSnapshots() else { return [] }
    return try snapshots.names().compactMap(LayerName.init(recordName:)).sorted()
  }

  /// The record of that name, nil if there is none.
  /// - Throws: ``JournalError`` if it can't be read at the moment. One that is damaged is given and says so.
  func record(_ name: LayerName) throws(JournalError) -> SnapshotRecord? {
    guard let snapshots = try folder.openSnapshots() else { return nil }
    do throws(JournalError) {
      return try SnapshotRecord(name, in: snapshots)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// All records, the oldest first.
  func all() throws(JournalError) -> [SnapshotRecord] {
    var records: [SnapshotRecord] = []
    for name in try names() {
      if let record = try record(name) { records.append(record) }
    }
    return records
  }

  /// Writes a record, durably; its file must be.
  func write(_ name: LayerName, _ facts: SnapshotFacts) throws(JournalError) {
    let snapshots = try folder.makeSnapshots()
    try snapshots.write(name.recordName, facts.encoded())
    try snapshots.flush()
  }

  /// Removes records and the files that they are of.
  func remove(_ names: [LayerName]) throws(JournalError) {
    guard !names.isEmpty, let snapshots = try folder.openSnapshots() else { return }
    for name in names { try snapshots.removeFile(name.recordName) }
    // So that after a power loss no record is left whose file is gone.
    try snapshots.flush()
    for name in names { try snapshots.removeFile(name.fileName) }
  }
}
