import Foundation
import LevelDB
import Locks

/// Holds a journal for one opener: against other processes by `flock` on LOCK, against this one by a list
/// of what is open.
///
/// LevelDB's own lock is not enough: it is lost as soon as any code of the process closes that file. And the
/// list goes by device and inode, as one folder can have many names.
final class FolderLock: Sendable {
  /// Per file, how many read; -1: one writes.
  private static let open = Lock<[FileIdentity: Int]>([:])

  private let file: Lock<File?>
  private let identity: FileIdentity
  private let exclusive: Bool

  /// - Throws: ``JournalError`` with code `locked` when somebody else holds the journal in a way that
  ///   excludes this one: any number may read, or one may write.
  init(_ folder: JournalFolder, exclusive: Bool) throws(JournalError) {
    // A reader may have no right to write; a shared lock needs none.
    let file = try File(folder.lock, exclusive ? .updating : .reading)
    let identity = try file.identity()
    let isFree = Self.open.withLock { open in
      let holders = open[identity] ?? 0
      guard exclusive ? holders == 0 : holders >= 0 else { return false }
      open[identity] = exclusive ? -1 : holders + 1
      return true
    }
    guard isFree else {
      throw JournalError(
        .locked, "this process has the journal open already; share that one", path: folder.path)
    }
    self.identity = identity
    self.exclusive = exclusive
    do throws(JournalError) {
      guard try file.lock(exclusive: exclusive) else {
        throw JournalError(
          .locked, "another process has the journal open; close it there first", path: folder.path)
      }
    } catch {
      Self.leave(identity)
      throw error
    }
    self.file = Lock(consume file)
  }

  deinit { release() }

  /// Lets others open the journal. Can be called twice.
  func release() {
    let held = file.withLock { file in
      let isHeld = file != nil
      file = nil
      return isHeld
    }
    if held { Self.leave(identity) }
  }

  private static func leave(_ identity: FileIdentity) {
    open.withLock { open in
      let holders = open[identity] ?? 0
      open[identity] = holders > 1 ? holders - 1 : nil
    }
  }
}
