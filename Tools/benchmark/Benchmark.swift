import CatalogModel
import Foundation

/// Measures all figures of this project, against peers, in one run.
///
/// Each row is a race (``Race``) between the journal and its peers: same bytes, same file system, same number of
/// operations, in turns. `Rows/` has a file for each kind of work.
@main
struct Benchmark {
  static func main() async {
    do {
      if CommandLine.arguments.dropFirst().first == OpeningProbe.flag {
        return try OpeningProbe.main(Array(CommandLine.arguments.dropFirst(2)))
      }
      if CommandLine.arguments.dropFirst().first == FollowProbe.flag {
        return try await FollowProbe.main(Array(CommandLine.arguments.dropFirst(2)))
      }
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      if arguments.wantsHelp {
        print(Arguments.help)
        return
      }
      let report = try await run(arguments)
      print(try arguments.wantsJSON ? report.json() : report.text())
      if arguments.isStrict && report.rows.contains(where: \.isMissed) { exit(1) }
    } catch let error as WrongUse {
      complain(error.message)
      exit(2)
    } catch {
      complain("\(error)")
      exit(3)
    }
  }

  private static func run(_ arguments: Arguments) async throws -> Report {
    if arguments.rows.contains(.verbs) || arguments.rows.contains(.view) { _ = try commandLineProgram() }
    let bench = try Workbench(arguments)
    defer { bench.dismantle() }
    let environment = try Environment(bench)
    var rows: [ReportRow] = []
    for callers in [1, 8, 64] {
      rows += try await commitRows(bench, callers: callers)
    }
    rows += try await reopenedRows(bench)
    rows += try await bulkRows(bench)
    rows += try await logRows(bench)
    rows += try await asOfRows(bench)
    rows += try await snapshotRows(bench)
    rows += try await openingRows(bench)
    rows += try await layerRows(bench)
    rows += try await commitTailRows(bench)
    rows += try await saveRows(bench)
    rows += try await queryRows(bench)
    rows += try await imageRows(bench)
    rows += try await followRows(bench)
    rows += try await verbRows(bench)
    rows += try await viewRows(bench)
    rows += try await backupRows(bench)
    rows += try await sharedRows(bench)
    bench.progress.clear()
    return Report(environment: environment, rows: rows.filter { arguments.rows.contains($0.name) })
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("benchmark: \(message)\n".utf8))
  }
}
