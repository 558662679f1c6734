import Files
import Foundation
import Journaling
import Locks
import TestSupport
import Testing

extension Pages {
  /// Makes each file operation of an erasure, a pruning or a garbage collection fail, alone and together with all that
  /// follow. The work must be done in full or not at all. If no error is thrown, it must be done.
  /// - Parameters:
  ///   - act: does the work on the journal at a URL, with a hook that is called for each operation.
  ///   - isDone: whether the work was done on the journal at a URL. `place` is for messages.
  func failEachOperation(
    of name: String, _ act: (URL, @escaping FileHook) throws -> Void,
    isDone: (_ url: URL, _ place: String) throws -> Bool
  ) throws {
    let operations = Lock(0)
    try act(try copy("Count.journal")) { _ in
      operations.withLock { $0 += 1 }
      return .proceed
    }
    let count = operations.withLock { $0 }
    var (done, undone) = (0, 0)
    for index in 0..<count {
      for lasts in [false, true] {
        let url = try copy("Faulty.journal")
        let seen = Lock(0)
        let result = Result {
          try act(url) { _ in
            let now = seen.withLock { seen in
              defer { seen += 1 }
              return seen
            }
            return now == index || (lasts && now > index) ? .fail(EIO) : .proceed
          }
        }
        let place = "operation \(index)\(lasts ? " and all after it" : "")"
        if try isDone(url, place) {
          done += 1
          if case .failure(let error) = result {
            // The work is done, so the error is about a later operation.
            let code = (error as? JournalError)?.code
            #expect(code == .outcomeUnknown || code == .io, "\(place): \(error)")
          }
        } else {
          undone += 1
          if case .success = result { Issue.record("\(place): the \(name) succeeded without being done") }
        }
      }
    }
    print("\(name) faults: \(count) operations, \(done) times done, \(undone) times not")
    #expect(done > 0 && undone > 0)
  }

  /// Does an erasure or a pruning in another process, which is killed at each file operation in turn.
  /// - Parameter name: the name of the work among the arguments of `CrashChild`.
  func killAtEachOperation(
    of name: String, isDone: (_ url: URL, _ place: String) throws -> Bool
  ) throws {
    var (done, undone, index) = (0, 0, 0)
    while true {
      let url = try copy("Killed.journal")
      let process = Process()
      let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
      process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
      process.arguments = [name, url.path, "\(index)"]
      try process.run()
      process.waitUntilExit()
      let wasKilled = process.terminationReason == .uncaughtSignal
      #expect(wasKilled || process.terminationStatus == 0)
      if try isDone(url, "killed at operation \(index)") { done += 1 } else { undone += 1 }
      if !wasKilled { break }
      index += 1
    }
    print("\(name) kills: \(index) operations, \(done) times done, \(undone) times not")
    #expect(done > 1 && undone > 1)
  }
}
