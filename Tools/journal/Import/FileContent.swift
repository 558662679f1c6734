/// What a file holds, as an item keeps it.
enum FileContent {
  /// It is somewhere else, as a submodule's.
  case none
  /// UTF-8, and short enough for an attribute.
  case text(String)
  /// Anything else; the bytes are on their way to the journal's blob store.
  case image(PendingBlob, mediaType: String)

  /// A longer text is kept as an image.
  static let textByteLimit = 65_536

  /// Reads the content that git was asked for next.
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
