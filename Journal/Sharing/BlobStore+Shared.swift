import Foundation
import SHA256

/// Fetches images that a node of a shared journal lacks from the shared log, on demand.
struct SharedImages: Sendable {
  let storage: any SharedLogStorage
  let journal: JournalID

  /// Calls `body` with the bytes of an image, in pieces.
  /// - Throws: ``JournalError``: `unreachable`; `damaged` if the shared log lacks them or has others.
  func read(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) {
    let shared = try storage.connect(to: journal)
    defer { try? shared.close() }
    var hash = SHA256Hash()
    let isThere = try shared.readImage(blob) { piece throws(JournalError) in
      hash.update(piece)
      try body(piece)
    }
    guard isThere, hash.finish() == blob.digest else {
      throw JournalError(
        .damaged,
        "the bytes of an image are \(isThere ? "altered in" : "missing from") the shared log; add the same image again",
        path: storage.address)
    }
  }
}

extension BlobStore {
  /// Makes sure that the bytes of an image are in this journal's folder. In a shared journal, they are fetched from the
  /// shared log and stored.
  /// - Throws: ``JournalError``: `unreachable`; `readOnly` if they are missing and the journal is not open for writing;
  ///   `damaged`.
  public func fetch(_ blob: Blob) throws {
    guard let shared, try !contains(blob) else { return }
    let writer = try writer()
    try shared.read(blob) { piece throws(JournalError) in
      do { try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) } } catch {
        throw error as? JournalError ?? JournalError(.io, "an image can't be kept", cause: error)
      }
    }
    _ = try writer.finish()
  }

  /// Whether only other nodes have the bytes of an image, and this one has not fetched them.
  func isElsewhere(_ blob: Blob) -> Bool { shared != nil && (try? contains(blob)) == false }

  /// The bytes of an image that this node lacks and can't store.
  func sharedData(of blob: Blob, _ shared: SharedImages) throws(JournalError) -> Data {
    var data = Data()
    try shared.read(blob) { piece in data.append(contentsOf: piece) }
    return data
  }

  /// Stores the bytes of an image in a shared log, unless it has them.
  func send(_ blob: Blob, to log: any SharedLog) throws(JournalError) {
    // Another node may have added it, and this one lacks it.
    if try !contains(blob), try log.hasImage(blob) { return }
    let file = try open(blob)
    var offset = 0
    try log.addImage(blob) { () throws(JournalError) in
      let piece = try file.piece(at: offset, byteCount: BlobWriter.pieceByteCount)
      offset += piece.count
      return piece
    }
  }
}
