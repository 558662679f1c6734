import Files
import Locks

/// Holds a journal for one opener: against other processes by `flock` on its folder, against this one by a list of
/// what is open.
///
/// The folder itself is locked, as no copy shares it: a file in it can have a second name in a backup that was made
/// of hard links. A lock that the log takes on a file of its own is lost as soon as any code of the process closes that file.
final class FolderLock: Sendable {
  /// Per folder, how many read; -1: one writes.
  private static let open = Lock<[FileIdentity: Int]>([:])

  /// Opened for this lock alone, which ends with it.
  private let held: Lock<Folder?>
  private let identity: FileIdentity

  /// - Throws: ``JournalError`` with code `locked` when somebody else holds the journal in a way that
  ///   excludes this one: any number may read, or one may write.
  init(_ folder: JournalFolder, exclusive: Bool) throws(JournalError) {
    let own = try folder.root.reopened()
    let identity = try own.status().identity
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
    do throws(JournalError) {
      guard try own.lock(exclusive: exclusive) else {
        throw JournalError(
          .locked, "another process has the journal open; close it there first", path: folder.path)
      }
    } catch {
      Self.leave(identity)
      throw error
    }
    held = Lock(own)
  }

  deinit { release() }

  /// Lets others open the journal. Can be called twice.
  func release() {
    let wasHeld = held.withLock { held in
      defer { held = nil }
      held?.unlock()
      return held != nil
    }
    if wasHeld { Self.leave(identity) }
  }

  private static func leave(_ identity: FileIdentity) {
    open.withLock { open in
      let holders = open[identity] ?? 0
      open[identity] = holders > 1 ? holders - 1 : nil
    }
  }
}
