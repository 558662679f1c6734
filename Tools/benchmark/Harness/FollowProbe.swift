import CatalogModel
import Foundation

/// A process that follows a journal and reports when it sees each entry, or only when it sees one of them.
final class FollowProbe {
  /// The first argument of such a process.
  static let flag = "--follow-probe"

  private let child = Process()
  private let output = Pipe()

  /// Starts this program again as such a process, and returns when it follows the journal.
  /// - Parameter last: the only entry that it reports; nil for all.
  init(_ journal: URL, until last: Revision? = nil) throws {
    child.executableURL = Bundle.main.executableURL
    child.arguments = [Self.flag, journal.path] + (last.map { ["\($0)"] } ?? [])
    child.standardOutput = output
    try child.run()
    guard try line() == "follows" else {
      throw PeerFailure(description: "The process that follows \(journal.path) failed.")
    }
  }

  /// Waits until the process has seen the next entry, and returns when that was, as ``now()`` does.
  func next() throws -> Double {
    guard let seconds = Double(try line()) else { throw PeerFailure(description: "The follower has ended.") }
    return seconds
  }

  /// The processor time that the process has used so far, in seconds.
  func processorSeconds() throws -> Double {
    #if os(Linux)
      var (clock, time) = (clockid_t(), timespec())
      if unsafe clock_getcpuclockid(child.processIdentifier, &clock) == 0,
        unsafe clock_gettime(clock, &time) == 0
      {
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
      }
    #endif
    throw PeerFailure(description: "The system does not report the processor time of a process.")
  }

  func end() {
    kill(child.processIdentifier, SIGKILL)
    child.waitUntilExit()
  }

  private func line() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The time in seconds of a clock that all processes share.
  static func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The main function of such a process.
  /// - Parameter arguments: what follows ``flag``.
  static func main(_ arguments: [String]) async throws {
    guard (1...2).contains(arguments.count) else {
      throw WrongUse(message: "\(flag) is for the benchmark's own use.")
    }
    let last = arguments.count == 2 ? Revision(arguments[1]) : nil
    let journal = try CatalogJournal.open(
      at: URL(filePath: arguments[0], directoryHint: .isDirectory), mode: .follow)
    let entries = journal.newEntries
    FileHandle.standardOutput.write(Data("follows\n".utf8))
    for try await entry in entries where last == nil || entry.revision == last {
      FileHandle.standardOutput.write(Data("\(now())\n".utf8))
    }
  }
}
