import Foundation

/// The machine, the folder, the software and the settings of a run, a line each.
/// - Parameter flushSeconds: the median time of flushing a small write.
func environment(of folder: URL, flushSeconds: Double, rounds: Int, seed: UInt64) -> [String] {
  let information = ProcessInfo.processInfo
  let processor = processorName() ?? "processor of unknown name"
  let memory = (Double(information.physicalMemory) / Double(1 << 30) * 10).rounded() / 10
  let system = said("uname", ["-sr"]) ?? information.operatingSystemVersionString
  let fileSystem = said("df", ["--output=fstype", folder.path])?.components(separatedBy: "\n").last ?? "?"
  let flush = String(format: "%.0f µs", flushSeconds * 1e6)
  let swift = said("swift", ["--version"])?.firstMatch(of: /Swift version [^ ]+/).map { String($0.output) }
  #if DEBUG
    let build = "debug (the figures mean nothing)"
  #else
    let build = "release"
  #endif
  return [
    "machine   \(processor), \(information.activeProcessorCount) cores, \(memory) GiB; \(system)",
    "folder    \(folder.deletingLastPathComponent().path) on \(fileSystem); a flush takes \(flush)",
    "software  \(swift ?? "Swift of unknown version"), \(build) build; \(PeerFailure.versions)",
    "run       \(Date.now.formatted(.iso8601)), \(rounds) rounds, seed \(seed)",
  ]
}

/// The output of a program; nil if it fails.
private func said(_ program: String, _ arguments: [String]) -> String? {
  guard let text = try? output(of: program, arguments) else { return nil }
  return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

private func processorName() -> String? {
  let lines = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
  let name = lines?.first { $0.hasPrefix("model name") }?.split(separator: ":").last
  return name?.trimmingCharacters(in: .whitespaces)
}
