import Files
public import Foundation
public import Journaling

/// The images that `collectGarbage` removed, or would remove in a dry run, because no entry names them.
public struct GarbageReport: Sendable {
  /// The number of images.
  public let imageCount: Int
  /// The total size of the images in bytes.
  public let byteCount: Int
}

extension Journal {
  /// Removes images that no entry of the history names: they were added but never committed, or left by a crash.
  ///
  /// The journal must be closed: an app that has it open may have added an image that its next commit will name.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - isDryRun: whether to only report what would be removed.
  ///   - options: the options for opening the journal.
  ///   - progress: called with the progress. If it throws, or if the task is cancelled, nothing is removed.
  /// - Throws: ``JournalError`` as `open` does; `wrongUse` for a shared journal; `damaged` if the history can't be
  ///   read, and then nothing is removed.
  /// - Complexity: O(n) in the bytes of the entries, and 40 bytes of memory for each image.
  public static func collectGarbage(
    at url: URL, isDryRun: Bool = false, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> GarbageReport {
    let journal = try openUnused(
      at: url, mode: isDryRun ? .readOnly : .readWrite, options: options.forCopies)
    defer { try? journal.close() }
    let unnamed = try journal.unnamedBlobs(progress)
    if !isDryRun, let images = try journal.folder.openImages() {
      for blob in unnamed { try images.removeFile(blob.digest.hex) }
      try images.flush()
      try journal.close()
    }
    return GarbageReport(imageCount: unnamed.count, byteCount: unnamed.sum(of: \.byteCount))
  }

  /// The number of the images that no entry names, and their total size in bytes.
  func unnamedImages() throws -> (count: Int, byteCount: Int) {
    let unnamed = try unnamedBlobs { _ in }
    return (unnamed.count, unnamed.sum(of: \.byteCount))
  }

  private func unnamedBlobs(_ observer: CopyObserver) throws -> [Blob] {
    guard let images = try folder.openImages() else { return [] }
    var named: Set<ContentDigest> = []
    try readPieces(after: format.head, through: head, observer) { _, blobs, _ in
      for blob in blobs { named.insert(blob.digest) }
    }
    return try images.blobs().filter { !named.contains($0.digest) }
  }
}
