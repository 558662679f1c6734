import CatalogModel
import Dispatch
import Foundation
import Locks

/// Stores blobs concurrently with the import, because several flushes at a time take hardly longer than one.
///
/// The number and the size of the blobs in the queue are limited, so its memory is too.
final class BlobQueue {
  /// Longer contents are not held in memory, but stored in pieces as they arrive.
  static let pieceByteLimit = 1 << 20
  private static let width = 8

  private let store: BlobStore
  private let free = DispatchSemaphore(value: width)

  init(_ store: BlobStore) { self.store = store }

  /// Reads the next content that was requested from git.
  /// - Parameters:
  ///   - head: set to the first bytes.
  ///   - isTaken: called with all bytes of a content in memory; returns true if it needs no blob.
  /// - Returns: nil if there is no blob.
  func add(
    next contents: GitBlobs, head: inout [UInt8], unless isTaken: ([UInt8]) -> Bool = { _ in false }
  ) throws -> PendingBlob? {
    var bytes: [UInt8] = []
    var writer: BlobWriter?
    try contents.read { count in
      if count > Self.pieceByteLimit { writer = try store.writer() } else { bytes.reserveCapacity(count) }
    } _: { piece in
      if let writer {
        if head.isEmpty { head = Array(piece.prefix(64)) }
        try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) }
      } else {
        bytes += piece
      }
    }
    if let writer { return PendingBlob(try writer.finish()) }
    if isTaken(bytes) { return nil }
    head = Array(bytes.prefix(64))
    return add(bytes)
  }

  private func add(_ bytes: [UInt8]) -> PendingBlob {
    let blob = PendingBlob()
    free.wait()
    let work: @Sendable () -> Void = { [store, free, bytes] in
      blob.finish(Result { try store.add(Data(bytes)) })
      free.signal()
    }
    // The import waits for the blob, so the work must run on some thread.
    if !Threads.start(work) { work() }
    return blob
  }
}

/// A blob that is being stored.
final class PendingBlob: Sendable {
  private let result = Lock<Result<Blob, any Error>?>(nil)
  private let done = DispatchGroup()

  fileprivate init() { done.enter() }

  fileprivate init(_ blob: Blob) { result.withLock { $0 = .success(blob) } }

  fileprivate func finish(_ outcome: Result<Blob, any Error>) {
    result.withLock { $0 = outcome }
    done.leave()
  }

  /// Blocks until the blob is stored.
  /// - Throws: the reason why it can't be.
  func wait() throws -> Blob {
    done.wait()
    // The result is set before the group is left.
    return try result.withLock { $0! }.get()
  }
}
