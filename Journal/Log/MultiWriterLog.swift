/// The log of a node of a shared journal, to which other writers append too. The journal applies their entries. If they
/// have taken the revision of a commit, its body runs again.
///
/// The module SharedJournals implements it. The engine itself contacts no server.
package protocol MultiWriterLog: EntryLog {
  /// The newest entry of another writer that can be applied. Closing the log closes this too.
  var fetched: NewestRevision { get }

  /// Why entries of other writers are not fetched any more; nil while they are fetched.
  var followingFailure: JournalError? { get }

  /// Fetches everything that other writers have appended before the call.
  func fetchAll() throws(JournalError)

  /// What commits use to append to this log.
  func commits(naming blobs: BlobStore) -> any CommitLog
}

/// How an app reaches the shared logs of its journals (``JournalOptions/sharedLogs``).
package protocol SharedLogs: Sendable {
  /// Opens the log of a node, to commit.
  /// - Parameters:
  ///   - address: the address of the shared log, as the node's folder has it.
  ///   - schema: the version of the model that this node can read.
  func open(
    at address: String, in place: LogPlace, of schema: ModelSchema
  ) throws(JournalError) -> any MultiWriterLog

  /// The images that the nodes of a shared journal have added. The address need not be valid until an image is fetched.
  func images(of journal: JournalID, at address: String, in folder: JournalFolder) -> any RemoteImages
}
