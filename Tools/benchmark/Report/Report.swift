/// All that a run found.
struct Report {
  let environment: Environment
  let rows: [ReportRow]
}
