/// The way from the root of a table down to one position in a leaf.
///
/// Eight bits for the position in the leaf, and four for the child that was taken at each level above it.
/// A path is a plain number, so that a search allocates nothing, and a write can walk the way of its search
/// again without comparing keys.
@usableFromInline
struct Path {
  /// Levels of branches that fit in a path. Even with nodes that are a third full, they are more than
  /// 100,000,000,000 elements need.
  @inlinable static var maximumLevel: Int { 14 }

  @usableFromInline var steps: UInt64 = 0

  @inlinable init() {}

  /// The position in the leaf.
  @inlinable var position: Int {
    get { Int(truncatingIfNeeded: steps & 0xFF) }
    set { steps = steps & ~0xFF | UInt64(truncatingIfNeeded: newValue) }
  }

  /// The number of the child that is taken in the branch of a level, from 1 on.
  @inlinable subscript(level: Int) -> Int {
    get { Int(truncatingIfNeeded: (steps &>> UInt64(truncatingIfNeeded: level &* 4 &+ 4)) & 0xF) }
    set {
      let shift = UInt64(truncatingIfNeeded: level &* 4 &+ 4)
      steps = steps & ~(0xF &<< shift) | UInt64(truncatingIfNeeded: newValue) &<< shift
    }
  }
}
