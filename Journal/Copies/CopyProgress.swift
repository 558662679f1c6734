/// How far the making of a copy has come.
public struct CopyProgress: Sendable {
  /// What is being done.
  public enum Phase: Sendable {
    /// Entries are read, checked and written, and with them the images that they name.
    case copying
    /// What was written is read back and compared.
    case proving
  }

  /// What is being done.
  public let phase: Phase
  /// The newest revision that this has reached.
  public let done: Revision
  /// The revision at which it ends.
  public let all: Revision
}

/// Told how far a copy has come. What it throws ends the work, as does the cancellation of the task it runs in.
typealias CopyObserver = (CopyProgress) throws -> Void
