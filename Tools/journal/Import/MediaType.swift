enum MediaType {
  private static let byExtension = [
    "avif": "image/avif", "bmp": "image/bmp", "css": "text/css", "csv": "text/csv", "gif": "image/gif",
    "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html",
    "ico": "image/vnd.microsoft.icon", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "js": "text/javascript", "json": "application/json", "md": "text/markdown", "mov": "video/quicktime",
    "mp3": "audio/mpeg", "mp4": "video/mp4", "ogg": "audio/ogg", "otf": "font/otf",
    "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml", "tif": "image/tiff",
    "tiff": "image/tiff", "ttf": "font/ttf", "txt": "text/plain", "wasm": "application/wasm",
    "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "woff": "font/woff",
    "woff2": "font/woff2", "xml": "application/xml", "zip": "application/zip",
  ]

  private static let bySignature: [(bytes: [UInt8], type: String)] = [
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
    ([0xFF, 0xD8, 0xFF], "image/jpeg"),
    (Array("GIF8".utf8), "image/gif"),
    (Array("%PDF-".utf8), "application/pdf"),
    ([0x50, 0x4B, 0x03, 0x04], "application/zip"),
    ([0x1F, 0x8B], "application/gzip"),
  ]

  /// The media type of a file, by the extension of its name or else by its first bytes.
  static func of(name: String, head: some Collection<UInt8>) -> String {
    if let dot = name.lastIndex(of: "."),
      let type = byExtension[name[name.index(after: dot)...].lowercased()]
    {
      return type
    }
    return bySignature.first { head.starts(with: $0.bytes) }?.type ?? "application/octet-stream"
  }
}
