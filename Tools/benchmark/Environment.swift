import CPeers
import Foundation

/// Where a run was made: without it the figures mean nothing.
struct Environment: Encodable {
  let date = Date.now.formatted(.iso8601)
  let processor = processorName()
  let cores = ProcessInfo.processInfo.activeProcessorCount
  let memoryGiB = (Double(ProcessInfo.processInfo.physicalMemory) / Double(1 << 30) * 10).rounded() / 10
  let system = said("uname", ["-sr"]) ?? ProcessInfo.processInfo.operatingSystemVersionString
  let folder: String
  let fileSystem: String
  /// The median flush of a small write there, in seconds.
  let flushSeconds: Double
  let swift = said("swift", ["--version"])?.firstMatch(of: /Swift version [^ ]+/).map { String($0.output) }
  let peers = unsafe String(cString: peer_versions())
  let rounds: Int
  let seed: UInt64
  #if DEBUG
    let build = "debug (the figures mean nothing)"
  #else
    let build = "release"
  #endif

  init(folder: URL, flushSeconds: Double, rounds: Int, seed: UInt64) {
    self.folder = folder.deletingLastPathComponent().path
    fileSystem = said("df", ["--output=fstype", folder.path])?.components(separatedBy: "\n").last ?? "?"
    (self.flushSeconds, self.rounds, self.seed) = (flushSeconds, rounds, seed)
  }

  var lines: [String] {
    let flush = String(format: "%.0f µs", flushSeconds * 1e6)
    return [
      "machine   \(processor), \(cores) cores, \(memoryGiB) GiB; \(system)",
      "folder    \(folder) on \(fileSystem); a flush takes \(flush)",
      "software  \(swift ?? "Swift of unknown version"), \(build) build; \(peers)",
      "run       \(date), \(rounds) rounds, seed \(seed)",
    ]
  }
}

/// What a program prints; nil if there is none.
private func said(_ program: String, _ arguments: [String]) -> String? {
  guard let text = try? output(of: program, arguments) else { return nil }
  return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

private func processorName() -> String {
  let lines = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
  let name = lines?.first { $0.hasPrefix("model name") }?.split(separator: ":").last
  return name?.trimmingCharacters(in: .whitespaces) ?? "processor of unknown name"
}
