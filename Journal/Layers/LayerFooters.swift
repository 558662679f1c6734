import Files

/// The records of all layers and snapshots of a journal.
struct LayerFooters: Sendable {
  let folder: JournalFolder

  /// The names of all records, oldest first.
  func names() throws(JournalError) -> [LayerName] {
    guard let snapshots = try folder.openSnapshots() else { return [] }
    return try snapshots.names().compactMap(LayerName.init(recordName:)).sorted()
  }

  /// The record of that name, nil if there is none.
  /// - Throws: ``JournalError`` if it is temporarily unreadable. A damaged one is returned without a footer.
  func record(_ name: LayerName) throws(JournalError) -> FooterFile? {
    guard let snapshots = try folder.openSnapshots() else { return nil }
    do throws(JournalError) {
      return try FooterFile(name, in: snapshots)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// All records, oldest first.
  func all() throws(JournalError) -> [FooterFile] {
    var records: [FooterFile] = []
    for name in try names() {
      if let record = try record(name) { records.append(record) }
    }
    return records
  }

  /// Writes a record durably; its file must be durable already.
  func write(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) {
    let snapshots = try folder.makeSnapshots()
    try snapshots.write(name.recordName, footer.encoded())
    try snapshots.flush()
  }

  /// Removes records and their files.
  func remove(_ names: [LayerName]) throws(JournalError) {
    guard !names.isEmpty, let snapshots = try folder.openSnapshots() else { return }
    for name in names { try snapshots.removeFile(name.recordName) }
    // Otherwise a power loss could leave a record without its file.
    try snapshots.flush()
    for name in names { try snapshots.removeFile(name.fileName) }
  }
}
