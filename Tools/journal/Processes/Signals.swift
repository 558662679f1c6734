import Foundation

/// The signals that this program handles.
enum Signals {
  /// Ignores signals from now on.
  /// - Returns: those that were not ignored before. `nohup`, for example, starts programs that ignore SIGHUP, and they
  ///   must continue to.
  static func ignore(_ numbers: [Int32]) -> [Int32] {
    numbers.filter { number in
      let old = signal(number, SIG_IGN)
      return unsafe unsafeBitCast(old, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
}
