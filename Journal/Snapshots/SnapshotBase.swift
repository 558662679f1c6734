import KeyedArchiving
import Locks
import Synchronization

/// The parts of a state that stand on the file of a snapshot, and what takes their place when it fails.
///
/// A reader of a state has nowhere to put an error. So when something can't be read, the same parts are rebuilt
/// from an older snapshot and the log, once, and all states that stand on the file go on with those. If that fails too,
/// what can't be read is missing from the answers, and the state says so: `EventSourced.failure`.
///
/// Safe to use from many threads.
final class SnapshotBase: Sendable {
  typealias Rebuild = @Sendable (ArchiveError) throws(JournalError) -> StateParts

  private let contents: SnapshotContents
  private let rebuild: Rebuild
  private let faults: ReadFaults
  private let replacement = Lock<Replacement?>(nil)
  /// When rebuilding failed last. Each reader that tried again would take as long as the first.
  private let failedAt = Lock<ContinuousClock.Instant?>(nil)
  private static let retryInterval = Duration.seconds(1)
  /// Asked at each access: a page that failed would be read again, and fail again, each time.
  private let isReplaced = Atomic<Bool>(false)

  /// What a replay has made of the same state, in memory, in the order of the contents.
  fileprivate struct Replacement: Sendable {
    var tables: [FrozenEntities]
    var indexes: [FrozenIndex]
  }

  init(_ contents: SnapshotContents, faults: ReadFaults, rebuild: @escaping Rebuild) {
    self.contents = contents
    self.faults = faults
    self.rebuild = rebuild
  }

  var parts: StateParts {
    StateParts(
      tables: contents.tables.indices.map { kind in
        EntityTable(
          base: FiledEntities(self, contents.tables[kind], kind), highest: contents.tables[kind].highest,
          erased: contents.tables[kind].erased)
      },
      indexes: contents.indexes.enumerated().map { index, part in
        (part.name, EntityIndex(base: FiledIndex(self, part.pairs, index)))
      }, lists: contents.lists)
  }

  /// What took the place of the parts in the file, nil as long as the file has not failed.
  @inline(__always)
  fileprivate var present: Replacement? {
    isReplaced.load(ordering: .acquiring) ? replacement.withLock { $0 } : nil
  }

  /// Why some answer may be missing, nil when none is.
  fileprivate var failure: JournalError? { faults.failure }

  /// What takes the place of the parts in the file, after the file failed; nil, and noted, when there is nothing.
  fileprivate func instead(of error: ArchiveError) -> Replacement? {
    replacement.withLock { replacement in
      if let replacement { return replacement }
      if let failedAt = failedAt.withLock({ $0 }), failedAt.duration(to: .now) < Self.retryInterval {
        return nil
      }
      do throws(JournalError) {
        let rebuilt = Replacement(try rebuild(error), like: contents)
        replacement = rebuilt
        isReplaced.store(true, ordering: .releasing)
        return rebuilt
      } catch {
        failedAt.withLock { $0 = .now }
        faults.note(error)
        return nil
      }
    }
  }
}

extension SnapshotBase.Replacement {
  fileprivate init(_ parts: StateParts, like contents: SnapshotContents) {
    tables = contents.tables.indices.map { kind in
      FrozenEntities(kind < parts.tables.count ? parts.tables[kind] : EntityTable())
    }
    indexes = contents.indexes.map { FrozenIndex(parts.index($0.name) ?? EntityIndex()) }
  }
}

/// The entities of one kind in the file.
private final class FiledEntities: EntityBase {
  private let base: SnapshotBase
  private let entities: SnapshotEntities
  private let kind: Int

  init(_ base: SnapshotBase, _ entities: SnapshotEntities, _ kind: Int) {
    self.base = base
    self.entities = entities
    self.kind = kind
  }

  /// Reads from the file, or from what took its place.
  @inline(__always)
  private func read<Result>(
    _ read: (SnapshotEntities) throws(ArchiveError) -> Result, instead: (FrozenEntities) -> Result
  ) -> Result? {
    if let present = base.present { return instead(present.tables[kind]) }
    do throws(ArchiveError) { return try read(entities) } catch {
      return base.instead(of: error).map { instead($0.tables[kind]) }
    }
  }

  var failure: JournalError? { base.failure }

  var count: Int { entities.count }
  var deletionCount: Int { entities.deletionCount }

  func row(_ number: Int) -> Row? {
    read { entities throws(ArchiveError) in
      try entities.row(number)
    } instead: {
      $0.row(number)
    } ?? nil
  }

  func revision(of number: Int) -> Revision {
    read { entities throws(ArchiveError) in
      try entities.revision(of: number)
    } instead: {
      $0.revision(of: number)
    } ?? 0
  }

  func position(of number: Int) -> Int {
    read { entities throws(ArchiveError) in
      try entities.position(of: number)
    } instead: {
      $0.position(of: number)
    } ?? count
  }

  // A forged file can count more entities, deletions and lines than there are.

  func row(at position: Int) -> (number: Int, row: Row)? {
    read { entities throws(ArchiveError) in
      try entities.row(at: position)
    } instead: {
      position < $0.count ? $0.row(at: position) : nil
    } ?? nil
  }

  func deletion(at position: Int) -> (number: Int, revision: Revision)? {
    read { entities throws(ArchiveError) in
      try entities.deletion(at: position)
    } instead: {
      position < $0.deletionCount ? $0.deletion(at: position) : nil
    } ?? nil
  }
}

/// The lines of an index in the file.
private final class FiledIndex: IndexBase {
  private let base: SnapshotBase
  private let pairs: SnapshotPairs
  private let index: Int

  init(_ base: SnapshotBase, _ pairs: SnapshotPairs, _ index: Int) {
    self.base = base
    self.pairs = pairs
    self.index = index
  }

  /// Reads from the file, or from what took its place.
  @inline(__always)
  private func read<Result>(
    _ read: (SnapshotPairs) throws(ArchiveError) -> Result, instead: (FrozenIndex) -> Result
  ) -> Result? {
    if let present = base.present { return instead(present.indexes[index]) }
    do throws(ArchiveError) { return try read(pairs) } catch {
      return base.instead(of: error).map { instead($0.indexes[index]) }
    }
  }

  var count: Int { pairs.count }

  func contains(_ key: IndexKey) -> Bool {
    read { pairs throws(ArchiveError) in
      let position = try pairs.position(of: (key.group, key.member))
      guard position < pairs.count else { return false }
      return try pairs.pair(at: position) == (key.group, key.member)
    } instead: {
      $0.contains(key)
    } ?? false
  }

  func position(of key: IndexKey) -> Int {
    read { pairs throws(ArchiveError) in
      try pairs.position(of: (key.group, key.member))
    } instead: {
      $0.position(of: key)
    } ?? count
  }

  func key(at position: Int) -> IndexKey? {
    read { pairs throws(ArchiveError) in
      let pair = try pairs.pair(at: position)
      return IndexKey(group: pair.0, member: pair.1)
    } instead: {
      position < $0.count ? $0.key(at: position) : nil
    } ?? nil
  }
}
