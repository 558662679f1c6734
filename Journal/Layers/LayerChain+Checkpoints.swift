import CBOR
import PropertyLists

extension LayerChain {
  /// Chooses the checkpoints that a merged layer keeps: all, every second, every fourth and so on, or only the last.
  /// The choice is the first for which the layer takes no more than its share of the disk.
  /// - Parameter share: the most bytes of the merged layer.
  func checkpoints(
    of run: [Layer], _ sources: [any LayerSource], _ policy: LayerPolicy, share: Int,
    isCancelled: () -> Bool
  ) throws(JournalError) -> [LayerCheckpoint] {
    let all = run.flatMap(\.checkpoints)
    if !policy.keepsPast { return all.suffix(1) }
    // In nearly all cases, all checkpoints fit.
    if run.reduce(0, { $0 + ($1.footer?.byteCount ?? 0) }) <= share { return all }
    var choices = [all]
    while let newest = choices.last, newest.count > 1 {
      // Every second checkpoint is kept, counted from the end, so that the last one stays.
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

  /// Estimates the bytes of a merged layer: of its newest state and, for each choice of checkpoints, of its past
  /// states. The first choice must include all other choices.
  private func byteCounts(
    _ sources: [any LayerSource], keeping choices: [[Revision]], isCancelled: () -> Bool
  ) throws(ArchiveError) -> (newest: Int, past: [Int]) {
    var counts = choices.map { _ in 0 }
    var (first, further) = (VersionSample(), VersionSample())
    for kind in shape?.kinds.indices ?? 0..<0 {
      var cursors: [VersionCursor] = []
      for source in sources { cursors.append(try source.versions(kind)) }
      var merge = try VersionMerge(cursors, keeping: choices.first ?? [])
      let readers = sources.map { $0.rows(kind) }
      func record(_ found: VersionMerge<EntityVersion>.Found) throws(ArchiveError) -> EntityRecord {
        try readers[found.source](found.version)?.record ?? EntityRecord()
      }
      while try merge.next() {
        for choice in choices.indices { counts[choice] += merge.furtherCount(keeping: choices[choice]) }
        for (index, found) in merge.group.enumerated() {
          if index == 0 {
            if first.isNextSampled() { first.add(try record(found).bytes.count) }
          } else if further.isNextSampled() {
            // A further version stores only its difference from the version before.
            let before = try record(merge.group[index - 1])
            further.add(before.changes(to: try record(found))?.bytes.count ?? 0)
          }
        }
        if first.count % 1024 == 0, isCancelled() { break }
      }
    }
    return (first.count * first.average, counts.map { $0 * further.average })
  }
}

/// Estimates the average number of bytes of a version in a block, from a sample.
private struct VersionSample {
  private(set) var count = 0
  private var sampleCount = 0
  private var byteCount = 0

  /// Counts a version, and returns whether to add it to the sample. One of 32 is added, because decoding all versions
  /// takes as long as the merge.
  mutating func isNextSampled() -> Bool {
    count += 1
    return count % 32 == 1
  }

  mutating func add(_ byteCount: Int) {
    sampleCount += 1
    self.byteCount += byteCount
  }

  /// The average bytes of a version. A version's numbers, and the marks for unchanged parts, take about 12 bytes.
  var average: Int { 12 + byteCount / max(sampleCount, 1) }
}
