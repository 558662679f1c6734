import Foundation

/// The place to which the nodes of a shared journal add images.
package protocol RemoteImages: Sendable {
  /// Calls `body` with the bytes of an image, in pieces.
  /// - Throws: what `body` throws, and ``JournalError``: `unreachable`; `damaged` if the bytes are missing or altered.
  func read(_ blob: Blob, _ body: ([UInt8]) throws -> Void) throws
}

extension BlobStore {
  /// Makes sure that this journal's folder has the bytes of an image. A node of a shared journal fetches missing bytes.
  /// - Throws: ``JournalError``: `unreachable`; `readOnly` if the bytes are missing and can't be stored; `damaged`.
  package func bring(_ blob: Blob) throws {
    guard let shared, try !contains(blob) else { return }
    let writer = try writer()
    try shared.read(blob) { try writer.write(Data($0)) }
    _ = try writer.finish()
  }

  /// Whether only other nodes have the bytes of an image, and this one has not fetched them.
  package func isElsewhere(_ blob: Blob) -> Bool { shared != nil && (try? contains(blob)) == false }

  /// Fetches the bytes of an image that this node lacks.
  /// - Returns: the bytes if the journal is open for reading only; nil if they are in the journal's folder now.
  func fetched(_ blob: Blob) throws -> Data? {
    guard let shared, isReadOnly, try !contains(blob) else {
      try bring(blob)
      return nil
    }
    var data = Data()
    try shared.read(blob) { piece in data.append(contentsOf: piece) }
    return data
  }
}
