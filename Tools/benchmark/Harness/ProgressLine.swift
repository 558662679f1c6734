import Foundation

/// A line on standard error that says what is being measured; only on a terminal.
final class ProgressLine: Sendable {
  private let isShown = isatty(FileHandle.standardError.fileDescriptor) == 1

  /// Replaces the line.
  func show(_ text: String) {
    guard isShown else { return }
    write("\r\u{1B}[K\(text)")
  }

  /// Clears the line.
  func clear() { show("") }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
