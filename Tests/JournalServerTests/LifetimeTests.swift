import CatalogModel
import Foundation
import JournalServer
import TestSupport
import Testing

/// A server whose journal is closed, and a journal whose server is released.
@Suite struct LifetimeTests {
  /// Threads of the server kept the journal open for up to a second.
  @Test func theJournalOfAReleasedServerCanBeOpenedAtOnce() throws {
    for turn in 0..<10 {
      try withTemporaryFolder { folder in
        var served: ServedJournal? = try ServedJournal(try makeBooks(folder))
        // These start more threads.
        for path in ["/api/journal", "/api/timeline", "/api/items"].prefix(turn % 4) {
          let answer = try served?.get(path)
          #expect(answer?.status == 200)
        }
        served = nil
        try CatalogJournal.open(at: folder.url.appending(path: "Books.journal")).close()
      }
    }
  }

  /// The answer was an empty stream, after which browsers connect again each second.
  @Test func eventsOfAClosedJournalAreRefused() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      try journal.close()
      var answer = try served.get("/api/events")
      // The server learns of it on another thread.
      for _ in 0..<500 where answer.status == 200 {
        usleep(10_000)
        answer = try served.get("/api/events")
      }
      #expect(answer.status == 503 && answer.code == "closed", "\(answer.text)")
    }
  }
}
