import Foundation

/// A child process with pipes to its standard input and output. Standard error goes to an unnamed file, which
/// never blocks. Deinitializing terminates the process and waits for it.
final class ChildProcess {
  private let program: String
  private let process: SpawnedProcess
  private var input: Int32
  private var output: Int32
  private let errors: Int32
  private var isRunning = true
  /// Output of which the first `position` bytes are consumed.
  private var buffer: [UInt8] = []
  private var position = 0
  private static let pieceSize = 64 << 10

  /// - Throws: ``Failure`` if the program does not exist or can't be started.
  init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
    self.program = program
    let inputPipe = try SpawnedProcess.makePipe()
    let outputPipe = try SpawnedProcess.makePipe()
    errors = try SpawnedProcess.makeNamelessFile()
    defer {
      close(inputPipe.reading)
      close(outputPipe.writing)
    }
    input = inputPipe.writing
    output = outputPipe.reading
    let descriptors = [inputPipe.reading, outputPipe.writing, errors]
    process = try SpawnedProcess([program] + arguments, environment: environment, descriptors: descriptors)
  }

  deinit {
    closePipes()
    if isRunning {
      kill(process.pid, SIGTERM)
      _ = reap()
    }
    close(errors)
  }

  /// Reads more output into the buffer, in place of what was consumed.
  /// - Returns: false at the end of the output.
  private func fill() throws -> Bool {
    buffer.removeFirst(position)
    position = 0
    var count = 0
    let old = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.pieceSize))
    var failure: Int32 = 0
    unsafe buffer.withUnsafeMutableBytes { bytes in
      repeat {
        count = unsafe Foundation.read(output, bytes.baseAddress! + old, Self.pieceSize)
        failure = errno
      } while count < 0 && failure == EINTR
    }
    buffer.removeLast(Self.pieceSize - max(0, count))
    if count < 0 { throw Failure.unreadable("\(program) can't be read from: \(systemMessage(failure))") }
    return count > 0
  }

  /// The output up to the next `end`, which is consumed; nil if the output ends first.
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

  /// - Parameter body: called with pieces of at most 64 KiB.
  /// - Returns: false if the output ends first.
  func read(count: Int, _ body: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
    var rest = count
    while rest > 0 {
      if position == buffer.count, try !fill() { return false }
      let piece = buffer[position..<min(buffer.count, position + rest)]
      position = piece.endIndex
      rest -= piece.count
      try body(piece)
    }
    return true
  }

  func readToEnd() throws -> ArraySlice<UInt8> {
    while try fill() {}
    return buffer[...]
  }

  func write(_ bytes: [UInt8]) throws {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes[written...].withUnsafeBytes {
        unsafe Foundation.write(input, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw Failure.unreadable("\(program) ended early: \(errorText)")
      }
    }
  }

  /// Closes both pipes, so that the program ends.
  /// - Returns: the exit code, or 128 plus the number of the signal that ended the program.
  func finish() -> Int32 {
    closePipes()
    return reap()
  }

  private func closePipes() {
    if input >= 0 { close(input) }
    if output >= 0 { close(output) }
    (input, output) = (-1, -1)
  }

  private func reap() -> Int32 {
    guard isRunning else { return 0 }
    isRunning = false
    return process.wait()
  }

  /// The first 4 KiB of standard error.
  var errorText: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(errors, $0.baseAddress, $0.count, 0) }
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
