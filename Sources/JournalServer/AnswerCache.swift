import CatalogModel
import Locks

/// Caches searches in progress, for the next page of a long list.
///
/// Safe to use from any thread.
final class AnswerCache: Sendable {
  private struct Question: Hashable, Sendable {
    let revision: Revision
    let search: ItemSearch
    private let texts: [[UInt8]?]

    init(_ search: ItemSearch, at revision: Revision) {
      self.search = search
      self.revision = revision
      texts = search.texts.map { text in text.map { Array($0.utf8) } }
    }
  }

  private final class Answer: Sendable {
    let question: Question
    let scan: Lock<ItemScan>

    init(_ question: Question, _ scan: ItemScan) {
      self.question = question
      self.scan = Lock(scan)
    }
  }

  /// A page of what was found.
  struct Page: Sendable {
    let items: [Catalog.Item.ID]
    /// How many items match, as far as is known.
    let total: Int
    /// Whether the search is complete, and the whole page was found.
    let isComplete: Bool
  }

  /// The number of cached answers. An answer takes eight bytes for each item found. The newest is last.
  private static let keptCount = 6
  /// How long a request scans. Then it answers with what was found.
  private static var patience: Duration { .milliseconds(200) }
  private let kept = KeptValues<Answer>()

  /// A page of the answer, as far as it is found in a short time. If the request is repeated, the search continues.
  /// - Parameter erasures: the journal's `erasureCount`, from before it gave the version.
  func page(
    _ search: ItemSearch, in version: Version<Catalog>, _ erasures: Int, offset: Int, limit: Int
  ) -> Page {
    let question = Question(search, at: version.revision)
    let known = kept.withValues(asOf: erasures) { kept in kept.last { $0.question == question } }
    let answer = known ?? keep(Answer(question, ItemScan(search, in: version.state)), erasures)
    return answer.scan.withLock { scan in
      scan.advance(toward: offset + limit, atMost: Self.patience)
      return Page(
        items: scan.page(offset: offset, limit: limit), total: scan.total,
        isComplete: scan.isComplete && scan.hasFound(min(offset + limit, scan.total)))
    }
  }

  private func keep(_ answer: Answer, _ erasures: Int) -> Answer {
    // An evicted answer is freed outside the lock.
    let gone = kept.withValues(asOf: erasures) { kept -> Answer? in
      kept.append(answer)
      return kept.count > Self.keptCount ? kept.removeFirst() : nil
    }
    _ = gone
    return answer
  }
}
