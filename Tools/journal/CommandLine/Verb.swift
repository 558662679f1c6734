/// A verb of the program: `journal VERB …`.
protocol Verb: Sendable {
  static var name: String { get }
  /// What it does, in a few words for the list of verbs.
  static var summary: String { get }
  /// What it does, in sentences.
  static var explanation: String { get }
  static var syntax: Syntax { get }
  /// Example command lines, each with its purpose.
  static var examples: [(command: String, does: String)] { get }
  /// Whether its results may be long enough for a pager.
  static var isPaged: Bool { get }
  /// Whether it ends when its results are no longer read, because all that is left to do then is to print the rest.
  static var endsWithReader: Bool { get }

  /// - Returns: ``ExitCode/done``, or ``ExitCode/no`` if the answer is no.
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode
}

extension Verb {
  static var isPaged: Bool { false }
  static var endsWithReader: Bool { false }
}
