import Foundation

/// One line on standard error that is written over and over, only where a person sees it.
final class ProgressLine {
  private static let interval = Duration.milliseconds(100)
  private let isShown: Bool
  private let clock = ContinuousClock()
  private var last: ContinuousClock.Instant?
  private var isDirty = false

  init(isShown: Bool) { self.isShown = isShown }

  /// Shows a line if the last one stood for a moment; the text is made only then.
  func show(_ text: () -> String) {
    guard isShown else { return }
    let now = clock.now
    if let last, now - last < Self.interval { return }
    last = now
    isDirty = true
    StandardError.write("\r\u{1B}[K" + text())
  }

  /// Takes the line away.
  func clear() {
    guard isDirty else { return }
    isDirty = false
    StandardError.write("\r\u{1B}[K")
  }
}
