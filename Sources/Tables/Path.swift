/// The path from the root of a table to a position in a leaf.
///
/// The path is one number: eight bits for the position in the leaf, and four for the index of the child at each level
/// above. So a search allocates nothing, and a write follows the path of its search without comparing keys again.
@usableFromInline
struct Path {
  /// The highest level of a root. Enough for 100,000,000,000 elements in nodes that are a third full.
  @inlinable static var maximumLevel: Int { 14 }

  @usableFromInline var steps: UInt64 = 0

  @inlinable init() {}

  @inlinable var position: Int {
    get { Int(truncatingIfNeeded: steps & 0xFF) }
    set { steps = steps & ~0xFF | UInt64(truncatingIfNeeded: newValue) }
  }

  /// The index of the child at a level of branches, from 1 on.
  @inlinable subscript(level: Int) -> Int {
    get { Int(truncatingIfNeeded: (steps &>> UInt64(truncatingIfNeeded: level &* 4 &+ 4)) & 0xF) }
    set {
      let shift = UInt64(truncatingIfNeeded: level &* 4 &+ 4)
      steps = steps & ~(0xF &<< shift) | UInt64(truncatingIfNeeded: newValue) &<< shift
    }
  }
}
