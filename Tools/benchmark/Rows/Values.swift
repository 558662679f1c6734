import CatalogModel
import Foundation

/// An invoice: ten properties, among them an amount of money and dates.
private struct Invoice: CatalogItem, Equatable {
  static let kind = "invoice"
  var number: Int
  var customer: String
  var street: String
  var city: String
  var amount: Decimal
  var tax: Double
  var due: Date
  var paid: Date?
  var isSent: Bool
  var tags: [String]

  init(_ number: Int, _ random: inout SeededGenerator) {
    self.number = number
    customer = "Customer \(Int.random(in: 0..<10_000, using: &random))"
    (street, city) = ("A street of some length \(number)", "Santiago")
    amount = Decimal(Int.random(in: 0..<1_000_000, using: &random)) / 100
    tax = .random(in: 0..<1, using: &random)
    due = Date(timeIntervalSinceReferenceDate: .random(in: 6e8...9e8, using: &random))
    paid = number.isMultiple(of: 2) ? nil : due
    isSent = number.isMultiple(of: 3)
    tags = number.isMultiple(of: 5) ? ["late", "export"] : []
  }
}

/// A table of invoices: a decimal number and tags as texts, dates and Booleans as numbers.
private func table(of invoices: [Invoice], at url: URL) throws -> (SQLitePeer, rows: SQLitePeer.Statement) {
  let database = try SQLitePeer(at: url)
  try database.execute(
    """
    PRAGMA cache_size=-2000000;
    CREATE TABLE invoices(number INTEGER PRIMARY KEY, customer TEXT, street TEXT, city TEXT, amount TEXT, tax REAL,
    due REAL, paid REAL, isSent INTEGER, tags TEXT);
    BEGIN
    """)
  let insertion = try database.prepare("INSERT INTO invoices VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  for invoice in invoices {
    try database.run(
      insertion, .integer(invoice.number), .text(invoice.customer), .text(invoice.street),
      .text(invoice.city),
      .text("\(invoice.amount)"), .real(invoice.tax), .real(invoice.due.timeIntervalSinceReferenceDate),
      invoice.paid.map { .real($0.timeIntervalSinceReferenceDate) } ?? .null,
      .integer(invoice.isSent ? 1 : 0),
      .text(String(decoding: try JSONEncoder().encode(invoice.tags), as: UTF8.self)))
  }
  try database.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  return (database, try database.prepare("SELECT * FROM invoices"))
}

/// Decoding and inserting typed values, against Foundation's JSON of the same values, and decoding against a program in
/// C that copies the rows of SQLite into structs.
func values(_ bench: Workbench) async throws {
  let count = bench.isQuick ? 20_000 : 100_000
  var random = SeededGenerator(seed: bench.seed)
  let invoices = (0..<count).map { Invoice($0, &random) }
  let texts = try invoices.map { try JSONEncoder().encode($0) }
  let journal = try CatalogJournal.create(at: bench.path("invoices"))
  try await journal.commit { draft in for invoice in invoices { try draft.insert(invoice) } }

  var decoding = Race(bench, "values of \(count) items of ten properties", operations: count)
  decoding.add("query.values") {
    try timed {
      guard try journal.state.items(Invoice.self).values.count == count else {
        throw PeerFailure("values are missing")
      }
    }
  }
  decoding.add("JSONDecoder") {
    let decoder = JSONDecoder()
    return try timed { for text in texts { _ = try decoder.decode(Invoice.self, from: text) } }
  }
  let (database, rows) = try table(of: invoices, at: bench.path("invoices.sqlite"))
  decoding.add("SQLite in C") { try timed { try database.readInvoices(rows, count: count) } }
  try await decoding.report(.rate("values"), .against(1, atLeast: 3), .against(2, atLeast: 0.25))

  var inserting = Race(bench, "inserting \(count) values of ten properties in one commit", operations: count)
  inserting.add("insert") {
    try await bench.temporary { url in
      let journal = try CatalogJournal.create(at: url)
      let seconds = try timed {
        try journal.commit { draft in for invoice in invoices { try draft.insert(invoice) } }
      }
      try journal.close()
      return seconds
    }
  }
  inserting.add("JSONEncoder") {
    let encoder = JSONEncoder()
    return try timed { for invoice in invoices { _ = try encoder.encode(invoice) } }
  }
  try await inserting.report(.rate("values"), .against(1, atLeast: 1))
  try journal.close()
}
