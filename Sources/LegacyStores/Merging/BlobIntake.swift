import CatalogModel
import Files
import Foundation
import Locks
import SHA256

/// Adds the images of a store to a journal's blob store. Each image is read once and, if it is a file, in pieces.
///
/// Images that the journal has are only read, not written.
struct BlobIntake {
  private static let chunkSize = 64

  private let blobs: BlobStore
  private let known: Set<Blob>
  private let knownSizes: Set<Int>

  init(_ journal: CatalogJournal) {
    blobs = journal.blobs
    known = Set(journal.state.images.map(\.blob))
    knownSizes = Set(known.map(\.byteCount))
  }

  /// The blobs of all images, in order. Nil for an image that was already unreadable.
  /// - Returns: a failure for an image that has become unreadable.
  /// - Throws: ``JournalError`` if the journal can't store them.
  func take(_ images: [LegacyImage], progress: (Int) -> Void) throws -> [Result<Blob?, LegacyError>] {
    // Images with the same bytes are read once.
    var indexes: [UInt: Int] = [:]
    var read: [LegacyImage] = []
    let places = images.map { image in
      let next = read.count
      if case .data(let data) = image.content, let place = data.place {
        if let known = indexes[place] { return known }
        indexes[place] = next
      }
      read.append(image)
      return next
    }
    let unique = read
    let results = Lock([Result<Blob?, any Error>](repeating: .success(nil), count: unique.count))
    for start in stride(from: 0, to: unique.count, by: Self.chunkSize) {
      let end = min(start + Self.chunkSize, unique.count)
      Threads.forEach(below: end - start, width: ProcessInfo.processInfo.activeProcessorCount) { index in
        let result = Result { try take(unique[start + index]) }
        results.withLock { $0[start + index] = result }
      }
      progress(images.count - unique.count + end)
    }
    let taken = results.withLock { $0 }
    return try places.map { place in
      do { return .success(try taken[place].get()) } catch let error as LegacyError { return .failure(error) }
    }
  }

  private func take(_ image: LegacyImage) throws -> Blob? {
    switch image.content {
    case .unreadable: return nil
    case .data(let data):
      let blob = Blob(
        digest: unsafe data.withUnsafeBytes { unsafe SHA256Hash.digest($0) }, byteCount: data.count)
      return try known.contains(blob) && blobs.contains(blob) ? blob : blobs.add(data)
    case .file(let folder, let inner, let name):
      let file = try folder.folder(inner).file(name, .reading)
      if knownSizes.contains(try file.byteCount()) {
        let (digest, byteCount) = try file.digest()
        let blob = Blob(digest: digest, byteCount: byteCount)
        if try known.contains(blob) && blobs.contains(blob) { return blob }
      }
      let writer = try blobs.writer()
      try unsafe file.forEachPiece { try unsafe writer.write($0) }
      return try writer.finish()
    }
  }
}
