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
  /// The revision reached so far.
  public let done: Revision
  /// The last revision.
  public let all: Revision
}

/// Called with the progress of a copy. An error that it throws, or cancelling the task, ends the work.
typealias CopyObserver = (CopyProgress) throws -> Void
