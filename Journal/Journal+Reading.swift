import Dispatch

extension Journal {
  /// Runs `body` on another thread, outside of the caller's actor. Use it for calls that wait for a drive: past states,
  /// histories, differences, plans, images, verification.
  ///
  /// ```swift
  /// let yesterday = try await journal.read { try $0.state(asOf: RevisionSelector("yesterday")) }
  /// ```
  /// The caller suspends, and no thread of the task pool waits. Several reads run at the same time.
  /// - Throws: what `body` throws; `CancellationError`, without running `body`, if the task is already cancelled.
  public func read<Result: Sendable>(_ body: @escaping @Sendable (Journal) throws -> Result) async throws
    -> Result
  {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Swift.Result { try body(self) })
      }
    }
  }
}
