package import Files

typealias Folder = Files.Folder<JournalError>
typealias File = Files.File<JournalError>

extension JournalError: FileFailure {
  /// The journal's error for a failed call of the operating system.
  package init(_ error: FileError) {
    let code: Code =
      switch error.reason {
      case .notFound: .notFound
      case .alreadyExists: .alreadyExists
      case .notPermitted: .permission
      case .isLink, .isNoFile, .isNoFolder: .notAJournal
      case .isTooLarge: .damaged
      case .outOfResources: .outOfResources
      case .noSpace, .io: .io
      }
    self.init(code, error.message, path: error.path)
  }

  /// Whether the error concerns the journal itself, not a shortage or a missing permission.
  package var saysSomethingOfTheJournal: Bool { code != .outOfResources && code != .permission }
}

extension Files.Folder<JournalError> {
  /// Calls `body` for a file or folder; nil if there is none, also if another thread or process removes it meanwhile.
  package func ifPresent<Result>(
    _ name: String, _ body: (_ name: String) throws(JournalError) -> Result
  ) throws(JournalError) -> Result? {
    guard try status(of: name) != nil else { return nil }
    do throws(JournalError) { return try body(name) } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// The bytes of a file; nil if there is none.
  /// - Throws: ``JournalError`` with code `damaged` if the file is longer than `limit`.
  package func contents(of name: String, limit: Int) throws(JournalError) -> [UInt8]? {
    try ifPresent(name) { name throws(JournalError) in try file(name, .reading).contents(limit: limit) }
  }
}
