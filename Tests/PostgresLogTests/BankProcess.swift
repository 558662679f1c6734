import Foundation
import Journaling
import TestSupport
import Testing

/// A node of a bank (`BankNode`) in a process of its own, which can be killed and started again.
final class BankProcess {
  struct Turn: Hashable {
    let author: String
    let turn: Int
  }

  enum Outcome: Hashable {
    case done(Revision)
    case failed
    case unknown

    var name: String {
      switch self {
      case .done: "done"
      case .failed: "failed"
      case .unknown: "unknown"
      }
    }
  }

  static let writerCount = 16
  /// How many turn numbers each start of the process has for itself.
  private static let turnCount = 1_000_000

  let number: Int
  let url: URL
  private let folder: TemporaryFolder
  private var process: Process?
  /// For each start, whether the process was killed.
  private var starts: [Bool] = []

  init(_ number: Int, in folder: TemporaryFolder) {
    self.number = number
    self.folder = folder
    url = folder.url.appending(path: "Node\(number).journal")
  }

  private func output(_ start: Int) -> URL { folder.url.appending(path: "node\(number)-\(start).output") }

  func start(seed: UInt64) throws {
    let process = Process()
    let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
    process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
    process.arguments = [
      "bank", url.path, "\(number)", "\(Self.writerCount)", "\(starts.count * Self.turnCount)", "\(seed)",
    ]
    let output = output(starts.count)
    try Data().write(to: output)
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
    self.process = process
    starts.append(false)
  }

  var isRunning: Bool { process?.isRunning == true }

  func signal(_ number: Int32) { if let process { Foundation.kill(process.processIdentifier, number) } }

  func kill() {
    guard let process, process.isRunning else { return }
    signal(SIGKILL)
    process.waitUntilExit()
    starts[starts.count - 1] = true
  }

  /// Tells the process to end, and waits until it has.
  func finish() throws {
    try Data().write(to: URL(filePath: "\(url.path).end"))
    for _ in 0..<1200 where isRunning { usleep(100_000) }
    #expect(!isRunning, "a commit of node \(number) does not return")
    if !isRunning { #expect(process?.terminationStatus == 0) }
    kill()
  }

  /// The bytes that all starts have printed.
  var outputByteCount: Int {
    starts.indices.reduce(0) {
      $0 + ((try? FileManager.default.attributesOfItem(atPath: output($1).path)[.size] as? Int) ?? 0)
    }
  }

  /// The outcomes that the process has reported, and the turns whose report a kill may have prevented.
  func told() throws -> (outcomes: [Turn: Outcome], interrupted: Set<Turn>) {
    var outcomes: [Turn: Outcome] = [:]
    var interrupted: Set<Turn> = []
    for (start, wasKilled) in starts.enumerated() {
      let text = try String(contentsOf: output(start), encoding: .utf8)
      // The kill may have cut the last line.
      let lines = text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n")
      var next = [Int](repeating: start * Self.turnCount, count: Self.writerCount)
      for line in lines {
        let words = line.split(separator: " ").map(String.init)
        let numbers = words.compactMap { Int($0) }
        guard let writer = numbers.dropLast().last, let turn = numbers.last else { continue }
        let key = Turn(author: "\(number)-\(writer)", turn: turn)
        switch words[0] {
        case "done": outcomes[key] = .done(numbers[0])
        case "failed": outcomes[key] = .failed
        default: outcomes[key] = .unknown
        }
        next[writer] = turn + 1
      }
      guard wasKilled else { continue }
      for (writer, turn) in next.enumerated() {
        interrupted.insert(Turn(author: "\(number)-\(writer)", turn: turn))
      }
    }
    return (outcomes, interrupted)
  }
}
