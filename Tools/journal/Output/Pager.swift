import Foundation
import Locks

final class Pager {
  let descriptor: Int32
  private let hasEnded = DispatchSemaphore(value: 0)
  /// Waits for the pager. Set only if no thread could be started to do so.
  private var wait: (() -> Void)?

  /// Nil if the pager can't be started, or if `PAGER` is empty or `cat`.
  init?() throws {
    var environment = ProcessInfo.processInfo.environment
    let command = environment["PAGER"] ?? "less"
    if command.isEmpty || command == "cat" { return nil }
    // The options that git uses: quit if all fits on the screen, pass colors through, leave the text on the screen.
    if environment["LESS"] == nil { environment["LESS"] = "FRX" }
    let words = [
      "/bin/sh", "-c", "command -v \(command.prefix { $0 != " " }) >/dev/null && exec \(command) || exec cat",
    ]
    let pipe = try SpawnedProcess.makePipe()
    defer { close(pipe.reading) }
    // While the pager runs, only the pager gets Ctrl-C.
    let ignored = Signals.ignore([SIGINT, SIGQUIT])
    guard
      let process = try? SpawnedProcess(
        words, environment: environment, descriptors: [pipe.reading], ignored: ignored)
    else {
      for number in ignored { signal(number, SIG_DFL) }
      close(pipe.writing)
      return nil
    }
    descriptor = pipe.writing
    let hasEnded = hasEnded
    let wait: @Sendable () -> Void = {
      _ = process.wait()
      for number in ignored { signal(number, SIG_DFL) }
      hasEnded.signal()
    }
    if !Threads.start(wait) { self.wait = wait }
  }

  func end() {
    close(descriptor)
    wait?()
    hasEnded.wait()
  }
}
