/// The progress of a copy.
public struct CopyProgress: Sendable {
  /// The phase of a copy.
  public enum Phase: Sendable {
    /// Entries and the images that they name are read, checked and written.
    case copying
    /// The copy is read back and compared.
    case proving
  }

  /// The phase of a copy.
  public let phase: Phase
  /// The revision reached so far; in a copy without history, the number of entities copied so far.
  public let done: Int
  /// The last revision; in a copy without history, the number of all entities.
  public let all: Int

  package init(phase: Phase, done: Int, all: Int) { (self.phase, self.done, self.all) = (phase, done, all) }
}

/// Called with the progress of a copy. An error that it throws, or cancelling the task, ends the work.
package typealias CopyObserver = (CopyProgress) throws -> Void
