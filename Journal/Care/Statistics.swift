/// How large a journal is.
public struct JournalStatistics: Sendable {
  /// The number of entries.
  public let entryCount: Int
  /// Bytes of the log where it is kept.
  public let logByteCount: Int
  /// Bytes of all blobs on disk.
  public let blobByteCount: Int
  /// The number of blobs on disk, named or not.
  public let blobCount: Int
}

extension Journal {
  /// Looks at the journal's files.
  /// - Throws: ``JournalError`` when they can't be listed.
  /// - Complexity: O(n) in the number of files.
  public func statistics() throws -> JournalStatistics {
    let logByteCount = try log.byteCount()
    var blobByteCounts: [Int] = []
    try blobs.forEachByteCount { blobByteCounts.append($0) }
    return JournalStatistics(
      entryCount: head.revision, logByteCount: logByteCount, blobByteCount: blobByteCounts.reduce(0, +),
      blobCount: blobByteCounts.count)
  }
}
