import Files
import Journaling

/// Copies blobs from one folder to another: by a hard link if possible, otherwise by copying the bytes. Both ways, the
/// bytes are read and compared with their digest.
struct BlobCopying {
  let source: Files.Folder<JournalError>?
  /// The path for errors about missing blobs.
  let sourcePath: String
  let target: Files.Folder<JournalError>
  let sharesFiles: Bool
  /// The place of images that the source, a node of a shared journal, has not fetched; nil if the source is no node.
  let shared: (any RemoteImages)?

  private(set) var copiedCount = 0
  private(set) var copiedByteCount = 0
  private(set) var sharedCount = 0
  /// Whether the target may have names that are not durable. True at first: an interrupted run may not have flushed.
  private var isFlushNeeded = true

  init(
    from source: Files.Folder<JournalError>?, at sourcePath: String, to target: Files.Folder<JournalError>,
    sharesFiles: Bool,
    fetchingFrom shared: (any RemoteImages)? = nil
  ) {
    self.source = source
    self.sourcePath = sourcePath
    self.target = target
    self.sharesFiles = sharesFiles
    self.shared = shared
  }

  /// Copies a blob if the target lacks it.
  /// - Returns: nil if the target has the blob now; otherwise the error of the source, with code `damaged` if the
  ///   source lacks the blob or has it with other bytes.
  /// - Throws: an error of the target, or of a cancelled task.
  mutating func take(_ blob: Blob) throws -> JournalError? {
    if try target.has(blob) { return nil }
    if let shared, try source?.status(of: blob.digest.hex) == nil {
      try target.require(blob.byteCount, for: "an image")
      let copy = try UnfinishedBlob(in: target)
      try shared.read(blob) { piece in
        try Task.checkCancellation()
        try copy.write(piece)
      }
      try copy.finish(as: blob)
    } else {
      // The blob is opened first, because the error of opening is the most precise.
      let file: BlobFile
      do throws(JournalError) { file = try BlobFile(blob, in: source, at: sourcePath) } catch { return error }
      if try share(blob) {
        sharedCount += 1
        isFlushNeeded = true
        return nil
      }
      try target.require(blob.byteCount, for: "an image")
      if let error = try copy(file, as: blob) { return error }
    }
    copiedCount += 1
    copiedByteCount += blob.byteCount
    isFlushNeeded = true
    return nil
  }

  /// Shares a blob by a hard link.
  /// - Returns: false if the blob must be copied, because its file can't be shared or seems altered through the link:
  ///   the file system may report another size, or the source may have replaced the file.
  private func share(_ blob: Blob) throws -> Bool {
    let name = BlobNames.unfinished()
    guard sharesFiles, let source, try source.link(blob.digest.hex, in: target, as: name) else {
      return false
    }
    do {
      var file = try BlobFile(blob, named: name, in: target, at: sourcePath)
      while try !file.next().isEmpty { try Task.checkCancellation() }
      // The rename may replace a file of another size that a damaged drive has left.
      try target.rename(name, to: blob.digest.hex)
      return true
    } catch {
      guard (error as? JournalError)?.code == .damaged else {
        try? target.removeFile(name)
        throw error
      }
      try target.removeFile(name)
      return false
    }
  }

  /// Copies the bytes of a blob.
  /// - Returns: the error of the source; nil if the blob was copied.
  private func copy(_ file: consuming BlobFile, as blob: Blob) throws -> JournalError? {
    let copy = try UnfinishedBlob(in: target)
    while true {
      try Task.checkCancellation()
      let piece: [UInt8]
      do throws(JournalError) { piece = try file.next() } catch { return error }
      if piece.isEmpty { break }
      try copy.write(piece)
    }
    try copy.finish(as: blob)
    return nil
  }

  /// Makes the names of all copied blobs durable.
  mutating func flush() throws(JournalError) {
    guard isFlushNeeded else { return }
    try target.flush()
    isFlushNeeded = false
  }
}
