import Journaling

/// A domain of one's own: accounts with an owner and a balance. This page is all it takes.
struct Ledger: EventSourced {
  struct Account {
    var record: Record
    var modified: Revision

    var owner: String { if case .string(let owner)? = record["owner"] { owner } else { "" } }
    var balance: Int64 { if case .integer(let balance)? = record["balance"] { balance } else { 0 } }
  }

  static let schema = "ledger/1"
  static let kindNames = ["account"]

  private(set) var accounts: [Int: Account] = [:]
  private(set) var closed: [Int: Revision] = [:]
  private(set) var newestNumber = 0

  func record(of entity: Entity) -> Record? { accounts[entity.number]?.record }

  func revision(of entity: Entity) -> Revision {
    accounts[entity.number]?.modified ?? closed[entity.number] ?? 0
  }

  mutating func apply(_ event: Event, at revision: Revision) throws(JournalError) {
    let number = event.entity.number
    switch (event.change, accounts[number]) {
    case (.add(let record), nil):
      accounts[number] = Account(record: record, modified: revision)
      closed[number] = nil
      newestNumber = max(newestNumber, number)
    case (.update(let changes), let account?):
      accounts[number] = Account(record: account.record.applying(changes), modified: revision)
    case (.delete, _?):
      accounts[number] = nil
      closed[number] = revision
    default:
      throw JournalError(.damaged, "\(Self.name(of: event.entity)) can't be changed so", revision: revision)
    }
  }
}

extension Entity {
  static func account(_ number: Int) -> Entity { Entity(kind: EntityKind(rawValue: 0), number: number) }
}

extension Draft where State == Ledger {
  mutating func open(owner: String, balance: Int64 = 0) throws -> Int {
    let number = state.newestNumber + 1
    try add(.account(number), Record(["owner": .string(owner), "balance": .integer(balance)]))
    return number
  }

  mutating func transfer(_ amount: Int64, from: Int, to: Int) throws {
    try deposit(-amount, on: from)
    try deposit(amount, on: to)
  }

  mutating func deposit(_ amount: Int64, on number: Int) throws {
    guard let account = state.accounts[number] else {
      throw JournalError(.rejected, "account \(number) is not open")
    }
    guard account.balance + amount >= 0 else {
      throw JournalError(.rejected, "account \(number) has \(account.balance) only")
    }
    let record = Record(["owner": .string(account.owner), "balance": .integer(account.balance + amount)])
    try update(.account(number), to: record)
  }
}
