import Files
public import Foundation
public import Journaling
import SharedJournals

/// The place of a shared journal's images, if that is not the database: a folder that all nodes see
/// (``SharedImageFolder``), or a place that the app implements, such as a bucket.
///
/// Calls come from any thread. If a call throws, the commit or the read fails with the code `unreachable`; a later call
/// may succeed. Bytes that are read are compared with the digest of the image.
public protocol SharedImageStore: Sendable {
  /// Whether all bytes of an image are stored, durably.
  func contains(_ blob: Blob) throws -> Bool

  /// Stores the bytes of an image, and returns when they are durable. Several nodes may store the same image at once.
  /// ``contains(_:)`` must be false until the image is complete. A good name for the image is `blob.digest.hex`. Each
  /// call of `next` returns about a mebibyte more; no bytes mean the end.
  func add(_ blob: Blob, _ next: () throws -> Data) throws

  /// Passes the bytes of an image on, in pieces and in order.
  /// - Returns: false, without passing a piece, if the image is not stored.
  func read(_ blob: Blob, _ receive: (Data) throws -> Void) throws -> Bool
}

/// A folder with the images of a shared journal, such as one on a file server. A file is named by its SHA-256.
///
/// The folder must exist. Use one below the mount point of its file system: if nothing is mounted, it is missing.
public struct SharedImageFolder: SharedImageStore {
  private let path: String

  /// - Parameter url: the folder.
  public init(_ url: URL) { path = url.physicalPath }

  private func folder() throws -> Folder<JournalError> { try Folder(path, followsLinks: true, hook: nil) }

  /// Whether the folder has a file with the image's name and size.
  public func contains(_ blob: Blob) throws -> Bool { try folder().has(blob) }

  /// Writes the file under another name, flushes it, and renames it.
  public func add(_ blob: Blob, _ next: () throws -> Data) throws {
    let folder = try folder()
    try folder.require(blob.byteCount, for: "an image")
    let file = try UnfinishedBlob(in: folder)
    while case let piece = try next(), !piece.isEmpty { try file.write(Array(piece)) }
    try file.finish(as: blob)
    try folder.flush()
  }

  /// Passes the bytes of the file on, in pieces and in order.
  public func read(_ blob: Blob, _ receive: (Data) throws -> Void) throws -> Bool {
    guard try contains(blob) else { return false }
    var file = try BlobFile(blob, in: try folder(), at: path)
    while case let piece = try file.next(), !piece.isEmpty { try receive(Data(piece)) }
    return true
  }
}

/// Adapts an app's ``SharedImageStore``: its errors become ``JournalError``.
struct SharedImagePlace: ImagePlace {
  let place: any SharedImageStore

  func has(_ blob: Blob) throws(JournalError) -> Bool {
    do { return try place.contains(blob) } catch { throw Self.unreachable(error) }
  }

  func store(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError) {
    if try has(blob) { return }
    var failure: JournalError?
    do {
      try place.add(blob) {
        do throws(JournalError) { return Data(try piece()) } catch {
          failure = error
          throw error
        }
      }
    } catch { throw failure ?? Self.unreachable(error) }
  }

  func load(_ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void) throws(JournalError) -> Bool {
    var failure: JournalError?
    do {
      return try place.read(blob) { piece in
        do throws(JournalError) { try body(Array(piece)) } catch {
          failure = error
          throw error
        }
      }
    } catch { throw failure ?? Self.unreachable(error) }
  }

  private static func unreachable(_ error: any Error) -> JournalError {
    JournalError(
      .unreachable, "the place of the shared images can't be used", path: (error as? JournalError)?.path,
      cause: error)
  }
}
