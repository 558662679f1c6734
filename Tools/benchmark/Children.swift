import CatalogModel
import Foundation
import Locks

/// The location of a program in the folder of this program, or of this program if the name is empty.
func ownProgram(_ name: String) -> URL {
  let own = Bundle.main.executableURL?.resolvingSymlinksInPath() ?? URL(filePath: CommandLine.arguments[0])
  return name.isEmpty ? own : own.deletingLastPathComponent().appending(path: name)
}

/// A child process that runs until this object is deinitialized, or until the benchmark ends.
final class Child {
  private static let running = Lock<Set<Int32>>([])
  private let process: Process
  private let output = Pipe()

  init(_ program: URL, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Set last: if the program can't be started, there is no process that `deinit` could end.
    self.process = process
    _ = Self.running.withLock { [id] in $0.insert(id) }
  }

  deinit {
    _ = Self.running.withLock { [id] in $0.remove(id) }
    // SIGKILL, because the child, like the benchmark, ignores SIGINT and SIGTERM.
    if process.isRunning { kill(id, SIGKILL) }
    process.waitUntilExit()
  }

  static func killAll() { running.withLock { for id in $0 { kill(id, SIGKILL) } } }

  var id: Int32 { process.processIdentifier }

  func line() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func rest() throws -> (output: Data, code: Int32) {
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (bytes, process.terminationStatus)
  }
}

/// Runs a program and returns its output. Throws ``PeerFailure`` for an exit code other than 0.
@discardableResult
func output(of program: URL, _ arguments: [String]) throws -> Data {
  let (output, code) = try Child(program, arguments).rest()
  guard code == 0 else {
    throw PeerFailure("\(program.lastPathComponent) \(arguments.joined(separator: " ")) exited with \(code)")
  }
  return output
}

/// Runs a program that is found in `PATH`, and returns its output.
@discardableResult
func output(of name: String, _ arguments: [String]) throws -> Data {
  try output(of: URL(filePath: "/usr/bin/env"), [name] + arguments)
}

/// The peak resident memory of a process, in bytes.
func peakMemory(of process: String) throws -> Double {
  let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
  else { throw PeerFailure("the system does not report the peak memory of a process") }
  return kilobytes * 1024
}

/// Measures opening a journal and reading something, in a separate process.
enum OpeningProbe {
  static let flag = "--opening-probe"

  /// Runs this program again as the process that opens the journal.
  /// - Parameter question: `item` and a number; or `prices` and a price, to read 20 samples from there on by an index.
  /// - Returns: the time from opening the journal to the answer, and the peak memory of the process, in bytes.
  static func run(_ journal: URL, _ question: [String]) throws -> (seconds: Double, memory: Double) {
    let answer = try output(of: ownProgram(""), [flag, journal.path] + question)
    let figures = String(decoding: answer, as: UTF8.self).split(separator: " ").compactMap { Double($0) }
    guard figures.count == 2 else { throw PeerFailure("opening \(journal.path) printed no figures") }
    return (figures[0], figures[1])
  }

  static func main(_ arguments: [String]) throws {
    let url = URL(filePath: arguments[0], directoryHint: .isDirectory)
    var isAnswered = false
    let seconds = try timed {
      let state = try CatalogJournal.open(at: url, mode: .readOnly).state
      if arguments[1] == "item" {
        isAnswered = state.item(EntityID(Int(arguments[2])!))?.attributes.isEmpty == false
      } else {
        let price = Double(arguments[2])!
        let samples = try state.items(Sample.self).filter(\.price >= price).sorted(by: \.price).prefix(20)
        isAnswered = try samples.values.count == 20
      }
    }
    guard isAnswered else { throw PeerFailure("\(url.path) lacks the requested items") }
    print(seconds, try peakMemory(of: "self"), terminator: "")
  }
}

struct FollowProbe {
  static let flag = "--follow-probe"

  private let child: Child

  /// Starts this program again as a follower, and waits until it follows the journal.
  /// - Parameter last: the only revision whose arrival is reported; nil to report all.
  init(_ journal: URL, until last: Revision? = nil) throws {
    child = try Child(ownProgram(""), [Self.flag, journal.path] + (last.map { ["\($0)"] } ?? []))
    guard try child.line() == "follows" else { throw PeerFailure("following \(journal.path) failed") }
  }

  func next() throws -> Double {
    guard let seconds = Double(try child.line()) else { throw PeerFailure("the follower has ended") }
    return seconds
  }

  /// The time in seconds, by a clock that all processes share.
  static func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func main(_ arguments: [String]) async throws {
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
