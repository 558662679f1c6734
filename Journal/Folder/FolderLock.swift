package import Files
import Foundation
import Locks

/// The lock of a writer: `flock` on the journal's folder excludes other processes, and a list of open folders excludes
/// other writers in this process. Readers take no lock.
///
/// The folder itself is locked because no copy shares it: a file in it can have a second name in a backup of hard
/// links. An `fcntl` lock on a file would be lost as soon as any code of the process closes that file.
package final class FolderLock: Sendable {
  private struct Holder: Sendable {
    /// A forked child inherits the list, but holds none of the locks.
    let process = System.process
    /// Whether the log is in memory.
    let isTransient: Bool
  }

  /// The folders of the journals that this process writes.
  private static let open = Lock<[FileIdentity: Holder]>([:])

  /// The folder, opened only for this lock, which ends when the folder is closed.
  private let held: Lock<Folder?>
  private let identity: FileIdentity

  /// - Throws: ``JournalError`` with code `locked` if another writer has the journal open.
  package init(_ folder: JournalFolder, isTransient: Bool = false) throws(JournalError) {
    let own = try folder.root.reopened()
    let identity = try own.status().identity
    let isFirst = Self.open.withLock { open in
      if open[identity]?.process == System.process { return false }
      open[identity] = Holder(isTransient: isTransient)
      return true
    }
    guard isFirst else {
      throw JournalError(
        .locked,
        "this process has the journal open for writing already; use that instance, or close it first",
        path: folder.path)
    }
    self.identity = identity
    do throws(JournalError) {
      guard try Self.lock(own) else {
        throw JournalError(
          .locked,
          "another process has the journal open for writing, or is salvaging it; close it there first",
          path: folder.path)
      }
    } catch {
      Self.leave(identity)
      throw error
    }
    held = Lock(own)
  }

  /// Takes the lock. A reader takes it for a microsecond to find out whether there is a writer (``isHeld(_:)``), so a
  /// lock that is not free is retried for up to 20 milliseconds.
  private static func lock(_ folder: Folder) throws(JournalError) -> Bool {
    for _ in 0..<20 {
      if try folder.lock(exclusive: true) { return true }
      usleep(1000)
    }
    return false
  }

  /// Whether another process, or this one, has a journal open for writing.
  package static func isHeld(_ folder: JournalFolder) throws(JournalError) -> Bool {
    guard let own = try shared(folder) else { return true }
    own.unlock()
    return false
  }

  /// Takes a shared lock, which excludes writers but not other readers.
  /// - Returns: the locked folder; nil if this or another process has the journal open for writing.
  package static func shared(_ folder: JournalFolder) throws(JournalError) -> Files.Folder<JournalError>? {
    let own = try folder.root.reopened()
    return try own.lock(exclusive: false) ? own : nil
  }

  deinit { release() }

  /// Releases the lock. Can be called twice.
  package func release() {
    let wasHeld = held.withLock { held in
      defer { held = nil }
      held?.unlock()
      return held != nil
    }
    if wasHeld { Self.leave(identity) }
  }

  private static func leave(_ identity: FileIdentity) {
    open.withLock { if $0[identity]?.process == System.process { $0[identity] = nil } }
  }

  /// Fails for the folder of a journal that this process has in memory.
  package static func checkIsNotInMemory(_ folder: JournalFolder) throws(JournalError) {
    let identity = try folder.root.status().identity
    if open.withLock({ $0[identity]?.isTransient == true }) {
      throw JournalError(
        .wrongUse,
        "the journal is in memory, so only the instance that made it can use it; copy it to a folder with copy(to:)",
        path: folder.path)
    }
  }
}
