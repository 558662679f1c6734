import Dispatch
import Foundation

/// The folder in which a run writes, and its settings for the rows.
final class Workbench {
  let folder: URL
  let rows: Set<RowName>
  let rounds: Int
  let isQuick: Bool
  let isLarge: Bool
  let seed: UInt64
  /// A database for the rows of shared journals.
  let postgres: String?
  let progress = ProgressLine()
  /// The time of flushing a small write, in seconds. A durable commit can't be faster.
  let flushTime: Double
  private let interruptions: [any DispatchSourceSignal]
  private var folderCount = 0

  /// Makes a new folder and measures the time of a flush there.
  init(_ arguments: Arguments) throws {
    rows = arguments.rows
    isQuick = arguments.isQuick
    isLarge = arguments.isLarge
    rounds = arguments.rounds ?? (arguments.isQuick ? 3 : 7)
    seed = arguments.seed
    postgres = arguments.postgres
    let name = "journal-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
    let folder = try Self.parent(arguments.folder).appending(path: name, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    self.folder = folder

    // A run writes up to some gigabytes, so they are removed even if it is stopped.
    interruptions = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Self.remove(folder)
        exit(128 + number)
      }
      source.resume()
      return source
    }
    do {
      flushTime = try FilesPeer.flushTime(in: folder)
    } catch {
      Self.remove(folder)
      throw error
    }
  }

  /// Removes everything that the run wrote.
  func dismantle() {
    for interruption in interruptions { interruption.cancel() }
    progress.clear()
    Self.remove(folder)
  }

  // Contestants that still write could add files while the folder is being removed, so it is renamed first.
  private static func remove(_ folder: URL) {
    let away = folder.deletingLastPathComponent().appending(path: "\(folder.lastPathComponent)-removed")
    try? FileManager.default.moveItem(at: folder, to: away)
    try? FileManager.default.removeItem(at: away)
  }

  /// The path of a new file or folder, which does not exist yet.
  func newPath(_ name: String) -> URL {
    folderCount += 1
    return folder.appending(path: "\(folderCount)-\(name)", directoryHint: .isDirectory)
  }

  /// A new, empty folder.
  func newFolder(_ name: String) throws -> URL {
    let url = newPath(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    return url
  }

  /// Runs `work` in a new folder that is removed afterwards.
  func inNewFolder<Result>(_ work: (URL) throws -> Result) throws -> Result {
    let folder = try newFolder("peer")
    defer { discard(folder) }
    return try work(folder)
  }

  func discard(_ url: URL) {
    try? FileManager.default.removeItem(at: url)
  }

  /// A number of durable operations that takes about `seconds` on this drive when each waits for one flush.
  func operations(lasting seconds: Double, in range: ClosedRange<Int>) -> Int {
    min(range.upperBound, max(range.lowerBound, Int(seconds / max(flushTime, 1e-6))))
  }

  // On many machines the system's temporary folder is in memory, where a flush costs nothing and the ratios mean
  // nothing. So the folder of the program, which is in the build folder, is preferred.
  private static func parent(_ wanted: URL?) throws -> URL {
    if let wanted {
      var isFolder: ObjCBool = false
      guard unsafe FileManager.default.fileExists(atPath: wanted.path, isDirectory: &isFolder),
        isFolder.boolValue
      else { throw WrongUse(message: "--in: “\(wanted.path)” is not a folder.") }
      return wanted
    }
    if let own = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent(),
      FileManager.default.isWritableFile(atPath: own.path)
    {
      return own
    }
    return FileManager.default.temporaryDirectory
  }
}
