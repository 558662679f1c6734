package import CBOR
package import Foundation
import PropertyLists

/// A version of an entity that a search found.
package struct PastHit: Hashable, Sendable {
  package let number: Int
  package let revision: Revision
}

/// The words of all versions that the entries of a layer made of the entities in a scope.
package struct PastWords {
  fileprivate let segments: [TextSegment]

  /// The versions that have all of some words in one of the indexes.
  package func hits(ofAll words: [SoughtWord]) throws -> Set<PastHit> {
    var found: Set<PastHit> = []
    for segment in segments {
      for hit in try segment.hits(ofAll: words, asOf: .max) {
        found.insert(PastHit(number: hit.number, revision: hit.revision))
      }
    }
    return found
  }
}

extension Journal {
  /// The entities in a scope of which a version up to the newest entry has a value in one of some ranges, and possibly
  /// others, by an index of past values. Nil if a pass over the log takes less time: if too few layers have the index, or
  /// if too many versions match.
  /// - Parameter limit: the most entries without an index, and the most matching versions; by default an eighth of the
  ///   entries.
  /// - Throws: ``JournalError`` with code `closed` as soon as the journal is being closed.
  package func pastHolders(
    of scope: IndexScope, at path: AttributePath, in ranges: [ValueRange], atMost limit: Int? = nil
  ) throws -> Set<Int>? {
    let definition = IndexDefinition(scope, path, .pastValues)
    let (version, start) = (version, format.head.revision)
    var entryCount = version.revision - start
    let limit = limit ?? entryCount / 8
    for layer in LayerStack.backing(version.state)?.layers ?? [] where layer.indexes.contains(definition) {
      entryCount -= layer.top.revision - max(layer.start.revision, start)
    }
    guard entryCount <= limit else { return nil }
    let words = ranges.map { (first: $0.lower.word, last: $0.upper.word) }
    var (numbers, hitCount) = (Set<Int>(), 0)
    let scanned = try pastVersions(of: scope, [definition]) { past in
      for segment in past.segments {
        for word in words {
          hitCount += try segment.hitCount(from: word.first, through: word.last)
          if hitCount <= limit {
            numbers.formUnion(try segment.numbers(from: word.first, through: word.last))
          }
        }
      }
      return []
    } scanned: { record in
      ranges.contains { $0.contains(record, at: path) }
    }
    return hitCount <= limit ? numbers.union(scanned.lazy.map(\.number)) : nil
  }

  /// The versions of the entities in a scope that match a search, of all versions up to the newest entry.
  /// - Parameters:
  ///   - definitions: the indexes of words that the search needs.
  ///   - indexed: finds the versions of a layer that has the indexes.
  ///   - scanned: whether a version matches, for layers without the indexes and for entries that no layer has.
  /// - Throws: ``JournalError`` with code `closed` as soon as the journal is being closed.
  package func pastVersions(
    of scope: IndexScope, _ definitions: [IndexDefinition], indexed: (PastWords) throws -> Set<PastHit>,
    scanned: (EntityRecord) -> Bool
  ) throws -> Set<PastHit> {
    let version = version
    var found: Set<PastHit> = []
    func scan(
      after first: Revision, through last: Revision, _ body: (RecentWords.Version) -> Void = { _ in }
    ) throws {
      guard first < last else { return }
      try forEachVersion(of: scope, after: first, through: last) { version in
        body(version)
        if scanned(version.record) {
          found.insert(PastHit(number: version.number, revision: version.revision))
        }
      }
    }
    var reached = 0
    var scannedFrom = 0
    for layer in LayerStack.backing(version.state)?.layers.reversed() ?? [] {
      let contents = layer.contents
      let segments = definitions.compactMap { contents.words($0) }
      if segments.count == definitions.count {
        do {
          for hit in try indexed(PastWords(segments: segments))
          where try !wasPruned(hit, of: scope, version.state) {
            found.insert(hit)
          }
          try scan(after: scannedFrom, through: reached)
          scannedFrom = layer.top.revision
        } catch let error as ArchiveError {
          // The log is read in place of this layer.
          _ = layer.replacement(of: contents, because: error, isForAnswer: false)
        }
      }
      reached = layer.top.revision
    }
    // The words of the entries above the layers are kept for the next search, so that it reads only newer entries.
    let recentEntries = recentEntries
    let removalCount = recentEntries.removalCount
    var recent = recentEntries.words(definitions, after: scannedFrom)
    for hit in try indexed(PastWords(segments: recent.segments)) where hit.revision <= version.revision {
      found.insert(hit)
    }
    if recent.end < version.revision {
      var new: [RecentWords.Version] = []
      try scan(after: recent.end, through: version.revision) { version in
        if recent.reserve(version.record) { new.append(version) } else { new = [] }
      }
      if !recent.isFull {
        try recent.append(new, through: version.revision)
        recentEntries.keep(recent, since: removalCount)
      }
    }
    try chain.faults.check()
    return found
  }

