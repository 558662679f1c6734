import CatalogModel
import Dispatch
import Foundation
import Locks

/// Stores blobs concurrently with the import, because several flushes at a time hardly take longer than one.
/// The number and size of queued blobs are limited.
final class BlobQueue {
  /// Longer contents are stored in pieces as they arrive.
  static let pieceByteLimit = 1 << 20
  private static let width = 8

  private let store: BlobStore
  private let free = DispatchSemaphore(value: width)

  init(_ store: BlobStore) { self.store = store }

  /// Reads the next requested content, and stores it unless it is kept as a text.
  func read(next contents: GitBlobs, name: String, keepsTexts: Bool) throws -> FileContent {
    // All bytes, or the first piece if the content is stored in pieces.
    var bytes: [UInt8] = []
    var writer: BlobWriter?
    try contents.read { count in
      if count > Self.pieceByteLimit { writer = try store.writer() } else { bytes.reserveCapacity(count) }
    } _: { piece in
      if writer == nil || bytes.isEmpty { bytes += piece }
      if let writer { try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) } }
    }
    if keepsTexts, writer == nil, let text = FileContent.text(of: bytes) { return .text(text) }
    let mediaType = MediaType.of(name: name, head: bytes.prefix(64))
    return .image(try writer.map { PendingBlob(try $0.finish()) } ?? add(bytes), mediaType: mediaType)
  }

  private func add(_ bytes: [UInt8]) -> PendingBlob {
    let blob = PendingBlob()
    free.wait()
    let work: @Sendable () -> Void = { [store, free, bytes] in
      blob.finish(Result { try store.add(Data(bytes)) })
      free.signal()
    }
    // Without another thread, the import stores the blob itself.
    if !Threads.start(work) { work() }
    return blob
  }
}

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
  func wait() throws -> Blob {
    done.wait()
    // The result is set before the group is left.
    return try result.withLock { $0! }.get()
  }
}

enum FileContent {
  /// The file was deleted, or is a submodule, whose content is in another repository.
  case none
  /// UTF-8, and short enough for an attribute.
  case text(String)
  /// The bytes are being stored as a blob.
  case image(PendingBlob, mediaType: String)

  static let textByteLimit = 65_536

  /// Nil if the bytes are stored as an image.
  static func text(of bytes: [UInt8]) -> String? {
    bytes.count > textByteLimit ? nil : String(validating: bytes, as: UTF8.self)
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
}
