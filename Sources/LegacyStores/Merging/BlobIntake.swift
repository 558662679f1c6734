import CatalogModel
import Files
import Foundation
import Locks
import SHA256

/// Adds the images of a store to a journal's blob store. Each image is read once and in pieces.
///
/// Images that are unchanged since an earlier import are only read, not written.
struct BlobIntake {
  private static let chunkSize = 64

  private let blobs: BlobStore
  private let known: Set<Blob>
  private let knownSizes: Set<Int>

  init(_ journal: CatalogJournal, _ memory: ImportMemory) {
    blobs = journal.blobs
    known = Set(memory.rows.flatMap { $0.images.values.map(\.blob) })
    knownSizes = Set(known.map(\.byteCount))
  }

  /// The blobs of all images, in order. Nil for an image that was already unreadable.
  /// - Returns: a failure for an image that has become unreadable.
  /// - Throws: ``JournalError`` if the journal can't store them.
  func take(_ images: [LegacyImage], progress: (Int) -> Void) throws -> [Result<Blob?, LegacyError>] {
    let results = Lock([Result<Blob?, any Error>](repeating: .success(nil), count: images.count))
    for start in stride(from: 0, to: images.count, by: Self.chunkSize) {
      let end = min(start + Self.chunkSize, images.count)
      Threads.forEach(below: end - start, width: ProcessInfo.processInfo.activeProcessorCount) { index in
        let result = Result { try take(images[start + index]) }
        results.withLock { $0[start + index] = result }
      }
      progress(end)
    }
    return try results.withLock { $0 }.map { result in
      do { return .success(try result.get()) } catch let error as LegacyError { return .failure(error) }
    }
  }

  private func take(_ image: LegacyImage) throws -> Blob? {
    switch image.content {
    case .unreadable: return nil
    case .data(let data):
      let blob = Blob(
        digest: unsafe data.withUnsafeBytes { unsafe SHA256Hash.digest($0) }, byteCount: data.count)
      return known.contains(blob) ? blob : try blobs.add(data)
    case .file(let folder, let inner, let name):
      let file = try folder.folder(inner).file(name, .reading)
      if knownSizes.contains(try file.byteCount()) {
        let (digest, byteCount) = try file.digest()
        let blob = Blob(digest: digest, byteCount: byteCount)
        if known.contains(blob) { return blob }
      }
      let writer = try blobs.writer()
      try unsafe file.forEachPiece { try unsafe writer.write($0) }
      return try writer.finish()
    }
  }
}
