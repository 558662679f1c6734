/// Detects the type of a picture from its bytes, because the file names of apps are unreliable: PNG in a `.jpg` file is
/// common.
enum ImageType {
  private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
    (0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
    (0, [0xFF, 0xD8, 0xFF], "image/jpeg"),
    (0, Array("GIF8".utf8), "image/gif"),
    (0, [0x49, 0x49, 0x2A, 0x00], "image/tiff"),
    (0, [0x4D, 0x4D, 0x00, 0x2A], "image/tiff"),
    (8, Array("WEBP".utf8), "image/webp"),
    (4, Array("ftypheic".utf8), "image/heic"),
    (4, Array("ftypavif".utf8), "image/avif"),
    (0, Array("%PDF-".utf8), "application/pdf"),
  ]

  /// The media type of a picture, or nil if it is unknown.
  static func of(_ head: some RandomAccessCollection<UInt8>) -> String? {
    signatures.first { head.dropFirst($0.offset).starts(with: $0.bytes) }?.type
  }

  static let unknown = "application/octet-stream"
}
