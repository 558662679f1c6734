final class ProgressLine {
  private static let interval = Duration.milliseconds(100)
  private let isShown: Bool
  private let clock = ContinuousClock()
  private var last: ContinuousClock.Instant?
  private var isDirty = false

  init(isShown: Bool) { self.isShown = isShown }

  /// Replaces the line if it is at least 100 ms old. Only then is `text` called.
  func show(_ text: () -> String) {
    guard isShown else { return }
    let now = clock.now
    if let last, now - last < Self.interval { return }
    last = now
    isDirty = true
    StandardError.write("\r\u{1B}[K" + text())
  }

  func printLine(_ text: String) {
    guard isShown else { return }
    clear()
    StandardError.write(text + "\n")
  }

  func clear() {
    guard isDirty else { return }
    isDirty = false
    StandardError.write("\r\u{1B}[K")
  }
}
