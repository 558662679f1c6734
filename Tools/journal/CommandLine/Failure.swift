import CatalogModel

/// The exit code of the program.
enum ExitCode: Int32 {
  /// Success.
  case done = 0
  /// The answer is no: something does not exist, or a check found something.
  case no = 1
  /// The command line is invalid, or names something that can't be used.
  case wrongUse = 2
  /// The journal can't be opened, read or written.
  case unreadable = 3
}

/// Why a verb failed: one sentence for people, and the code for the shell.
struct Failure: Error, Equatable, CustomStringConvertible {
  let code: ExitCode
  let description: String

  init(_ code: ExitCode, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension Failure {
  /// The failure that says why an entity does not exist at a revision.
  init(absent entity: EntityKey, at revision: Revision, _ journal: CatalogJournal) throws {
    let name = Catalog.name(of: entity)
    guard journal.state.revision(of: entity) > 0 else {
      self.init(.no, "\(name) never existed in this journal")
      return
    }
    self.init(
      .no,
      "\(name) does not exist at revision \(revision): \(try Self.absence(of: entity, at: revision, journal))"
    )
  }

  private static func absence(
    of entity: EntityKey, at revision: Revision, _ journal: CatalogJournal
  ) throws -> String {
    guard let last = try journal.history(of: entity, asOf: .revision(revision), limit: 1).first else {
      return "it was added later"
    }
    let isDeleted = last.event.operation == .delete
    // Before a deletion that was not pruned, the entity had a record.
    guard isDeleted, last.isPruned || last.before != nil else {
      let erasure = try journal.erasure(of: entity).map { entry in
        "; entry \(entry.revision) erased it" + (entry.author.isEmpty ? "" : ", by \(entry.author)")
          + (entry.note.isEmpty ? "" : ": \(entry.note)")
      }
      return "its content was erased; \(isDeleted ? "it was deleted by" : "its newest event is in") "
        + "revision \(last.revision)\(erasure ?? "")"
    }
    return last.isPruned
      ? "it was deleted before revision \(last.revision), and history before that was pruned"
      : "it was deleted by revision \(last.revision); \(Catalog.name(of: entity))@\(last.revision - 1) is what it was "
        + "before"
  }
}
