import CatalogModel

/// One form of the import: turns what a commit did to files into changes of a catalog.
protocol CommitImporter {
  /// What a commit changes, with everything at hand that needs git.
  associatedtype Change

  /// How many commits may be prepared before the first of them is applied; 1 when each is prepared by what
  /// the one before it made.
  var preparedLimit: Int { get }

  /// Asks git for contents that will be needed when this commit's turn comes. Commits are given in order.
  func willImport(_ commit: GitCommit) throws

  /// Gets everything ready. Commits are given in order.
  /// - Returns: nil when the commit changes nothing that this form looks at.
  mutating func prepare(_ commit: GitCommit, _ report: ImportReport) throws -> Change?

  /// Makes the changes.
  /// - Returns: the entities that may have changed.
  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>, _ report: ImportReport
  ) throws -> Set<EntityKey>
}
