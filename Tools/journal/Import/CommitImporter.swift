import CatalogModel

/// A form of import: makes changes of a catalog from what a commit did to files.
protocol CommitImporter {
  /// The changes of a commit, with everything that had to be read from git.
  associatedtype Change

  /// How many commits may be prepared before the first of them is applied.
  var preparedLimit: Int { get }

  /// Looks up what earlier commits have made. Called again if others have changed the journal.
  mutating func start(from catalog: Catalog) throws

  /// Requests the contents that a commit needs. Called for commits in order.
  func willImport(_ commit: GitCommit) throws

  /// Called for commits in order. Nil if the commit changes nothing.
  mutating func prepare(_ commit: GitCommit, _ report: ImportReport) throws -> Change?

  /// - Returns: the entities that may have changed.
  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>, _ report: ImportReport
  ) throws -> Set<EntityKey>
}
