enum ExitCode: Int32 {
  case done = 0
  /// The answer is no: something does not exist, or a check found a problem.
  case no = 1
  /// The command line is invalid, or names something that can't be used.
  case wrongUse = 2
  /// The journal can't be opened, read or written.
  case unreadable = 3
}

struct Failure: Error, Equatable, CustomStringConvertible {
  let code: ExitCode
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }

  static func no(_ description: String) -> Failure { Failure(.no, description) }
  static func wrongUse(_ description: String) -> Failure { Failure(.wrongUse, description) }
  static func unreadable(_ description: String) -> Failure { Failure(.unreadable, description) }
}
