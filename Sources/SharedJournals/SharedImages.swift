import Files
import Foundation
import Journaling
import SHA256

/// Fetches images from the shared log on demand, if the node lacks them.
struct SharedImages: RemoteImages {
  let sharing: any LogSharing
  /// The address of the shared log. It needs to be valid only when an image is fetched.
  let address: String
  let folder: JournalFolder
  let journal: JournalID

  /// The place of images; nil if images are in the shared log. Older images may be in the log in any case.
  private var store: (any ImagePlace)? { sharing.images }

  private func connect() throws(JournalError) -> any SharedLog {
    try sharing.storage(at: address, in: folder).connect(to: journal)
  }

  /// Returns those of the images that neither the place of images nor the shared log has.
  /// - Throws: ``JournalError`` with code `unreachable`.
  func missing(_ blobs: [Blob]) throws(JournalError) -> [Blob] {
    var missing: [Blob] = []
    for blob in blobs {
      if let store, try store.has(blob) { continue }
      missing.append(blob)
    }
    if missing.isEmpty { return [] }
    let shared = try connect()
    defer { shared.close() }
    var rest: [Blob] = []
    for blob in missing where try !shared.hasImage(blob) { rest.append(blob) }
    return rest
  }

  /// Calls `body` with the bytes of an image, in pieces.
  /// - Throws: what `body` throws, and ``JournalError``: `unreachable`; `damaged` if the bytes are missing or
  ///   altered.
  func read(_ blob: Blob, _ body: ([UInt8]) throws -> Void) throws {
    var hash = SHA256Hash()
    var byteCount = 0
    var failure: (any Error)?
    func receive(_ piece: [UInt8]) throws(JournalError) {
      hash.update(piece)
      byteCount += piece.count
      do { try body(piece) } catch {
        failure = error
        throw error as? JournalError ?? JournalError(.io, "an image can't be stored", cause: error)
      }
    }
    var isThere = false
    do throws(JournalError) {
      if let store { isThere = try store.load(blob, receive) }
      if !isThere {
        let shared = try connect()
        defer { shared.close() }
        isThere = try shared.readImage(blob, receive)
      }
    } catch { throw failure ?? error }
    var finished = SHA256Hash()
    swap(&hash, &finished)
    // The size is checked too, because a forged entry can name any size.
    guard isThere, byteCount == blob.byteCount, finished.finish() == blob.digest else {
      throw JournalError(
        .damaged,
        isThere
          ? "the bytes of an image are altered in the shared log; restore its images from a backup"
          : "the bytes of an image are missing from the shared log; add the same image again"
            + (store == nil ? ", or name the place where the other nodes have their images" : ""),
        path: address)
    }
  }
}

extension BlobStore {
  /// Stores the bytes of an image where other nodes find them, unless they are already there.
  /// - Parameter store: the place of images; nil if images are in the shared log.
  func send(_ blob: Blob, to log: any SharedLog, or store: (any ImagePlace)?) throws(JournalError) {
    // Another node may have added an image that this one lacks.
    if try !contains(blob) {
      if let store, try store.has(blob) { return }
      if try log.hasImage(blob) { return }
    }
    var file = try open(blob)
    var isChecked = false
    func piece() throws(JournalError) -> [UInt8] {
      // Stored images are never replaced, so altered bytes must not be stored.
      if !isChecked { try check(blob) }
      isChecked = true
      return try file.next()
    }
    if let store { try store.store(blob, piece) } else { try log.addImage(blob, piece) }
  }
}
