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

  /// The text, if it is one.
  var text: String? { if case .text(let text) = self { text } else { nil } }

  /// Reads the next content that was requested from git.
  init(next contents: GitBlobs, name: String, _ blobs: BlobQueue) throws {
    var text: String?
    var head: [UInt8] = []
    let blob = try blobs.add(next: contents, head: &head) { bytes in
      if bytes.count <= Self.textByteLimit { text = String(validating: bytes, as: UTF8.self) }
      return text != nil
    }
    if let blob {
      self = .image(blob, mediaType: MediaType.of(name: name, head: head))
    } else {
      self = .text(text ?? "")
    }
  }
}
