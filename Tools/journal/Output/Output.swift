import Foundation

/// Thrown if the reader of the results has closed its end, as `head` does.
struct OutputClosed: Error {}

final class Output {
  private static let pieceSize = 64 << 10
  private var descriptor: Int32
  private var buffer: [UInt8] = []
  /// Whether a failed write ends the verb. If not, results after the failure are discarded.
  var isEssential = true
  private var done: [Int] = []
  private var failure: (any Error)?

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    buffer.reserveCapacity(2 * Self.pieceSize)
  }

  /// Records an entry that the verb has committed. If anything fails later, the error message names the entry, so that
  /// a script does not commit it again.
  func noteDone(entry revision: Int) { done.append(revision) }

  var doneText: String? {
    if done.isEmpty { return nil }
    return (done.count == 1 ? "entry" : "entries") + " \(done.map { "\($0)" }.enumerated) "
      + (done.count == 1 ? "was" : "were") + " committed"
  }

  func redirect(to descriptor: Int32) { self.descriptor = descriptor }

  func write(_ text: String) throws { try write(text.utf8) }

  func write(_ bytes: some Collection<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.pieceSize { try flush() }
  }

  func line(_ text: String = "") throws {
    buffer.append(contentsOf: text.utf8)
    try write(CollectionOfOne(UInt8(ascii: "\n")))
  }

  /// Checks without a write whether the reader has closed the output.
  /// - Throws: ``OutputClosed`` if so.
  func checkReader() throws {
    var request = pollfd(fd: descriptor, events: 0, revents: 0)
    if unsafe poll(&request, 1, 0) > 0, request.revents & Int16(POLLERR) != 0 { throw OutputClosed() }
  }

  /// - Throws: if the output is essential, ``OutputClosed`` if it was closed, and ``Failure`` for any other error.
  func flush() throws {
    // The buffer is dropped after an error too, because a retry would fail.
    defer { buffer.removeAll(keepingCapacity: true) }
    guard failure == nil else { return }
    do { try writeBuffer() } catch {
      if isEssential { throw error }
      failure = error
    }
  }

  /// - Throws: ``Failure`` if a result was not written, unless the reader closed an output that is not essential.
  func finish() throws {
    try flush()
    if let failure = failure as? Failure { throw failure }
  }

  private func writeBuffer() throws {
    var written = 0
    while written < buffer.count {
      let count = unsafe buffer[written...].withUnsafeBytes { piece in
        unsafe Foundation.write(descriptor, piece.baseAddress, piece.count)
      }
      if count >= 0 {
        written += count
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno != EINTR {
        throw Failure.unreadable("the results can't be written to standard output: \(systemMessage(errno))")
      }
    }
  }
}

func systemMessage(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
