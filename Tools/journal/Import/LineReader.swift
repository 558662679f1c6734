import Foundation

/// The lines of a file, read in pieces.
final class LineReader {
  private let file: FileHandle
  private let path: String
  private var piece = [UInt8](repeating: 0, count: 256 << 10)
  /// What was read and is not returned yet begins at `start`.
  private var bytes: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of the line that was read last, from 1.
  private(set) var number = 0

  init(_ file: FileHandle, _ path: String) { (self.file, self.path) = (file, path) }

  /// Opens a file, or standard input for the path `-`.
  /// - Throws: ``Failure`` with ``ExitCode/wrongUse`` and the reason if the file can't be opened.
  static func open(_ path: String) throws(Failure) -> FileHandle {
    if path == "-" { return .standardInput }
    let descriptor = unsafe Foundation.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, errno) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  private static func failure(_ path: String, _ code: Int32) -> Failure {
    Failure.wrongUse("\(path.printable) can't be read: \(systemMessage(code))")
  }

  /// The next line without its end, LF or CR LF; nil after the last one.
  /// - Throws: ``Failure`` if the file can't be read.
  func next() throws(Failure) -> ArraySlice<UInt8>? {
    guard var line = try next(through: UInt8(ascii: "\n")) else { return nil }
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  /// The next line with its end, which the last line of a file may lack.
  func nextWithEnd() throws(Failure) -> ArraySlice<UInt8>? { try next(through: UInt8(ascii: "\n")) }

  private func next(through end: UInt8) throws(Failure) -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let place = bytes[searched...].firstIndex(of: end) {
        defer { start = place + 1 }
        number += 1
        return bytes[start...place]
      }
      searched = bytes.count
      if isAtEnd {
        guard start < bytes.count else { return nil }
        defer { start = bytes.count }
        number += 1
        return bytes[start...]
      }
      searched -= start
      bytes.removeSubrange(..<start)
      start = 0
      try readPiece()
    }
  }

  private func readPiece() throws(Failure) {
    var count = 0
    repeat {
      count = unsafe piece.withUnsafeMutableBytes { buffer in
        unsafe Foundation.read(file.fileDescriptor, buffer.baseAddress, buffer.count)
      }
    } while count < 0 && errno == EINTR
    guard count >= 0 else { throw Self.failure(path, errno) }
    isAtEnd = count == 0
    bytes += piece[..<count]
  }
}

/// What is wrong with a line of a file.
struct LineProblem: Error {
  /// The number of the line, from 1.
  let line: Int
  let message: String

  init(_ line: Int, _ message: String) { (self.line, self.message) = (line, message) }
}

/// The lines that can't be taken. The first of them are printed, and all are counted.
struct LineProblems {
  private let terminal: Terminal
  private(set) var first: LineProblem?
  private(set) var count = 0

  init(_ terminal: Terminal) { self.terminal = terminal }

  mutating func note(_ problem: LineProblem) {
    count += 1
    first = first ?? problem
    if count <= ImportReport.lineLimit {
      terminal.warn("line \(problem.line): \(problem.message.printable)")
    } else if count == ImportReport.lineLimit + 1 {
      terminal.warn("further lines are only counted")
    }
  }
}
