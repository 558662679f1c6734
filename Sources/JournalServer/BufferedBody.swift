import HTTPServer

/// A body that is produced in portions of any size and sent in pieces.
class BufferedBody: HTTPBodySource {
  private var portion: ArraySlice<UInt8> = []

  /// The next portion, which must not be empty, or nil at the end.
  func nextPortion() throws -> [UInt8]? { nil }

  final func nextPiece(atMost count: Int) throws -> [UInt8]? {
    while portion.isEmpty {
      guard let next = try nextPortion() else { return nil }
      portion = next[...]
    }
    defer { portion = portion.dropFirst(count) }
    return Array(portion.prefix(count))
  }
}
