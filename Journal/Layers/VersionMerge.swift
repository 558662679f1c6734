import CBOR
import PropertyLists

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
    guard let (number, first) = numbers.first, let head = heads[first] else { return false }
    group.removeAll(keepingCapacity: true)
    heads[first] = try cursors[first]()
    numbers.replaceFirst(with: heads[first]?.number)
    // Mostly there is one version.
    guard numbers.first?.key == number else {
      if head.revision > 0, checkpoints.isSeen(from: head.revision, before: .max) {
        group.append((first, head))
      }
      return true
    }
    all.removeAll(keepingCapacity: true)
    if head.revision > 0 { all.append((first, head)) }
    while let (key, source) = numbers.first, key == number {
      while let head = heads[source], head.number == number {
        if head.revision > all.last?.version.revision ?? 0 { all.append((source, head)) }
        heads[source] = try cursors[source]()
      }
      numbers.replaceFirst(with: heads[source]?.number)
    }
    for (index, found) in all.enumerated() {
      let end = index + 1 < all.count ? all[index + 1].version.revision : .max
      if checkpoints.isSeen(from: found.version.revision, before: end) { group.append(found) }
    }
    return true
  }

  /// How many versions beyond the first would remain, if fewer checkpoints were kept.
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

/// A sample of how much the versions of entities take in blocks: a further version has only what differs from the one
/// before.
struct VersionSample {
  /// The bytes of some parts of versions.
  private struct Average {
    var count = 0
    var sampleCount = 0
    var byteCount = 0

    /// Whether the next one is in the sample. One of 32 is decoded, because decoding all would take as long as merging.
    mutating func isNextSampled() -> Bool {
      count += 1
      return count % 32 == 1
    }

    mutating func add(_ bytes: [UInt8]?) {
      sampleCount += 1
      byteCount += bytes?.count ?? 0
    }

    var average: Int { VersionSample.fixedByteCount + byteCount / max(sampleCount, 1) }
  }

  private var first = Average()
  private var further = Average()

  /// What each takes besides: its numbers, and marks for what did not change.
  private static let fixedByteCount = 12

  /// About how many bytes the first versions of all entities take.
  var newestByteCount: Int { first.count * first.average }
  /// About how many bytes a further version takes.
  var furtherByteCount: Int { further.average }

  /// Adds the versions of an entity.
  mutating func add(
    _ group: [VersionMerge.Found], _ row: (VersionMerge.Found) throws(ArchiveError) -> EntityRow?
  ) throws(ArchiveError) {
    if let oldest = group.first, first.isNextSampled() { first.add(try row(oldest)?.record.bytes) }
    for index in group.indices.dropFirst() where further.isNextSampled() {
      guard let later = try row(group[index]) else { continue }
      let earlier = try row(group[index - 1])?.record ?? EntityRecord()
      further.add(earlier.changes(to: later.record)?.bytes)
    }
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
    guard let (key, first) = keys.first, let head = heads[first] else { return false }
    group.removeAll(keepingCapacity: true)
    heads[first] = try cursors[first]()
    keys.replaceFirst(with: heads[first]?.key)
    // Mostly there is one version.
    guard keys.first?.key == key else {
      if head.revision > 0, head.isThere || !isLowest, checkpoints.isSeen(from: head.revision, before: .max) {
        group.append(head)
      }
      return true
    }
    all.removeAll(keepingCapacity: true)
    if head.revision > 0 { all.append(head) }
    while let (lowest, source) = keys.first, lowest == key {
      while let head = heads[source], head.key == key {
        if head.revision > all.last?.revision ?? 0 { all.append(head) }
        heads[source] = try cursors[source]()
      }
      keys.replaceFirst(with: heads[source]?.key)
    }
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
