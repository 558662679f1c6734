/// A log to which other writers append too: that of a node of a shared journal. The journal applies what they append, and
/// runs bodies again whose revisions they have taken.
///
/// The module SharedJournals implements it. The engine itself contacts no server.
package protocol MultiWriterLog: EntryLog {
  /// The newest entry of another writer, which can be applied. Closing the log closes it.
  var fetched: NewestRevision { get }

  /// Why nothing of other writers is fetched any more; nil while it is.
  var followingFailure: JournalError? { get }

  /// Fetches everything that other writers have appended before the call.
  func fetchAll() throws(JournalError)

  /// How commits append to it.
  func commits(naming blobs: BlobStore) -> any CommitLog
}

/// How an app reaches the shared logs of its journals (``JournalOptions/sharedLogs``).
package protocol SharedLogs: Sendable {
  /// Opens the log of a node, to commit.
  /// - Parameters:
  ///   - address: that of the shared log, from the node's folder.
  ///   - schema: the version of the model that this node can read.
  func open(
    at address: String, in place: LogPlace, of schema: ModelSchema
  ) throws(JournalError) -> any MultiWriterLog

  /// The images that the nodes of a shared journal have added. The address need not be valid as long as none is fetched.
  func images(of journal: JournalID, at address: String, in folder: JournalFolder) -> any RemoteImages
}
