import PropertyLists

/// An element of layers: a version of an entity, or of a line of an index.
protocol LayerElement {
  associatedtype Key: Comparable & Sendable
  /// Elements are in the order of their keys, and then of their revisions.
  var key: Key { get }
  var revision: Revision { get }
}

extension EntityVersion: LayerElement {
  var key: Int { number }
}

extension LineVersion: LayerElement {}

extension LayerValueLine: LayerElement {
  var key: ValueLine { line }
}

/// Iterates over the elements of a layer. Implemented by structs, so that advancing calls no closure.
protocol ElementCursor {
  associatedtype Element: LayerElement
  mutating func next() throws(ArchiveError) -> Element?
}

/// Iterates over the newest element of each key as of a revision.
struct NewestElements<Cursor: ElementCursor> {
  private var cursor: Cursor
  private let revision: Revision
  private var ahead: Cursor.Element?

  init(_ cursor: Cursor, asOf revision: Revision) throws(ArchiveError) {
    self.cursor = cursor
    self.revision = revision
    ahead = try self.cursor.next()
  }

  mutating func next() throws(ArchiveError) -> Cursor.Element? {
    while let first = ahead {
      var newest = first.revision <= revision ? first : nil
      ahead = try cursor.next()
      while let further = ahead, further.key == first.key {
        if further.revision <= revision { newest = further }
        ahead = try cursor.next()
      }
      if let newest { return newest }
    }
    return nil
  }
}

/// Merges the elements of several sources, key by key, and drops those that no kept checkpoint shows.
///
/// The sources are in the order of time. Where two sources overlap, they agree.
struct VersionMerge<Element: LayerElement> {
  typealias Cursor = () throws(ArchiveError) -> Element?
  typealias Found = (source: Int, version: Element)

  private let cursors: [Cursor]
  private var heads: [Element?] = []
  private var keys = SourceHeap<Element.Key>()
  private let checkpoints: [Revision]
  private var all: [Found] = []
  /// The versions of the current key, oldest first.
  private(set) var group: [Found] = []

  /// - Parameter checkpoints: the kept checkpoints, in ascending order.
  init(_ cursors: [Cursor], keeping checkpoints: [Revision]) throws(ArchiveError) {
    self.cursors = cursors
    self.checkpoints = checkpoints
    for (source, cursor) in cursors.enumerated() {
      heads.append(try cursor())
      if let head = heads[source] { keys.insert(head.key, of: source) }
    }
  }

  /// Advances to the next key; returns false at the end.
  mutating func next() throws(ArchiveError) -> Bool {
    guard let (key, first) = keys.first, let head = heads[first] else { return false }
    group.removeAll(keepingCapacity: true)
    heads[first] = try cursors[first]()
    keys.replaceFirst(with: heads[first]?.key)
    // Most keys have one version.
    guard keys.first?.key == key else {
      if head.revision > 0, checkpoints.isSeen(from: head.revision, before: .max) {
        group.append((first, head))
      }
      return true
    }
    all.removeAll(keepingCapacity: true)
    if head.revision > 0 { all.append((first, head)) }
    while let (lowest, source) = keys.first, lowest == key {
      while let head = heads[source], head.key == key {
        if head.revision > all.last?.version.revision ?? 0 { all.append((source, head)) }
        heads[source] = try cursors[source]()
      }
      keys.replaceFirst(with: heads[source]?.key)
    }
    for (index, found) in all.enumerated() {
      let end = index + 1 < all.count ? all[index + 1].version.revision : .max
      if checkpoints.isSeen(from: found.version.revision, before: end) { group.append(found) }
    }
    return true
  }
}

extension VersionMerge<EntityVersion> {
  /// How many versions of the key, after the first, would remain if only these checkpoints were kept.
  func furtherCount(keeping checkpoints: [Revision]) -> Int {
    if group.count < 2 { return 0 }
    let count = group.indices.count { index in
      if case .deleted = group[index].version.content { return false }
      let end = index + 1 < group.count ? group[index + 1].version.revision : .max
      return checkpoints.isSeen(from: group[index].version.revision, before: end)
    }
    return max(count - 1, 0)
  }
}

extension [Revision] {
  /// Whether one of these ascending numbers is in a range.
  fileprivate func isSeen(from first: Revision, before end: Revision) -> Bool {
    let index = partitioningIndex { $0 >= first }
    return index < count && self[index] < end
  }
}

/// The sources of a merge in the order of their next keys and, for equal keys, of their numbers.
///
/// A layer that has collected many checkpoints is written from as many sources, so a merge can't look at all of them for
/// each key.
struct SourceHeap<Key: Comparable> {
  typealias Node = (key: Key, source: Int)

  /// A binary heap: no node comes before its parent. The parent of node *n* is node (*n* - 1) / 2.
  private var nodes: [Node] = []

  var first: Node? { nodes.first }

  /// Adds a source that is not in the heap. O(log n).
  mutating func insert(_ key: Key, of source: Int) {
    nodes.append((key, source))
    var index = nodes.count - 1
    while index > 0, Self.isBefore(nodes[index], nodes[(index - 1) / 2]) {
      nodes.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Replaces the key of the first source by its next one; nil removes the source. O(log n).
  mutating func replaceFirst(with key: Key?) {
    guard let first else { return }
    if let key {
      nodes[0] = (key, first.source)
    } else {
      nodes.swapAt(0, nodes.count - 1)
      nodes.removeLast()
    }
    var index = 0
    while true {
      var child = 2 * index + 1
      guard child < nodes.count else { return }
      if child + 1 < nodes.count, Self.isBefore(nodes[child + 1], nodes[child]) { child += 1 }
      guard Self.isBefore(nodes[child], nodes[index]) else { return }
      nodes.swapAt(index, child)
      index = child
    }
  }

  @inline(__always)
  private static func isBefore(_ left: Node, _ right: Node) -> Bool {
    left.key < right.key || left.key == right.key && left.source < right.source
  }
}
