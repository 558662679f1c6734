/// The results of a run.
struct Report {
  let environment: Environment
  let rows: [ReportRow]
}
