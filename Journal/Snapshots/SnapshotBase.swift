import KeyedArchiving
import Locks

/// The parts of a state that stand on the file of a snapshot, and what takes their place when it fails.
///
/// A reader of a state has nowhere to put an error. So when something can't be read, the same parts are rebuilt
/// from an older snapshot and the log, once, and all states that stand on the file go on with those.
///
/// Safe to use from many threads.
final class SnapshotBase: Sendable {
  typealias Rebuild = @Sendable (ArchiveError) throws(JournalError) -> StateParts

  private let contents: SnapshotContents
  private let rebuild: Rebuild
  private let replacement = Lock<Replacement?>(nil)

  /// What a replay has made of the same state, in memory, in the order of the contents.
  fileprivate struct Replacement: Sendable {
    var tables: [FrozenEntities]
    var indexes: [FrozenIndex]
  }

  init(_ contents: SnapshotContents, rebuild: @escaping Rebuild) {
    self.contents = contents
    self.rebuild = rebuild
  }

  var parts: StateParts {
    StateParts(
      tables: contents.tables.indices.map { kind in
        EntityTable(
          base: FiledEntities(self, contents.tables[kind], kind), highest: contents.tables[kind].highest)
      },
      indexes: contents.indexes.enumerated().map { index, part in
        (part.name, EntityIndex(base: FiledIndex(self, part.pairs, index)))
      }, lists: contents.lists)
  }

  /// What takes the place of the parts in the file, after the file failed.
  fileprivate func instead(of error: ArchiveError) -> Replacement {
    replacement.withLock { replacement in
      if let replacement { return replacement }
      do throws(JournalError) {
        let rebuilt = Replacement(try rebuild(error), like: contents)
        replacement = rebuilt
        return rebuilt
      } catch {
        // Two things are lost at once and for good, a part of a large snapshot that was not read yet and the log
        // behind it: the drive is gone, say. There is no right answer, and a wrong one must not be given.
        fatalError("the journal can't be read any more, neither its snapshot nor its log: \(error)")
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

  private func instead(of error: ArchiveError) -> FrozenEntities { base.instead(of: error).tables[kind] }

  var count: Int { entities.count }
  var deletionCount: Int { entities.deletionCount }

  func row(_ number: Int) -> Row? {
    do throws(ArchiveError) { return try entities.row(number) } catch {
      return instead(of: error).row(number)
    }
  }

  func revision(of number: Int) -> Revision {
    do throws(ArchiveError) { return try entities.revision(of: number) } catch {
      return instead(of: error).revision(of: number)
    }
  }

  func position(of number: Int) -> Int {
    do throws(ArchiveError) { return try entities.position(of: number) } catch {
      return instead(of: error).position(of: number)
    }
  }

  func row(at position: Int) -> (number: Int, row: Row) {
    do throws(ArchiveError) { return try entities.row(at: position) } catch {
      let table = instead(of: error)
      // A forged file can count more than there are.
      guard position < table.count else { return (entities.highest, .none) }
      return table.row(at: position)
    }
  }

  func deletion(at position: Int) -> (number: Int, revision: Revision) {
    do throws(ArchiveError) { return try entities.deletion(at: position) } catch {
      let table = instead(of: error)
      guard position < table.deletionCount else { return (entities.highest, 0) }
      return table.deletion(at: position)
    }
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

  private func instead(of error: ArchiveError) -> FrozenIndex { base.instead(of: error).indexes[index] }

  var count: Int { pairs.count }

  func contains(_ key: IndexKey) -> Bool {
    do throws(ArchiveError) {
      let position = try pairs.position(of: (key.group, key.member))
      guard position < pairs.count else { return false }
      return try pairs.pair(at: position) == (key.group, key.member)
    } catch {
      return instead(of: error).contains(key)
    }
  }

  func position(of key: IndexKey) -> Int {
    do throws(ArchiveError) { return try pairs.position(of: (key.group, key.member)) } catch {
      return instead(of: error).position(of: key)
    }
  }

  func key(at position: Int) -> IndexKey {
    do throws(ArchiveError) {
      let pair = try pairs.pair(at: position)
      return IndexKey(group: pair.0, member: pair.1)
    } catch {
      let lines = instead(of: error)
      guard position < lines.count else { return IndexKey(group: .max, member: .max) }
      return lines.key(at: position)
    }
  }
}

extension Row {
  /// What stands where a forged file counts an entity and the log has none.
  fileprivate static let none = Row(record: Record([:]), created: 0, modified: 0)
}
