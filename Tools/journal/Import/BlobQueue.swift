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

  /// Reads the next content that was requested from git, and stores it unless it is kept as a text.
  func read(next contents: GitBlobs, name: String, keepsTexts: Bool) throws -> FileContent {
    // All bytes, or the first ones of a content that is stored in pieces.
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

/// The content of a file, as an item stores it.
enum FileContent {
  /// There is none: the file was deleted, or it is a submodule, whose content is in another repository.
  case none
  /// UTF-8, and short enough for an attribute.
  case text(String)
  /// Anything else; the bytes are being stored as a blob.
  case image(PendingBlob, mediaType: String)

  /// A text of more bytes is stored as an image.
  static let textByteLimit = 65_536

  /// The text that an item stores of these bytes; nil if it stores them as an image.
  static func text(of bytes: [UInt8]) -> String? {
    bytes.count > textByteLimit ? nil : String(validating: bytes, as: UTF8.self)
  }

  /// The text, if it is one.
  var text: String? { if case .text(let text) = self { text } else { nil } }
}
