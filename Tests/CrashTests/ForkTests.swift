import Foundation
import TestSupport
import Testing

extension Battery {
  /// A child that a process forks while it has a journal open (`CrashChild`).
  @Suite struct ForkTests {
    /// Its commits were appended to the parent's log, or waited forever for a thread, and closing released the lock.
    @Test func aForkedChildNeitherCommitsNorChangesWhatItsParentUses() throws {
      try withTemporaryFolder { folder in
        _ = try Child(["fork", folder.path("Fork.journal")]).end()
      }
    }
  }
}
