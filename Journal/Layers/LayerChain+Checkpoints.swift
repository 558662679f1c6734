import CBOR
import PropertyLists

extension LayerChain {
  /// Which checkpoints a merged layer keeps: all, or every second, fourth, …, or only the last, so that it takes no more
  /// than its share of the disk.
  /// - Parameters:
  ///   - run: the layers that are merged.
  ///   - sources: their contents.
  ///   - share: how many bytes the merged layer may take.
  func checkpoints(
    of run: [Layer], _ sources: [any LayerSource], _ policy: LayerPolicy, share: Int,
    isCancelled: () -> Bool
  ) throws(JournalError) -> [LayerCheckpoint] {
    let all = run.flatMap(\.checkpoints)
    if !policy.keepsPast { return all.suffix(1) }
    // Nearly always all fit.
    if run.reduce(0, { $0 + ($1.footer?.byteCount ?? 0) }) <= share { return all }
    var choices = [all]
    while let newest = choices.last, newest.count > 1 {
      // Counted from the end, so that the last stays.
      choices.append(newest.indices.filter { (newest.count - 1 - $0) % 2 == 0 }.map { newest[$0] })
    }
    do throws(ArchiveError) {
      let (newest, past) = try byteCounts(
        sources, keeping: choices.map { $0.map(\.revision) }, isCancelled: isCancelled)
      return choices[policy.choice(past, newestByteCount: newest, share: share)]
    } catch {
      let name = LayerName(from: run.first?.start.revision, to: all.last?.revision ?? 0)
      throw LayerFile.failure(error, of: name, error.path ?? path(of: name))
    }
  }

  /// About how many bytes the newest state of a merged layer would take, and its past states for each choice of
  /// checkpoints. The first choice includes all others.
  private func byteCounts(
    _ sources: [any LayerSource], keeping choices: [[Revision]], isCancelled: () -> Bool
  ) throws(ArchiveError) -> (newest: Int, past: [Int]) {
    var counts = choices.map { _ in 0 }
    var sample = VersionSample()
    var entityCount = 0
    for kind in shape?.kinds.indices ?? 0..<0 {
      var cursors: [VersionCursor] = []
      for source in sources { cursors.append(try source.versions(kind)) }
      var merge = try VersionMerge(cursors, keeping: choices.first ?? [])
      let readers = sources.map { $0.rows(kind) }
      while try merge.next() {
        entityCount += 1
        if entityCount % 1024 == 0, isCancelled() { break }
        for choice in choices.indices { counts[choice] += merge.furtherCount(keeping: choices[choice]) }
        try sample.add(merge.group) { (found) throws(ArchiveError) in
          try readers[found.source](found.version)
        }
      }
    }
    return (sample.newestByteCount, counts.map { $0 * sample.furtherByteCount })
  }
}

/// A sample of how much the versions of entities take in blocks: a further version has only what differs from the one
/// before.
private struct VersionSample {
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

  /// A version's other bytes: its numbers, and marks for what did not change.
  private static let fixedByteCount = 12

  /// About how many bytes the first versions of all entities take.
  var newestByteCount: Int { first.count * first.average }
  /// About how many bytes a further version takes.
  var furtherByteCount: Int { further.average }

  /// Adds the versions of an entity.
  mutating func add(
    _ group: [VersionMerge<EntityVersion>.Found],
    _ row: (VersionMerge<EntityVersion>.Found) throws(ArchiveError) -> EntityRow?
  ) throws(ArchiveError) {
    if let oldest = group.first, first.isNextSampled() { first.add(try row(oldest)?.record.bytes) }
    for index in group.indices.dropFirst() where further.isNextSampled() {
      guard let later = try row(group[index]) else { continue }
      let earlier = try row(group[index - 1])?.record ?? EntityRecord()
      further.add(earlier.changes(to: later.record)?.bytes)
    }
  }
}
