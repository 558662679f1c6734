import Foundation

enum Signals {
  /// - Returns: the signals that were not ignored before. `nohup`, for example, starts programs that must
  ///   continue to ignore SIGHUP.
  static func ignore(_ numbers: [Int32]) -> [Int32] {
    numbers.filter { number in
      let old = signal(number, SIG_IGN)
      return unsafe unsafeBitCast(old, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
}
