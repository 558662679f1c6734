import Foundation

enum Signals {
  /// Ignores signals, and returns those that were not ignored before. The caller must leave the rest ignored: a program
  /// that `nohup` started, for example, must not end at a SIGHUP.
  static func ignore(_ numbers: [Int32]) -> [Int32] {
    numbers.filter { number in
      let old = signal(number, SIG_IGN)
      return unsafe unsafeBitCast(old, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
}
