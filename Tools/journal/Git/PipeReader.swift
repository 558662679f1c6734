/// Splits a child's output into texts that end with a given byte, and runs of a known length.
final class PipeReader {
  static let pieceSize = 64 << 10
  private let process: ChildProcess
  private var buffer: [UInt8] = []
  private var position = 0

  init(_ process: ChildProcess) { self.process = process }

  /// Reads more bytes, and reuses the space of consumed ones.
  private func fill() throws -> Bool {
    if position > 0 {
      buffer.removeFirst(position)
      position = 0
    }
    return try process.read(atMost: Self.pieceSize, appendingTo: &buffer) > 0
  }

  /// The bytes up to the next `end`, which is consumed; nil if the output ends first.
  func read(upTo end: UInt8) throws -> ArraySlice<UInt8>? {
    var searched = position
    while true {
      if let index = buffer[searched...].firstIndex(of: end) {
        defer { position = index + 1 }
        return buffer[position..<index]
      }
      let unread = buffer.count - position
      guard try fill() else { return nil }
      searched = unread
    }
  }

  /// A run of bytes in pieces of at most 64 KiB.
  /// - Returns: false if the output ends first.
  func read(count: Int, _ body: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
    var rest = count
    while rest > 0 {
      if position == buffer.count {
        guard try fill() else { return false }
      }
      let piece = buffer[position..<min(buffer.count, position + rest)]
      position = piece.endIndex
      rest -= piece.count
      try body(piece)
    }
    return true
  }
}
