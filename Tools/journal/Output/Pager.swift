import Foundation

/// The pager for long results: `PAGER`, or `less`.
final class Pager {
  private let process = Process()
  private let pipe = Pipe()

  /// Where results go.
  var descriptor: Int32 { pipe.fileHandleForWriting.fileDescriptor }

  /// Starts the pager; nil if it can't be started, or if `PAGER` is empty or `cat`.
  init?() throws {
    var environment = ProcessInfo.processInfo.environment
    let command = environment["PAGER"] ?? "less"
    if command.isEmpty || command == "cat" { return nil }
    // As git does: quit if everything fits on the screen, pass colors through, leave the text on the screen.
    if environment["LESS"] == nil { environment["LESS"] = "FRX" }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "command -v \(command.prefix { $0 != " " }) >/dev/null && exec \(command) || exec cat",
    ]
    process.environment = environment
    process.standardInput = pipe
    do { try process.run() } catch { return nil }
    try? pipe.fileHandleForReading.close()
  }

  func end() {
    try? pipe.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
