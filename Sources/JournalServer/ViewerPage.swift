import CViewerPage

/// The page that shows a journal: the files of `Sources/CViewerPage/page`, which are embedded in the program.
enum ViewerPage {
  struct Asset {
    let mediaType: String
    let bytes: [UInt8]
  }

  static var index: [UInt8] { files["index.html"] ?? [] }

  /// The file at a path such as `/assets/app.js`; nil if there is none.
  static func asset(_ path: String) -> Asset? {
    guard path.hasPrefix("/assets/") else { return nil }
    let name = String(path.dropFirst("/assets/".count))
    guard let end = name.split(separator: ".").last, let type = mediaTypes[String(end)],
      let bytes = files[name]
    else { return nil }
    return Asset(mediaType: type, bytes: bytes)
  }

  private static let mediaTypes = [
    "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
  ]

  private static let files: [String: [UInt8]] = {
    var files: [String: [UInt8]] = [:]
    while let file = unsafe CViewerPageFile(files.count)?.pointee {
      unsafe files[String(cString: file.name)] = Array(
        UnsafeBufferPointer(start: file.bytes, count: file.byteCount))
    }
    return files
  }()

  /// Whether a path is a view that `app.js` shows.
  static func isView(_ path: String) -> Bool {
    path.wholeMatch(of: /\/(items(\/[0-9]+(\/report)?)?|entries(\/[0-9]+)?|compare|proof)?/) != nil
  }
}
