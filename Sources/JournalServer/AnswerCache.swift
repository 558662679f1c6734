import CatalogModel
import Locks

/// Caches the items that searches have found, for the next page of a long list.
///
/// Safe to use from any thread.
final class AnswerCache: Sendable {
  private struct Question: Hashable, Sendable {
    let revision: Revision
    let search: ItemSearch
  }

  private struct Answer: Sendable {
    let question: Question
    let items: [Catalog.Item.ID]
  }

  /// The number of cached results, newest last: eight bytes for each item.
  private static let keptCount = 6
  private let kept = Lock<[Answer]>([])

  /// A page of the result, and the number of all items.
  ///
  /// The first items of a list without conditions and sort keys are found without reading the others.
  func items(
    _ search: ItemSearch, in version: Version<Catalog>, offset: Int, limit: Int
  ) -> (items: [Catalog.Item.ID], total: Int) {
    let catalog = version.state
    if search.isEverything, offset + limit <= 10_000 {
      return (
        Array(catalog.items(search, limit: offset + limit).dropFirst(offset).prefix(limit)),
        catalog.itemCount
      )
    }
    let question = Question(revision: version.revision, search: search)
    let known = kept.withLock { kept in kept.last { $0.question == question }?.items }
    let items = known ?? catalog.items(search)
    if known == nil {
      kept.withLock { kept in
        kept.append(Answer(question: question, items: items))
        if kept.count > Self.keptCount { kept.removeFirst() }
      }
    }
    return (Array(items.dropFirst(offset).prefix(limit)), items.count)
  }
}
