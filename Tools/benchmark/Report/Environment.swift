import Foundation

/// Where a run was made: without it the figures mean nothing.
struct Environment: Encodable {
  let date: String
  let processor: String
  let cores: Int
  let memoryGiB: Double
  let system: String
  let folder: String
  let fileSystem: String
  /// The median flush of a small write there, in seconds.
  let flushSeconds: Double
  let swift: String
  let build: String
  let levelDB: String
  let sqlite: String
  let rounds: Int
  let seed: UInt64

  init(_ bench: Workbench) throws {
    let process = ProcessInfo.processInfo
    date = Date.now.formatted(.iso8601)
    processor = Self.processorName()
    cores = process.activeProcessorCount
    memoryGiB = (Double(process.physicalMemory) / Double(1 << 30) * 10).rounded() / 10
    system = Self.systemName()
    folder = bench.folder.deletingLastPathComponent().path
    fileSystem = Self.fileSystem(of: bench.folder)
    flushSeconds = bench.flushTime
    swift = Self.swiftVersion()
    #if DEBUG
      build = "debug: the figures mean nothing, build with -c release"
    #else
      build = "release"
    #endif
    levelDB = LevelDBPeer.version
    sqlite = SQLitePeer.version
    rounds = bench.rounds
    seed = bench.seed
  }

  /// The environment for people.
  var lines: [String] {
    let flush = String(format: "%.0f µs", flushSeconds * 1e6)
    return [
      "machine   \(processor), \(cores) cores, \(memoryGiB) GiB; \(system)",
      "folder    \(folder) on \(fileSystem); a flush takes \(flush)",
      "software  \(swift), \(build) build; LevelDB \(levelDB), SQLite \(sqlite)",
      "run       \(date), \(rounds) rounds, seed \(seed)",
    ]
  }

  private static func processorName() -> String {
    let lines = ((try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? "").split(separator: "\n")
    for line in lines where line.hasPrefix("model name") {
      if let colon = line.firstIndex(of: ":") {
        return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      }
    }
    #if arch(arm64)
      return "arm64 processor"
    #else
      return "processor of unknown name"
    #endif
  }

  private static func systemName() -> String {
    let release = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
    guard let release else { return ProcessInfo.processInfo.operatingSystemVersionString }
    return "Linux \(release.trimmingCharacters(in: .whitespacesAndNewlines))"
  }

  /// The type of the mounted file system that holds a folder: the one mounted at its longest prefix.
  private static func fileSystem(of folder: URL) -> String {
    let path = folder.resolvingSymlinksInPath().path
    let mounts = (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8)) ?? ""
    var best = (length: -1, type: "an unknown file system")
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard fields.count > 2 else { continue }
      let point = fields[1] == "/" ? "" : fields[1]
      if path == point || path.hasPrefix(point + "/"), point.count >= best.length {
        best = (point.count, String(fields[2]))
      }
    }
    return best.type
  }

  /// The version that `swift --version` prints; without a toolchain, the one that this program was compiled with.
  private static func swiftVersion() -> String {
    if let text = try? String(decoding: output(of: "swift", ["--version"]), as: UTF8.self),
      let start = text.range(of: "Swift version "),
      let number = text[start.upperBound...].split(whereSeparator: \.isWhitespace).first
    {
      return "Swift \(number)"
    }
    #if compiler(>=6.3)
      return "Swift 6.3 or later"
    #else
      return "Swift 6.2"
    #endif
  }
}
