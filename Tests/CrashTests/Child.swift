import Foundation
import Locks
import Testing

/// A process of `CrashChild` with pipes to and from it.
final class Child {
  private let process = Process()
  private let (input, output, errors) = (Pipe(), Pipe(), Pipe())
  /// - Parameter environment: variables besides those of this process.
  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
    process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // A full pipe would block the process, so a thread reads it.
    let handle = output.fileHandleForReading
    Thread.detachNewThread { [reader] in
      while true {
        let data = handle.availableData
        reader.append(data)
        if data.isEmpty { return }
      }
    }
  }

  private let reader = Reader()

  func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

  /// The lines up to and including the first for which `isLast` is true.
  func lines(until isLast: (String) -> Bool) throws -> [String] {
    var lines: [String] = []
    let end = Date() + 300
    while Date() < end {
      while let line = reader.nextLine() {
        lines.append(line)
        if isLast(line) { return lines }
      }
      if reader.isAtEnd { break }
      if lines.isEmpty && isLast("") { return [] }
      usleep(1000)
    }
    let complaints = reader.isAtEnd ? errors.fileHandleForReading.availableData : Data()
    throw Complaint(
      text: "the line did not come: \(String(decoding: complaints, as: UTF8.self)) \(lines.suffix(2))")
  }

  /// Kills the process, and returns the lines that it had printed.
  func kill() throws -> [String] {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      let complaints = try errors.fileHandleForReading.readToEnd() ?? Data()
      throw Complaint(text: "the process ended by itself: \(String(decoding: complaints, as: UTF8.self))")
    }
    return rest()
  }

  /// Waits for the end of the process, and returns the lines that it had printed.
  func end() throws -> [String] {
    let lines = rest()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      let complaints = try errors.fileHandleForReading.readToEnd() ?? Data()
      throw Complaint(text: String(decoding: complaints, as: UTF8.self))
    }
    return lines
  }

  private func rest() -> [String] {
    while !reader.isAtEnd { usleep(1000) }
    var lines: [String] = []
    while let line = reader.nextLine() { lines.append(line) }
    return lines
  }
}

private struct Complaint: Error { var text: String }

/// Splits output that arrives in pieces into whole lines.
private final class Reader: Sendable {
  private struct State {
    var bytes = Data()
    var isAtEnd = false
  }
  private let state = Lock(State())

  /// Whether no more output will arrive.
  var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

  func append(_ data: Data) {
    state.withLock { state in
      state.bytes.append(data)
      if data.isEmpty { state.isAtEnd = true }
    }
  }

  func nextLine() -> String? {
    state.withLock { state in
      guard let end = state.bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      let line = String(decoding: state.bytes[..<end], as: UTF8.self)
      state.bytes.removeSubrange(...end)
      return line
    }
  }
}
