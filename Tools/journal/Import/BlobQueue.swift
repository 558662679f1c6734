import CatalogModel
import Dispatch
import Foundation
import Locks

/// Stores blobs on other threads while the import continues, because several flushes at a time hardly take longer than
/// one. The number and size of queued blobs are limited.
final class BlobQueue {
  /// Contents with more bytes are not queued, but stored in pieces as they arrive.
  static let pieceByteLimit = 1 << 20
  private static let width = 8

  private let store: BlobStore
  private let free = DispatchSemaphore(value: width)

  init(_ store: BlobStore) { self.store = store }

  /// Reads the next requested content. Stores it as a blob, unless `keepsTexts` is true and it is a short text.
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
    // If no thread can be started, this one stores the blob.
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
    // Not nil, because `finish` sets the result before it leaves the group.
    return try result.withLock { $0! }.get()
  }
}

enum FileContent {
  /// The file was deleted, or is a submodule, whose content is in another repository.
  case none
  /// The content is UTF-8, and short enough for an attribute.
  case text(String)
  /// The bytes are being stored as a blob.
  case image(PendingBlob, mediaType: String)

  static let textByteLimit = 65_536

  /// The bytes as a text; nil if they are too long or not UTF-8, so that they become an image.
  static func text(of bytes: [UInt8]) -> String? {
    bytes.count > textByteLimit ? nil : String(validating: bytes, as: UTF8.self)
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
}
