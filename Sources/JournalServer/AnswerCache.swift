import CatalogModel
import HTTPServer
import Locks

/// Caches searches in progress, for the next page of a long list.
///
/// Safe to use from any thread.
final class AnswerCache: Sendable {
  private final class Answer: Sendable {
    let question: [[UInt8]]
    let revision: Revision
    let scan: Lock<ItemScan>

    init(_ question: [[UInt8]], _ revision: Revision, _ scan: ItemScan) {
      self.question = question
      self.revision = revision
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

  /// The number of cached answers. An answer takes eight bytes for each item found.
  private static let keptCount = 6
  /// How long a request scans. Then it answers with what was found.
  private static var patience: Duration { .milliseconds(200) }
  private let kept = KeptValues<Answer>()

  /// A page of the answer, as far as it is found in a short time. If the request is repeated, the search continues.
  /// - Parameter erasures: the journal's `erasureCount`, from before it gave the version.
  func page(
    _ search: ItemSearch, of request: HTTPRequest, in version: Version<Catalog>, _ erasures: Int, offset: Int,
    limit: Int
  ) -> Page {
    // Two searches are the same only if the bytes of their texts are.
    let question = request.query.filter { !["at", "offset", "limit"].contains($0.name) }
      .flatMap { [Array($0.name.utf8), Array($0.value.utf8)] }
    let known = kept.withValues(asOf: erasures) { kept in
      kept.last { $0.revision == version.revision && $0.question == question }
    }
    let answer = known ?? Answer(question, version.revision, ItemScan(search, in: version.state))
    if known == nil { kept.keep(answer, atMost: Self.keptCount, asOf: erasures) }
    return answer.scan.withLock { scan in
      scan.advance(toward: offset + limit, atMost: Self.patience)
      return Page(
        items: scan.page(offset: offset, limit: limit), total: scan.total,
        isComplete: scan.isComplete && scan.hasFound(min(offset + limit, scan.total)))
    }
  }
}