  /// Calls `body` with the versions that a range of entries made of the entities in a scope.
  private func forEachVersion(
    of scope: IndexScope, after first: Revision, through last: Revision, _ body: (RecentWords.Version) -> Void
  ) throws {
    try chain.waitForEntry(last)
    if let versions = try fewVersions(of: scope, after: first, through: last) {
      return versions.forEach(body)
    }
    try chain.forEachVersion(
      State.self, of: [scope.table], after: first, through: last,
      checkIsWanted: current.checkIsNotClosing
    ) { _, number, revision, record in
      if scope.lists(record) { body((number, revision, record)) }
    }
  }

  /// The versions that a range of entries made, each read by the history of its entity; nil if they are many. Then they
  /// are found faster by a replay of all entries above the layers.
  private func fewVersions(
    of scope: IndexScope, after first: Revision, through last: Revision
  ) throws -> [RecentWords.Version]? {
    guard first >= format.head.revision, last - first <= 64 else { return nil }
    let byteLimit = 1 << 20
    var byteCount = 0
    var events: [(event: JournalEvent, revision: Revision)] = []
    try chain.readLog(after: first, through: last) { entry throws(JournalError) in
      var decoder = try entry.events()
      while byteCount <= byteLimit, let event = try decoder.next(upcast) {
        byteCount += 4096 + event.payload.count
        if Int(event.entity.kind.rawValue) == scope.table { events.append((event, entry.revision)) }
      }
    }
    guard byteCount <= byteLimit else { return nil }
    var (versions, records): ([RecentWords.Version], [EntityKey: EntityRecord?]) = ([], [:])
    for (event, revision) in events {
      // The history of an entity is read once, because it may be long.
      let before = try records[event.entity] ?? row(of: event.entity, after: event.previous)?.record
      let record = event.change.applied(to: before)
      records[event.entity] = .some(record)
      guard let record else { continue }
      // A small change may be one of a large record.
      byteCount += record.bytes.count
      if byteCount > byteLimit { return nil }
      if scope.lists(record) { versions.append((event.entity.number, revision, record)) }
    }
    return versions
  }

  /// Whether a version was pruned. A layer from before the pruning, which another program has brought back, still lists it.
  private func wasPruned(_ hit: PastHit, of scope: IndexScope, _ state: State) throws(JournalError) -> Bool {
    guard hit.revision <= format.head.revision else { return false }
    let entity = EntityKey(kind: EntityKind(rawValue: UInt8(scope.table)), number: hit.number)
    let newest = state.revision(of: entity)
    if newest <= format.head.revision { return newest != hit.revision }
    return try row(of: entity, after: hit.revision)?.modified != hit.revision
  }

  /// When and by whom an entry was made. Of a pruned entry, only the date of the base is known.
  package func origin(at revision: Revision) throws -> (date: Date, author: String) {
    try settled {
      if revision <= format.head.revision { return (format.head.date, "") }
      return try log.read(revision) { entry throws(JournalError) in
        (try entry.header().date.date, try entry.annotation()?.author ?? "")
      }
    }
  }
}
