public import Journaling

/// The result of a binary search for the first revision at which a condition holds.
public struct Bisection: Sendable {
  /// One tested state.
  public struct Look: Hashable, Sendable {
    /// The revision of the state.
    public let revision: Revision
    /// Whether the condition holds at this revision.
    public let holds: Bool
  }

  /// The first tested revision at which the condition holds; nil if the condition does not hold at the last revision.
  public let revision: Revision?
  /// Whether the condition already held just before the range to search, so that an earlier entry made it hold.
  public let heldBefore: Bool
  /// The tested states, in the order of the tests.
  public let looks: [Look]
}

extension Journal {
  /// Finds the first revision since which a condition has held.
  ///
  /// ```swift
  /// let found = try journal.bisect { $0.state.item(42)?["title"] == .string("Dune") }
  /// ```
  /// If the condition begins to hold more than once in the range, the result is one of these beginnings.
  /// - Parameters:
  ///   - first: the earliest revision to test; by default, the beginning of the history.
  ///   - last: the latest revision to test.
  ///   - holds: tests a state.
  /// - Throws: ``JournalError`` as `revision(at:)` does; `wrongUse` if `first` is after `last`; and what `holds`
  ///   throws.
  /// - Complexity: O(log n) states, each replayed from the nearest checkpoint or tested state before it.
  public func bisect(
    from first: RevisionSelector = .start, through last: RevisionSelector = .head(),
    where holds: (Version<State>) throws -> Bool
  ) throws -> Bisection {
    try settled {
      let (first, start) = (try revision(at: first), try revision(at: .start))
      let last = try revision(at: last)
      guard first <= last else {
        throw JournalError(.wrongUse, "revision \(first) is after \(last), so there is nothing between them")
      }
      var looks: [Bisection.Look] = []
      // The latest state before all that remain to be tested.
      var known: Version<State>?
      func look(_ revision: Revision) throws -> Bool {
        let version = try version(at: revision, from: known)
        let answer = try holds(version)
        try chain.faults.check()
        if !answer { known = version }
        looks.append(Bisection.Look(revision: revision, holds: answer))
        return answer
      }
      guard try look(last) else { return Bisection(revision: nil, heldBefore: false, looks: looks) }
      known = nil
      let found = try (first..<last).partitionPoint(where: look)
      let isEarlier = found == first && first > start
      let heldBefore = isEarlier ? try look(first - 1) : false
      return Bisection(revision: found, heldBefore: heldBefore, looks: looks)
    }
  }
}
