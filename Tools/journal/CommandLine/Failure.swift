/// What the program tells the shell.
enum ExitCode: Int32 {
  /// What was asked for is done.
  case done = 0
  /// The answer is no: something is not there, or a check found something.
  case no = 1
  /// The command line makes no sense, or names something that can't be used.
  case wrongUse = 2
  /// The journal can't be opened, read or written.
  case unreadable = 3
}

/// Why a verb ended before its work was done: one sentence for a person, and the code for the shell.
struct Failure: Error, CustomStringConvertible {
  let code: ExitCode
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }
}
