package import CatalogModel

/// The error that says why an entity does not exist at a revision.
package struct Absence: Error, CustomStringConvertible {
  package let description: String
  /// The revision of the entity's last event up to the requested revision; nil if the entity had no event yet.
  package let revision: Revision?
}

extension Journal where State == Catalog {
  /// Why an entity does not exist at a revision.
  /// - Parameter namingErasure: whether the description names the entry that erased the entity. Finding that entry
  ///   reads all later entries.
  package func absence(
    of entity: EntityKey, at revision: Revision, namingErasure: Bool = true
  ) throws -> Absence {
    let name = Catalog.name(of: entity)
    guard state.revision(of: entity) > 0 else {
      return Absence(description: "\(name) never existed in this journal", revision: nil)
    }
    let absence = "\(name) does not exist at revision \(revision): "
    guard let last = try history(of: entity, asOf: .revision(revision), limit: 1).first else {
      return Absence(description: absence + "it was added later", revision: nil)
    }
    let reason = try reason(of: last, name, namingErasure)
    return Absence(description: absence + reason, revision: last.revision)
  }

  private func reason(of last: EntityChange, _ name: String, _ namingErasure: Bool) throws -> String {
    let isDeleted = last.event.operation == .delete
    // If a deletion was not pruned but has no record before it, the entity's content was erased.
    guard isDeleted, last.isPruned || last.before != nil else {
      let erasure = try (namingErasure ? erasure(of: last.event.entity) : nil).map { entry in
        "; entry \(entry.revision) erased it" + (entry.author.isEmpty ? "" : ", by \(entry.author)")
          + (entry.note.isEmpty ? "" : ": \(entry.note)")
      }
      return "its content was erased; \(isDeleted ? "it was deleted by" : "its newest event is in") "
        + "revision \(last.revision)\(erasure ?? "")"
    }
    return last.isPruned
      ? "it was deleted before revision \(last.revision), and history before that was pruned"
      : "it was deleted by revision \(last.revision); \(name)@\(last.revision - 1) is what it was before"
  }
}
