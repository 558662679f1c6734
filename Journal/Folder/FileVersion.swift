/// The version of a small text file in a journal's folder. Its first line begins with the kind of the file and the version.
enum FileVersion {
  /// The version that this library writes, for every kind of file.
  private static let current = 1

  /// Fails for a version of a later library. Any other text is left to the caller.
  /// - Throws: ``JournalError`` with code `newerFormat`.
  static func check(_ bytes: [UInt8], is kind: String, path: String) throws(JournalError) {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }.prefix(64)
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count >= 2, words[0] == kind, let version = Int(words[1]), version > current else { return }
    throw JournalError(
      .newerFormat,
      "the file has version \(version), and this library reads version \(current); use a newer library",
      path: path)
  }
}
