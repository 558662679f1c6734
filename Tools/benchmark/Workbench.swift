import Files
import Foundation
import Locks

final class Workbench: Sendable {
  let rounds: Int
  let isQuick: Bool
  let isLarge: Bool
  let seed: UInt64
  let postgres: String?
  private let folder: URL
  private let handle: Folder<PeerFailure>
  /// The seconds that flushing a small write takes, and so the least time of a durable commit.
  private let flushTime: Double
  private let showsProgress = isatty(FileHandle.standardError.fileDescriptor) == 1
  private let state: Lock<State>

  private struct State {
    var report: Report
    var row = ""
    var pathCount = 0
    var atEnd: [@Sendable () -> Void] = []
  }

  init(_ arguments: Arguments) throws {
    isQuick = arguments.isQuick
    isLarge = arguments.isLarge
    rounds = arguments.rounds ?? (arguments.isQuick ? 3 : 7)
    seed = arguments.seed
    postgres = arguments.postgres
    // The system's temporary folder may be in memory, where a flush costs nothing. So the default is the
    // folder of the program, in the build folder.
    let name = "journal-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
    folder = (arguments.folder ?? ownProgram("").deletingLastPathComponent())
      .appending(path: name, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    handle = try Folder(folder.path, followsLinks: true, hook: nil)
    flushTime = try Self.flushTime(in: handle)
    state = Lock(
      State(
        report: Report(
          environment: environment(of: folder, flushSeconds: flushTime, rounds: rounds, seed: seed))))
  }

  /// Starts a row, and removes the files of the previous row.
  func begin(_ row: String) throws {
    let old = state.withLock { state in
      defer { state.row = row }
      return state.row
    }
    try? FileManager.default.removeItem(at: folder.appending(path: old.isEmpty ? row : old))
    try FileManager.default.createDirectory(
      at: folder.appending(path: row), withIntermediateDirectories: true)
  }

  func add(_ work: String, _ unit: String, _ figure: Double, _ comparisons: [Comparison]) {
    state.withLock { $0.report.add($0.row, work, unit, figure, comparisons) }
  }

  func remark(_ text: String) { state.withLock { $0.report.remarks.append(text) } }

  /// Prints the report, removes everything that the run wrote, and ends the process.
  func end(_ code: Int32) -> Never {
    // The lock is never released, so an interrupt can't end the run twice.
    state.withLock { state -> Never in
      show("")
      print(state.report.text)
      Child.killAll()
      for action in state.atEnd { action() }
      // Renamed first, because threads that still write could add files while the folder is removed.
      let away = folder.deletingLastPathComponent().appending(path: "\(folder.lastPathComponent)-removed")
      try? FileManager.default.moveItem(at: folder, to: away)
      try? FileManager.default.removeItem(at: away)
      exit(code)
    }
  }

  /// Registers an action for the end of the run, also after an interrupt.
  func atEnd(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.atEnd.append(action) } }

  func show(_ text: String) {
    if showsProgress { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
  }

  var largeSize: Int { isQuick ? 100_000 : 1_000_000 }

  /// The sizes of a large and of a small journal, in items or entries.
  var sizes: [Int] { [largeSize, 10_000] }

  /// The path of a new file or folder, which is removed after the row.
  func path(_ name: String) -> URL {
    state.withLock { state in
      state.pathCount += 1
      return folder.appending(path: "\(state.row)/\(state.pathCount)-\(name)", directoryHint: .isDirectory)
    }
  }

  /// Calls `work` with a path in a new folder, which is removed afterwards.
  func temporary<Result>(_ work: (URL) async throws -> Result) async throws -> Result {
    let parent = path("turn")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: parent) }
    return try await work(parent.appending(path: "subject", directoryHint: .isDirectory))
  }

  /// Waits until the file system has nothing left to write.
  func settle() throws { _ = try handle.flushFileSystem() }

  /// A number of durable operations that takes about `seconds` on this drive when each waits for one flush.
  func operations(lasting seconds: Double, in range: ClosedRange<Int>) -> Int {
    min(range.upperBound, max(range.lowerBound, Int(seconds / max(flushTime, 1e-6))))
  }

  private static func flushTime(in folder: Folder<PeerFailure>) throws -> Double {
    let file = try folder.file("flush-time", .creating)
    let block = [UInt8](repeating: 0x5A, count: 256)
    return Spread(
      try (0..<200).map { index in
        try unsafe block.withUnsafeBytes { try unsafe file.write($0, at: index * block.count) }
        return try timed { try file.flush() }
      }
    ).median
  }
}
