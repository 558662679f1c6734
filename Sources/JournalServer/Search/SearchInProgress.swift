import CatalogModel
import HTTPServer
import Locks

/// The parameters of a search, without those that choose a page. Texts are compared by their bytes.
struct SearchQuestion: Equatable, Sendable {
  private let texts: [[UInt8]]
  private let revision: Revision

  init(_ request: HTTPRequest, at revision: Revision) {
    texts = request.query.filter { !["at", "offset", "limit"].contains($0.name) }
      .flatMap { [Array($0.name.utf8), Array($0.value.utf8)] }
    self.revision = revision
  }
}

/// A search that continues with each request for one of its pages.
///
/// Safe to use from any thread.
final class SearchInProgress: Sendable {
  /// How long a request scans before it responds with the items found so far.
  private static var patience: Duration { .milliseconds(200) }
  private let scan: Lock<ItemScan>

  init(_ scan: ItemScan) { self.scan = Lock(scan) }

  /// A page, the number of matching items known so far, and whether both are complete.
  func page(offset: Int, limit: Int) -> (items: [Catalog.Item.ID], total: Int, isComplete: Bool) {
    scan.withLock { scan in
      scan.advance(toward: offset + limit, atMost: Self.patience)
      return (
        scan.page(offset: offset, limit: limit), scan.total,
        scan.isComplete && scan.hasFound(min(offset + limit, scan.total))
      )
    }
  }
}
