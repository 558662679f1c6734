package import Files

/// An open folder whose failures are the journal's.
typealias Folder = Files.Folder<JournalError>
/// An open file whose failures are the journal's.
typealias File = Files.File<JournalError>

extension JournalError: FileFailure {
  /// What a failed call of the operating system means for a journal.
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

  /// The same for a call that failed with an error number.
  init(systemError number: Int32, _ action: String, path: String) {
    self.init(FileError(number, action, path: path))
  }

  /// Whether it is a fault of what was looked at: what is short for now, or not allowed to this user, is none.
  var saysSomethingOfTheJournal: Bool { code != .outOfResources && code != .permission }
}
