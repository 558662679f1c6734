import Journaling

/// A domain of your own: accounts with an owner and a balance. This page is all it takes.
struct Ledger: EventSourced {
  static let schema = "ledger/1"
  static let kindNames = ["account"]

  private(set) var accounts = EntityTable()

  func record(of entity: EntityKey) -> EntityRecord? { accounts[entity.number]?.record }

  func revision(of entity: EntityKey) -> Revision { accounts.revision(of: entity.number) }

  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    try accounts.apply(event, at: revision, in: Self.self)
  }
}

// The rules of the bank. A commit checks the accounts that it changed, and `verify` checks all accounts.
extension Ledger {
  func problems(after events: [JournalEvent]) -> [String] {
    events.compactMap { problem(of: $0.entity.number) }
  }

  func problems() -> [String] { accounts.compactMap { problem(of: $0.number) } }

  private func problem(of number: Int) -> String? {
    guard let account = accounts[number], account.balance < 0 else { return nil }
    return "account \(number) would have \(account.balance)"
  }
}

extension Ledger {
  var parts: StateParts? { StateParts(tables: [accounts]) }

  init?(parts: StateParts) {
    guard let accounts = parts.tables.first else { return nil }
    self.init()
    self.accounts = accounts
  }
}

extension EntityRow {
  var owner: String { if case .string(let owner)? = record["owner"] { owner } else { "" } }
  var balance: Int64 { if case .integer(let balance)? = record["balance"] { balance } else { 0 } }
}

extension EntityKey {
  static func account(_ number: Int) -> EntityKey { EntityKey(kind: EntityKind(rawValue: 0), number: number) }
}

extension Draft where State == Ledger {
  mutating func open(owner: String, balance: Int64 = 0) throws -> Int {
    let number = state.accounts.highest + 1
    try add(.account(number), EntityRecord(["owner": .string(owner), "balance": .integer(balance)]))
    return number
  }

  mutating func transfer(_ amount: Int64, from: Int, to: Int) throws {
    // Checked before the first change, because a body may catch the error and continue.
    _ = try record(of: to, after: amount)
    try deposit(-amount, on: from)
    try deposit(amount, on: to)
  }

  mutating func deposit(_ amount: Int64, on number: Int) throws {
    try update(.account(number), to: record(of: number, after: amount))
  }

  private func record(of number: Int, after amount: Int64) throws -> EntityRecord {
    guard let account = state.accounts[number] else {
      throw JournalError(.rejected, "account \(number) is not open")
    }
    guard account.balance + amount >= 0 else {
      throw JournalError(.rejected, "account \(number) has \(account.balance) only")
    }
    return EntityRecord(["owner": .string(account.owner), "balance": .integer(account.balance + amount)])
  }
}
