// Kept as the pages show it.
// swift-format-ignore-file
import Foundation
import Journaling

/// The use of a ledger in Documentation/YourOwnDomain.md. The test is that it compiles.
func useOfTheLedger() throws {
  let bank = try Journal<Ledger>.openOrCreate(at: URL(filePath: "Bank.journal"))
  let (ana, bob) = try bank.commit(by: "clerk", note: "new customers") { draft in
    (try draft.open(owner: "Ana", balance: 100), try draft.open(owner: "Bob"))
  }.value
  try bank.commit(by: "ana", note: "rent") { try $0.transfer(30, from: ana, to: bob) }

  print(bank.state.accounts[ana]?.balance ?? 0)                                  // 70
  print(try bank.state(asOf: .head(back: 1)).accounts[ana]?.balance ?? 0)        // 100
  for change in try bank.history(of: .account(ana)) { print(change.revision, change.author, change.note) }

  do {
    try bank.commit { try $0.transfer(1000, from: ana, to: bob) }
  } catch let error as JournalError where error.code == .rejected {
    print(error)                                                    // nothing was written
  }
  try bank.close()
}
