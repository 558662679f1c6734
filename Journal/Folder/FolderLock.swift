import Files
import Foundation
import Locks

/// Holds a journal for the one who writes it: against other processes by `flock` on its folder, against this one by a
/// list of what is open. Who only reads holds nothing.
///
/// The folder itself is locked, as no copy shares it: a file in it can have a second name in a backup that was made
/// of hard links. A lock that the log takes on a file of its own is lost as soon as any code of the process closes that file.
final class FolderLock: Sendable {
  /// The folders of the journals that this process writes.
  private static let open = Lock<Set<FileIdentity>>([])

  /// Opened for this lock alone, which ends with it.
  private let held: Lock<Folder?>
  private let identity: FileIdentity

  /// - Throws: ``JournalError`` with code `locked` when somebody else writes the journal.
  init(_ folder: JournalFolder) throws(JournalError) {
    let own = try folder.root.reopened()
    let identity = try own.status().identity
    guard Self.open.withLock({ $0.insert(identity).inserted }) else {
      throw JournalError(
        .locked, "this process has the journal open for writing already; share that one", path: folder.path)
    }
    self.identity = identity
    do throws(JournalError) {
      guard try Self.lock(own) else {
        throw JournalError(
          .locked,
          "another process has the journal open for writing; close it there first, or open it here to read or to "
            + "follow", path: folder.path)
      }
    } catch {
      Self.leave(identity)
      throw error
    }
    held = Lock(own)
  }

  /// Takes the lock. A reader has it for a microsecond when it asks who writes (``isHeld(_:)``), so one that is not free
  /// is tried again for a few milliseconds.
  private static func lock(_ folder: Folder) throws(JournalError) -> Bool {
    for _ in 0..<20 {
      if try folder.lock(exclusive: true) { return true }
      usleep(1000)
    }
    return false
  }

  /// Whether somebody has a journal open for writing at the moment: another process, or this one.
  static func isHeld(_ folder: JournalFolder) throws(JournalError) -> Bool {
    let own = try folder.root.reopened()
    guard try own.lock(exclusive: false) else { return true }
    own.unlock()
    return false
  }

  deinit { release() }

  /// Lets others write the journal. Can be called twice.
  func release() {
    let wasHeld = held.withLock { held in
      defer { held = nil }
      held?.unlock()
      return held != nil
    }
    if wasHeld { Self.leave(identity) }
  }

  private static func leave(_ identity: FileIdentity) { open.withLock { _ = $0.remove(identity) } }
}
