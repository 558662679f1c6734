import CatalogModel

/// One form of the import: turns what a commit did to files into changes of a catalog.
protocol CommitImporter {
  /// The changes of a commit, with everything that had to be read from git.
  associatedtype Change

  /// How many commits may be prepared before the first of them is applied; 1 if preparing one needs the result of the
  /// previous one.
  var preparedLimit: Int { get }

  /// Looks up in the journal what earlier commits have made. Called if others have changed the journal.
  mutating func start(from catalog: Catalog) throws

  /// Requests the contents that this commit will need. Called for commits in order.
  func willImport(_ commit: GitCommit) throws

  /// Prepares a commit. Called for commits in order.
  /// - Returns: nil if the commit changes nothing for this form.
  mutating func prepare(_ commit: GitCommit, _ report: ImportReport) throws -> Change?

  /// Makes the changes.
  /// - Returns: the entities that may have changed.
  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>, _ report: ImportReport
  ) throws -> Set<EntityKey>
}
