import CatalogModel
import Foundation

private protocol Sale: CatalogItem {
  var region: String { get }
  var price: Double { get }
}

private struct IndexedSale: Sale {
  static let kind = "sale"
  static let indexes = [Index(\IndexedSale.region), Index(\.price)]
  var region: String
  var price: Double
  var count: Int
  var note: String
}

private struct ScannedSale: Sale {
  static let kind = "sale"
  var region: String
  var price: Double
  var count: Int
  var note: String
}

private struct Company: CatalogItem {
  static let kind = "company"
  var name: String
}

private struct Contact: CatalogItem {
  static let kind = "contact"
  static let rules: [Rule] = [.reference(\.company, onDelete: .cascade)]
  var name: String
  var phone: String
  var company: ItemID<Company>?
}

/// Measures sums and groups over many items against SQLite, with and without indexes that have all that is asked for.
func aggregates(_ bench: Workbench) async throws {
  let size = bench.largeSize
  var random = SeededGenerator(seed: bench.seed)
  let sales = (1...size).map { number in
    let sample = Sample(&random)
    return IndexedSale(
      region: "region \(number * 7919 % 24)", price: sample.price, count: sample.count, note: sample.note)
  }
  bench.show("writing a journal of \(size) items")
  let journal = try CatalogJournal.create(
    at: bench.path("sales.journal"), options: JournalOptions(layers: .manual))
  try journal.fill(size / 1_000) { draft, entry in
    for sale in sales[entry * 1_000..<(entry + 1) * 1_000] { try draft.insert(sale) }
  }
  let state = journal.state
  try state.buildIndexes(of: IndexedSale.self)
  bench.show("writing a table of \(size) items")
  let database = try SQLitePeer(at: bench.path("sales.sqlite"))
  try database.execute(
    "PRAGMA cache_size=-2000000; CREATE TABLE sales(id INTEGER PRIMARY KEY, region TEXT, price REAL, count INTEGER, note TEXT); BEGIN"
  )
  let insertion = try database.prepare("INSERT INTO sales VALUES(NULL, ?, ?, ?, ?)")
  for sale in sales {
    try database.run(insertion, .text(sale.region), .real(sale.price), .integer(sale.count), .text(sale.note))
  }
  try database.execute(
    "COMMIT; CREATE INDEX by_region ON sales(region); CREATE INDEX by_price ON sales(price); ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)"
  )

  func race(_ work: String, _ query: String, atLeast wanted: Double, _ ask: @escaping () throws -> Int)
    async throws
  {
    let statement = try database.prepare(query)
    guard try ask() == database.run(statement) else {
      throw PeerFailure("other groups than SQLite's: \(work)")
    }
    var race = Race(bench, "\(work) of \(size)", rounds: 5)
    race.add("Journal") { try timed { _ = try ask() } }
    race.add("SQLite, prepared") { try timed { try database.run(statement) } }
    try await race.report(.speed, .against(1, atLeast: wanted))
  }
  func sum<Model: Sale>(_ type: Model.Type) throws -> Int { try state.items(type).sum(\.price) > 0 ? 1 : 0 }
  try await race("sum by an index", "SELECT sum(price) FROM sales", atLeast: 0.5) {
    try sum(IndexedSale.self)
  }
  try await race("groups by an index", "SELECT region, count(*) FROM sales GROUP BY region", atLeast: 0.5) {
    try state.items(IndexedSale.self).grouped(by: \.region, .count).count
  }
  try await race("sum without an index", "SELECT sum(price) FROM sales NOT INDEXED", atLeast: 0.7) {
    try sum(ScannedSale.self)
  }
  try await race(
    "groups without an index", "SELECT region, count(*), sum(price) FROM sales NOT INDEXED GROUP BY region",
    atLeast: 0.7
  ) { try state.items(ScannedSale.self).grouped(by: \.region, .count, .sum(\.price)).count }
  try journal.close()
}

/// Measures companies with their ten contacts each against a join.
func joins(_ bench: Workbench) async throws {
  let count = 1_000
  let journal = try CatalogJournal.create(at: bench.path("contacts.journal"))
  try journal.declare(Contact.self)
  let database = try SQLitePeer(at: bench.path("contacts.sqlite"))
  try database.execute(
    """
    CREATE TABLE companies(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE contacts(id INTEGER PRIMARY KEY, name TEXT, phone TEXT, company INTEGER REFERENCES companies(id));
    BEGIN
    """)
  let company = try database.prepare("INSERT INTO companies VALUES(?, ?)")
  let contact = try database.prepare("INSERT INTO contacts VALUES(NULL, ?, ?, ?)")
  try await journal.commit { draft in
    for number in 1...count {
      try draft.insert(Company(name: "company \(number)"))
      try database.run(company, .integer(number), .text("company \(number)"))
    }
    for number in 0..<10 * count {
      let (name, phone, id) = ("contact \(number)", "+49 30 \(number)", number % count + 1)
      try draft.insert(Contact(name: name, phone: phone, company: ItemID(id)))
      try database.run(contact, .text(name), .text(phone), .integer(id))
    }
  }
  try database.execute("COMMIT; CREATE INDEX by_company ON contacts(company); ANALYZE")
  let statement = try database.prepare(
    "SELECT companies.name, contacts.name, phone FROM companies JOIN contacts ON company = companies.id ORDER BY companies.id"
  )
  let state = journal.state
  func found(_ rows: Int) throws { if rows != 10 * count { throw PeerFailure("\(rows) contacts") } }
  var race = Race(bench, "\(count) companies with their 10 contacts each", operations: 10, rounds: 5)
  race.add("Journal") {
    try timed {
      for _ in 0..<10 {
        var rows = 0
        for (company, contacts) in try state.items(Company.self).including(Contact.self, by: \.company) {
          guard try !company.name.isEmpty else { continue }
          for contact in contacts where try !contact.value.name.isEmpty { rows += 1 }
        }
        try found(rows)
      }
    }
  }
  race.add("SQLite, prepared") { try timed { for _ in 0..<10 { try found(try database.run(statement)) } } }
  try await race.report(.speed, .against(1, atLeast: 0.5))
  try journal.close()
}
