import CatalogModel
import Dispatch
import Foundation
import Locks
import SHA256

/// Adds the images of a store to a journal's blob store, each read once and in pieces.
///
/// Unchanged images of an earlier import are only read, not written.
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

  /// The blobs of all images, in their order; a failure for one that has become unreadable.
  /// - Throws: ``JournalError`` if the journal can't store them.
  func take(_ images: [LegacyImage], progress: (Int) -> Void) throws -> [Result<Blob, LegacyError>?] {
    let results = Lock([Result<Blob, any Error>?](repeating: nil, count: images.count))
    for start in stride(from: 0, to: images.count, by: Self.chunkSize) {
      let chunk = start..<min(start + Self.chunkSize, images.count)
      DispatchQueue.concurrentPerform(iterations: chunk.count) { index in
        let result = Result { try take(images[start + index]) }
        results.withLock {
          $0[start + index] = result.flatMap { $0.map { .success($0) } ?? .failure(Missing()) }
        }
      }
      progress(chunk.upperBound)
    }
    return try results.withLock { $0 }.map { result in
      switch result {
      case .success(let blob)?: .success(blob)
      case .failure(let error as LegacyError)?: .failure(error)
      case .failure(let error)? where !(error is Missing): throw error
      default: nil
      }
    }
  }

  /// An image that was found unreadable before.
  private struct Missing: Error {}

  private func take(_ image: LegacyImage) throws -> Blob? {
    switch image.content {
    case .unreadable: return nil
    case .data(let data):
      let blob = Blob(
        digest: unsafe data.withUnsafeBytes { unsafe SHA256Hash.digest($0) }, byteCount: data.count)
      return known.contains(blob) ? blob : try blobs.add(data)
    case .file(let folder, let names):
      let file = try folder.file(names)
      if knownSizes.contains(file.byteCount), let blob = try hash(file), known.contains(blob) { return blob }
      let writer = try blobs.writer()
      try unsafe file.forEachPiece { try unsafe writer.write($0) }
      return try writer.finish()
    }
  }

  private func hash(_ file: SourceFile) throws -> Blob? {
    var hash = SHA256Hash()
    var byteCount = 0
    try unsafe file.forEachPiece {
      unsafe hash.update($0)
      byteCount += $0.count
    }
    return Blob(digest: hash.finish(), byteCount: byteCount)
  }
}
