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
