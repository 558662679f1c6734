import KeyedArchiving
import Locks

/// The parts of a state that stand on the file of a snapshot, and what takes their place when it fails.
///
/// A reader of a state has nowhere to put an error. So when something can't be read, the same parts are rebuilt
/// from an older snapshot and the log, once, and all states that stand on the file go on with those.
///
/// Safe to use from many threads.
final class SnapshotBase: Sendable {
  private let contents: SnapshotContents
  private let rebuild: @Sendable (ArchiveError) throws(JournalError) -> StateParts
  private let rebuilt = Lock<StateParts?>(nil)

  init(
    _ contents: SnapshotContents,
    rebuild: @escaping @Sendable (ArchiveError) throws(JournalError) -> StateParts
  ) {
    self.contents = contents
    self.rebuild = rebuild
  }

  var parts: StateParts {
    StateParts(
      tables: contents.tables.indices.map { kind in
        EntityTable(base: FiledEntities(self, kind), highest: contents.tables[kind].highest)
      },
      indexes: contents.indexes.indices.map { index in
        (contents.indexes[index].name, EntityIndex(base: FiledIndex(self, index)))
      }, lists: contents.lists)
  }

  fileprivate func entities(_ kind: Int) -> SnapshotEntities { contents.tables[kind] }
  fileprivate func pairs(_ index: Int) -> SnapshotPairs { contents.indexes[index].pairs }
  fileprivate func indexName(_ index: Int) -> String { contents.indexes[index].name }

  /// What the parts that took the place of the file's say, after the file failed.
  fileprivate func instead(of error: ArchiveError) -> StateParts {
    rebuilt.withLock { rebuilt in
      if let rebuilt { return rebuilt }
      do throws(JournalError) {
        let parts = try rebuild(error).frozen()
        rebuilt = parts
        return parts
      } catch {
        // Two things are lost at once, the snapshot and the log behind it. There is no right answer, and a wrong
        // one must not be given.
        fatalError("a snapshot and the log behind it can't be read: \(error)")
      }
    }
  }
}

/// The entities of one kind in the file.
private final class FiledEntities: EntityBase {
  private let base: SnapshotBase
  private let kind: Int
  private let entities: SnapshotEntities

  init(_ base: SnapshotBase, _ kind: Int) {
    self.base = base
    self.kind = kind
    entities = base.entities(kind)
  }

  private func instead(of error: ArchiveError) -> any EntityBase {
    guard let table = base.instead(of: error).tables[kind].base else {
      fatalError("frozen parts stand on a base")
    }
    return table
  }

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
      return instead(of: error).row(at: position)
    }
  }

  func deletion(at position: Int) -> (number: Int, revision: Revision) {
    do throws(ArchiveError) { return try entities.deletion(at: position) } catch {
      return instead(of: error).deletion(at: position)
    }
  }
}

/// The lines of an index in the file.
private final class FiledIndex: IndexBase {
  private let base: SnapshotBase
  private let index: Int
  private let pairs: SnapshotPairs

  init(_ base: SnapshotBase, _ index: Int) {
    self.base = base
    self.index = index
    pairs = base.pairs(index)
  }

  private func instead(of error: ArchiveError) -> any IndexBase {
    let name = base.indexName(index)
    guard let lines = base.instead(of: error).index(name)?.base else {
      fatalError("frozen parts stand on a base")
    }
    return lines
  }

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
      return instead(of: error).key(at: position)
    }
  }
}
