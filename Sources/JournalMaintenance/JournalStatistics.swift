public import Journaling

/// How large a journal is.
public struct JournalStatistics: Sendable {
  /// The number of entries.
  public let entryCount: Int
  /// The entry up to which history was pruned; nil if no history was pruned.
  public let base: Head?
  /// Bytes of the log.
  public let logByteCount: Int
  /// Bytes of all blobs on disk.
  public let blobByteCount: Int
  /// The number of blobs on disk, whether entries name them or not.
  public let blobCount: Int
  /// Bytes of all layers on disk, which the journal writes automatically. Snapshots are not included.
  public let layerByteCount: Int
  /// The number of layers on disk. A lookup reads at most this many.
  public let layerCount: Int
  /// The average number of times that the bytes of the layers were written: once, and once more in each merge.
  public let writeAmplification: Double
  /// The newest revision whose state can be opened without a replay; 0 if there is none.
  public let newestCheckpoint: Revision
  /// The number of events that were replayed when the journal was opened.
  public let replayedEventCount: Int
}

extension Journal {
  /// Measures the journal's files.
  /// - Throws: ``JournalError`` if the files can't be listed.
  /// - Complexity: O(n) in the number of files.
  public func statistics() throws -> JournalStatistics {
    try settled {
      let logByteCount = try log.byteCount()
      let blobs = try blobs.all()
      let footers = chain.layers.compactMap(\.footer)
      let layerByteCount = footers.reduce(0) { $0 + $1.byteCount }
      let written = footers.reduce(0.0) { $0 + Double($1.byteCount) * Double($1.generation) }
      return JournalStatistics(
        entryCount: head.revision - format.head.revision, base: format.base?.head, logByteCount: logByteCount,
        blobByteCount: blobs.sum(of: \.byteCount), blobCount: blobs.count, layerByteCount: layerByteCount,
        layerCount: footers.count,
        writeAmplification: layerByteCount > 0 ? written / Double(layerByteCount) : 0,
        newestCheckpoint: footers.map(\.top.revision).max() ?? 0, replayedEventCount: replayedEventCount)
    }
  }
}
