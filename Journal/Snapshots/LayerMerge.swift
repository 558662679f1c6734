import KeyedArchiving

/// Merges the versions of several sources, entity by entity, and drops those that no kept checkpoint shows.
///
/// The sources are in the order of time. Where two overlap, they agree.
struct VersionMerge {
  typealias Found = (source: Int, version: EntityVersion)

  private let cursors: [VersionCursor]
  private var heads: [EntityVersion?] = []
  private var numbers = SourceHeap<Int>()
  private let checkpoints: [Revision]
  private var all: [Found] = []
  /// The versions of the current entity, oldest first.
  private(set) var group: [Found] = []

  /// - Parameter checkpoints: in ascending order.
  init(_ cursors: [VersionCursor], keeping checkpoints: [Revision]) throws(ArchiveError) {
    self.cursors = cursors
    self.checkpoints = checkpoints
    for (source, cursor) in cursors.enumerated() {
      heads.append(try cursor())
      if let head = heads[source] { numbers.insert(head.number, of: source) }
    }
  }

  /// Advances to the next entity; returns false at the end.
  mutating func next() throws(ArchiveError) -> Bool {
    guard let number = numbers.first?.key else { return false }
    all.removeAll(keepingCapacity: true)
    while let (key, source) = numbers.first, key == number {
      while let head = heads[source], head.number == number {
        if head.revision > all.last?.version.revision ?? 0 { all.append((source, head)) }
        heads[source] = try cursors[source]()
      }
      numbers.replaceFirst(with: heads[source]?.number)
    }
    group.removeAll(keepingCapacity: true)
    for (index, found) in all.enumerated() {
      let end = index + 1 < all.count ? all[index + 1].version.revision : .max
      if checkpoints.isSeen(from: found.version.revision, before: end) { group.append(found) }
    }
    return true
  }

  // About how much space the versions of the entity take, where one on its own takes 2: a later one shares with the one
  // before, in the same archive, what did not change, and takes half of that.

  /// The space that they take in the sources.
  var sourceSize: Int {
    var size = 0
    for index in all.indices { size += index > 0 && all[index].source == all[index - 1].source ? 1 : 2 }
    return size
  }

  /// The space that those that remain would take, if fewer checkpoints were kept.
  func groupSize(keeping checkpoints: [Revision]) -> Int {
    // Mostly there is one, and the last checkpoint shows it.
    if group.count == 1 { return 2 }
    let count = group.indices.count { index in
      let end = index + 1 < group.count ? group[index + 1].version.revision : .max
      return checkpoints.isSeen(from: group[index].version.revision, before: end)
    }
    return count > 0 ? count + 1 : 0
  }
}

/// The same for lines of an index. A line that did not change in effect is dropped too.
struct LineMerge {
  private let cursors: [LineCursor]
  private var heads: [LineVersion?] = []
  private var keys = SourceHeap<IndexKey>()
  private let checkpoints: [Revision]
  /// Whether there is nothing below, so that removals need not be recorded.
  private let isLowest: Bool
  private var all: [LineVersion] = []
  private(set) var group: [LineVersion] = []

  init(_ cursors: [LineCursor], keeping checkpoints: [Revision], isLowest: Bool) throws(ArchiveError) {
    self.cursors = cursors
    self.checkpoints = checkpoints
    self.isLowest = isLowest
    for (source, cursor) in cursors.enumerated() {
      heads.append(try cursor())
      if let head = heads[source] { keys.insert(head.key, of: source) }
    }
  }

  mutating func next() throws(ArchiveError) -> Bool {
    guard let key = keys.first?.key else { return false }
    all.removeAll(keepingCapacity: true)
    while let (lowest, source) = keys.first, lowest == key {
      while let head = heads[source], head.key == key {
        if head.revision > all.last?.revision ?? 0 { all.append(head) }
        heads[source] = try cursors[source]()
      }
      keys.replaceFirst(with: heads[source]?.key)
    }
    group.removeAll(keepingCapacity: true)
    for (index, line) in all.enumerated() {
      let end = index + 1 < all.count ? all[index + 1].revision : .max
      guard checkpoints.isSeen(from: line.revision, before: end) else { continue }
      let before = group.last?.isThere ?? (isLowest ? false : nil)
      if line.isThere != before { group.append(line) }
    }
    return true
  }
}

extension [Revision] {
  /// Whether one of these ascending numbers is in a range.
  fileprivate func isSeen(from first: Revision, before end: Revision) -> Bool {
    let index = partitioningIndex { $0 >= first }
    return index < count && self[index] < end
  }
}
