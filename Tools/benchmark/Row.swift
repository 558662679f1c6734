import Foundation

/// Lines of the report that are measured together.
struct Row: Sendable {
  let name: String
  var needs: [Need] = []
  /// Measures the lines, and adds each to the report as soon as its figures are known.
  let measure: @Sendable (Workbench) async throws -> Void

  static let all = [
    Row(name: "commit-1") { try await commits($0, callers: 1) },
    Row(name: "commit-64") { try await commits($0, callers: 64) },
    Row(name: "commit-reopened", measure: commitsAfterOpening),
    Row(name: "bulk") { try await bulk($0, entries: $0.isQuick ? 60 : 300, wanted: 0.8) },
    Row(name: "bulk-long") { try await bulk($0, entries: $0.isQuick ? 300 : 1_000) },
    Row(name: "replay", measure: replay),
    Row(name: "replay-updates", measure: replayOfUpdates),
    Row(name: "as-of", measure: asOf),
    Row(name: "history-part", measure: historyPart),
    Row(name: "screens", measure: screens),
    Row(name: "live-query", measure: liveQuery),
    Row(name: "snapshot", measure: snapshots),
    Row(name: "opening", needs: [.processStatus], measure: opening),
    Row(name: "opening-killed", needs: [.processStatus], measure: openingAfterKill),
    Row(name: "opening-backlog", needs: [.processStatus], measure: openingWithBacklog),
    Row(name: "start-up", needs: [.processStatus], measure: startUp),
    Row(name: "layer-write", measure: layerWrite),
    Row(name: "commit-tail", measure: commitTail),
    Row(name: "save-10") { try await save($0, among: 10) },
    Row(name: "save-1000") { try await save($0, among: 1_000) },
    Row(name: "save-100000") { try await save($0, among: 100_000, wanted: 1_000) },
    Row(name: "query", measure: queries),
    Row(name: "aggregates", measure: aggregates),
    Row(name: "joins", measure: joins),
    Row(name: "query-opening", needs: [.processStatus], measure: openingOfIndex),
    Row(name: "search", measure: search),
    Row(name: "values", measure: values),
    Row(name: "rules", measure: commitsUnderRules),
    Row(name: "cascade", measure: cascades),
    Row(name: "images") { try await images($0, oneCommit: false) },
    Row(name: "images-import") { try await images($0, oneCommit: true) },
    Row(name: "follow", measure: follow),
    Row(name: "verbs", needs: [.commandLine], measure: verbs),
    Row(name: "shared-1", needs: [.postgres]) { try await shared($0, nodes: 1) },
    Row(name: "shared-3", needs: [.postgres]) { try await shared($0, nodes: 3) },
    Row(name: "shared-join", needs: [.postgres], measure: sharedJoin),
    Row(name: "shared-follow", needs: [.postgres], measure: sharedFollow),
  ]
}

/// What a row needs besides the libraries that are linked.
enum Need {
  case commandLine
  case postgres
  /// Linux's /proc, for the memory of a process.
  case processStatus

  /// Why the need is not met; nil if it is met.
  func lack(on bench: Workbench) -> String? {
    do {
      switch self {
      case .commandLine:
        guard FileManager.default.isExecutableFile(atPath: ownProgram("journal").path) else {
          return "needs the program journal: swift build -c release builds both"
        }
      case .processStatus: _ = try peakMemory(of: "self")
      case .postgres:
        guard let address = bench.postgres else { return "needs --postgres ADDRESS" }
        guard try psql("SELECT to_regclass('journal_logs') IS NULL", at: address) == "t" else {
          return "the database has tables of journals, which the benchmark would drop; name an empty one"
        }
      }
      return nil
    } catch { return "\(error)" }
  }
}
