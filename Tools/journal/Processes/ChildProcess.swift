import Foundation

/// A child process with pipes to its standard input and output. Its standard error goes to an unnamed file, which,
/// unlike a full pipe, never blocks the process. Deinitialization terminates the process and waits for its end.
@safe
final class ChildProcess {
  private static let pieceSize = 64 << 10

  private let program: String
  private let process: SpawnedProcess
  private let input: Int32
  private let output: UnsafeMutablePointer<FILE>
  private let errors: Int32
  /// What ``finish()`` has returned.
  private var code: Int32?
  /// The buffer of `getdelim`.
  private var line: UnsafeMutablePointer<CChar>?
  private var lineSize = 0

  init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
    self.program = program
    // If this initializer throws, `deinit` does not run, so it closes all descriptors itself.
    var unowned: [Int32] = []
    defer { for descriptor in unowned { close(descriptor) } }
    let inputPipe = try SpawnedProcess.makePipe()
    unowned += [inputPipe.reading, inputPipe.writing]
    let outputPipe = try SpawnedProcess.makePipe()
    unowned += [outputPipe.reading, outputPipe.writing]
    errors = try SpawnedProcess.makeNamelessFile()
    unowned.append(errors)
    let descriptors = [inputPipe.reading, outputPipe.writing, errors]
    process = try SpawnedProcess([program] + arguments, environment: environment, descriptors: descriptors)
    input = inputPipe.writing
    unsafe output = unsafe fdopen(outputPipe.reading, "r")!
    unowned = [inputPipe.reading, outputPipe.writing]
  }

  deinit {
    if code == nil {
      kill(process.pid, SIGTERM)
      _ = finish()
    }
    close(errors)
    unsafe free(line)
  }

  /// Reads the output up to the next `end` byte and skips that byte. Returns nil if the output ends before such a byte.
  func read(upTo end: UInt8) throws -> ArraySlice<UInt8>? {
    let count = unsafe getdelim(&line, &lineSize, Int32(end), output)
    let bytes = unsafe UnsafeRawBufferPointer(start: line, count: max(0, count))
    guard unsafe bytes.last == end else {
      try checkOutput()
      return nil
    }
    return unsafe Array(bytes)[..<(count - 1)]
  }

  /// Passes the next `count` bytes of the output to `body`, in pieces of at most 64 KiB.
  /// - Returns: false if the output ends before `count` bytes were read.
  func read(count: Int, _ body: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
    var piece = [UInt8](repeating: 0, count: min(count, Self.pieceSize))
    var rest = count
    while rest > 0 {
      let size = unsafe fread(&piece, 1, min(rest, piece.count), output)
      if size == 0 {
        try checkOutput()
        return false
      }
      rest -= size
      try body(piece[..<size])
    }
    return true
  }

  func readToEnd() throws -> [UInt8] {
    var bytes: [UInt8] = []
    _ = try read(count: .max) { bytes += $0 }
    return bytes
  }

  private func checkOutput() throws {
    guard unsafe ferror(output) != 0 else { return }
    throw Failure.unreadable("\(program) can't be read from: \(systemMessage(errno))")
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

  /// Closes both pipes and waits until the program has ended.
  /// - Returns: the exit code, or 128 plus the number of the signal that ended the program; 0 on a second call.
  func finish() -> Int32 {
    if let code { return code }
    close(input)
    unsafe fclose(output)
    let code = process.wait()
    self.code = code
    return code
  }

  /// The first 4 KiB of standard error.
  var errorText: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(errors, $0.baseAddress, $0.count, 0) }
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
