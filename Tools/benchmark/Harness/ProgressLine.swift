import Foundation

/// One line on standard error that says what is being measured, when a person is looking.
final class ProgressLine: Sendable {
  private let isShown = isatty(FileHandle.standardError.fileDescriptor) == 1

  /// Replaces the line.
  func show(_ text: String) {
    guard isShown else { return }
    write("\r\u{1B}[K\(text)")
  }

  /// Takes the line away.
  func clear() { show("") }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
