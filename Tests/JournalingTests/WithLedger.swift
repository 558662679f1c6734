import Foundation
import Journaling
import TestSupport

/// Calls `body` with a new journal of accounts and its URL.
func withLedger<Result>(
  options: JournalOptions = JournalOptions(), _ body: (Journal<Ledger>, URL) throws -> Result
) throws -> Result {
  try withTemporaryFolder { folder in
    let url = folder.url.appendingPathComponent("Bank.journal")
    return try body(try Journal<Ledger>.create(at: url, options: options), url)
  }
}

/// The same for tests that suspend, on whichever actor they are.
nonisolated(nonsending) func withLedger<Result>(_ body: (Journal<Ledger>, URL) async throws -> Result)
  async throws -> Result
{
  try await withTemporaryFolder { folder in
    let url = folder.url.appendingPathComponent("Bank.journal")
    return try await body(try Journal<Ledger>.create(at: url), url)
  }
}
