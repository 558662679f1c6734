package import Journaling

/// A logbook whose pages are accounts: their sum never changes, and no balance is negative.
package enum Bank {
  package static let accountCount = 16
  /// The balance of each account at the beginning.
  package static let balance = 100

  package static func open(in draft: inout Draft<Logbook>) throws {
    for account in 1...accountCount { try draft.write(account, "\(balance)") }
  }

  /// - Throws: ``JournalError`` with code `rejected` if the account has less.
  package static func transfer(
    _ amount: Int, from: Int, to: Int, in draft: inout Draft<Logbook>
  ) throws {
    let balances = balances(in: draft.state)
    guard balances[from - 1] >= amount else {
      throw JournalError(.rejected, "account \(from) has \(balances[from - 1]), which is less than \(amount)")
    }
    try draft.write(from, "\(balances[from - 1] - amount)")
    try draft.write(to, "\(balances[to - 1] + amount)")
  }

  /// The balances of all accounts in the order of their numbers.
  package static func balances(in state: Logbook) -> [Int] {
    (1...accountCount).map { account in
      guard case .string(let text)? = state.record(of: .page(account))?["text"] else { return 0 }
      return Int(text) ?? 0
    }
  }
}
