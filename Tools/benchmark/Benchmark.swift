import Dispatch
import Foundation

/// Measures all figures of this project, against peers, in one run.
///
/// In a ``Race``, the journal and its peers take turns: same bytes, same file system, same number of operations.
@main
struct Benchmark {
  static func main() async {
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      switch words.first {
      case OpeningProbe.flag: return try OpeningProbe.main(Array(words.dropFirst()))
      case FollowProbe.flag: return try await FollowProbe.main(Array(words.dropFirst()))
      default: break
      }
      let arguments = try Arguments(words)
      if arguments.wantsHelp { return print(Arguments.help) }
      let bench = try Workbench(arguments)
      let interruptions = [SIGINT, SIGTERM].map { interruption($0, of: bench) }
      let isComplete = await run(arguments.rows, on: bench)
      withExtendedLifetime(interruptions) { bench.end(isComplete ? 0 : 3) }
    } catch let error as WrongUse {
      complain(error.message)
      exit(2)
    } catch {
      complain("\(error)")
      exit(3)
    }
  }

  private static func interruption(_ number: Int32, of bench: Workbench) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler {
      bench.remark("The run was interrupted, so rows are missing.")
      bench.end(128 + number)
    }
    source.resume()
    return source
  }

  private static func run(_ rows: [Row], on bench: Workbench) async -> Bool {
    var ready: [Row] = []
    var found: [Need: String?] = [:]
    for row in rows {
      for need in row.needs where found[need] == nil { found[need] = need.lack(on: bench) }
      if row.needs.allSatisfy({ found[$0] == .some(nil) }) { ready.append(row) }
    }
    for case (let need, let lack?) in found {
      let names = rows.filter { $0.needs.contains(need) }.map(\.name).joined(separator: ", ")
      bench.remark("Left out: \(names) (\(lack)).")
    }
    var hasFailed = false
    for row in ready {
      do {
        try bench.begin(row.name)
        try await row.measure(bench)
      } catch {
        hasFailed = true
        bench.remark("\(row.name) failed: \(error)")
      }
    }
    return !hasFailed
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("benchmark: \(message)\n".utf8))
  }
}
