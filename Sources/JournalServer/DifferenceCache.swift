import CatalogModel

/// Caches which entities differ between two points in time, for the next page of a long list.
///
/// Safe to use from any thread.
final class DifferenceCache: Sendable {
  private struct Answer: Sendable {
    let from: Revision
    let to: Revision
    let entities: [EntityKey]
  }

  /// A page of the differences.
  struct Page: Sendable {
    /// How many differences there are.
    let total: Int
    let differences: [EntityDifference]
  }

  /// The number of cached answers. An answer takes sixteen bytes for each entity.
  private static let keptCount = 6

  private let journal: CatalogJournal
  private let states: StateCache
  private let kept = KeptValues<Answer>()

  init(_ journal: CatalogJournal, _ states: StateCache) {
    self.journal = journal
    self.states = states
  }

  /// A page of the differences between two revisions.
  ///
  /// The first page of an answer reads the events between the two revisions. The other pages look up their entities in
  /// both states.
  func page(from: Revision, to: Revision, offset: Int, limit: Int) throws -> Page {
    let erasures = journal.erasureCount
    let known = kept.withValues(asOf: erasures) { kept in
      kept.last { $0.from == from && $0.to == to }?.entities
    }
    guard let known else {
      let differences = try journal.diff(from: .revision(from), to: .revision(to))
      let answer = Answer(from: from, to: to, entities: differences.map(\.entity))
      // If all differences are on one page, no other page will be requested.
      if differences.count > offset + limit {
        kept.keep(answer, atMost: Self.keptCount, asOf: erasures)
      }
      return Page(
        total: differences.count, differences: Array(differences.dropFirst(offset).prefix(limit)))
    }
    let (old, new) = (try states.version(at: from).state, try states.version(at: to).state)
    let differences = known.dropFirst(offset).prefix(limit).map { entity in
      EntityDifference(entity: entity, old: old.record(of: entity), new: new.record(of: entity))
    }
    for state in [old, new] { if let failure = state.failure { throw failure } }
    return Page(total: known.count, differences: differences)
  }
}
