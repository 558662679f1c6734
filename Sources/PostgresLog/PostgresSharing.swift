public import Foundation
public import Journaling
import SharedJournals

/// Lets an app use journals whose log is shared in a PostgreSQL database.
///
/// ```swift
/// let journal = try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
/// ```
struct PostgresSharing: LogSharing {
  let acceptsUnsafeSettings: Bool
  let images: (any ImagePlace)?

  func storage(at address: String) throws(JournalError) -> any SharedLogStorage {
    try PostgresStorage(address, acceptsUnsafeSettings: acceptsUnsafeSettings)
  }
}

extension JournalOptions {
  /// Returns options with which shared journals in PostgreSQL can be opened for writing. Local journals are not
  /// affected.
  /// - Parameters:
  ///   - acceptsUnsafeSettings: whether to accept a server that may lose what it confirms, for example with `fsync`
  ///     off.
  ///   - images: where images are stored, if not in the database. All nodes must use the same place. Images that are
  ///     already in the database are still found there.
  public func sharingThroughPostgres(
    acceptsUnsafeSettings: Bool = false, images: (any SharedImageStore)? = nil
  ) -> JournalOptions {
    var options = self
    options.sharing = PostgresSharing(
      acceptsUnsafeSettings: acceptsUnsafeSettings, images: images.map { SharedImagePlace(place: $0) })
    return options
  }

  fileprivate var sharingOrDefault: any LogSharing {
    sharing ?? PostgresSharing(acceptsUnsafeSettings: false, images: nil)
  }
}

extension Journal {
  /// Copies the log of a journal to a PostgreSQL database, so that other nodes can join it
  /// (``join(_:id:at:options:progress:)``). All entries are stored there and read back. The folder keeps its copy.
  /// Missing tables are created.
  /// - Parameters:
  ///   - url: the journal's folder. It must not be open for writing.
  ///   - address: a libpq connection string, such as `postgresql://app@db.example.org/books`. It must not contain a
  ///     password: put that into a password file, a service file or the environment.
  ///   - options: to accept a server that may lose what it confirms, pass options made with
  ///     ``JournalOptions/sharingThroughPostgres(acceptsUnsafeSettings:images:)``.
  ///   - progress: called with the progress. If it throws, the work ends and the journal stays local.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `unreachable`, `unsafeSettings`, `permission`, `wrongUse`, `diverged`.
  /// - Complexity: O(n) in the bytes of all entries, which cross the network twice.
  @discardableResult
  public static func share(
    at url: URL, on address: String, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> Head {
    try share(
      at: url, through: options.sharingOrDefault, address: address, options: options, progress: progress)
  }

  /// Creates another node of a shared journal: a folder with all entries of the database. Open it like any journal,
  /// with options made by ``JournalOptions/sharingThroughPostgres(acceptsUnsafeSettings:images:)``.
  /// - Parameters:
  ///   - address: as in ``share(at:on:options:progress:)``.
  ///   - id: the id of the journal; can be nil if the database has only one journal.
  ///   - url: the folder to create.
  ///   - options: as in ``share(at:on:options:progress:)``.
  ///   - progress: called with the progress. If it throws, the work ends and no folder is created.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `alreadyExists`, `unreachable`, `notFound`, `otherModel`, `wrongUse`.
  /// - Complexity: O(n) in the bytes of all entries.
  @discardableResult
  public static func join(
    _ address: String, id: JournalID? = nil, at url: URL, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> Head {
    try join(
      through: options.sharingOrDefault, address: address, id: id, at: url, options: options,
      progress: progress)
  }

  /// Makes a shared journal local again, with all entries that the database has. The database and the other nodes do
  /// not change. Later commits are stored only in this folder.
  /// - Parameters:
  ///   - url: the journal's folder. It must not be open for writing.
  ///   - isForced: whether to do this even if the server can't be reached or has another history. The journal then has
  ///     the entries that this node has seen.
  ///   - options: as in ``share(at:on:options:progress:)``.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `unreachable`, `diverged`, or `wrongUse` if the journal is already local.
  @discardableResult
  public static func unshare(
    at url: URL, isForced: Bool = false, options: JournalOptions = JournalOptions()
  ) throws -> Head {
    var options = options
    options.sharing = options.sharingOrDefault
    return try leaveSharing(at: url, isForced: isForced, options: options)
  }
}

extension Journal {
  /// The shared log of this journal, and how far behind this node is; nil for a local journal.
  ///
  /// This contacts the server, for some seconds at most.
  /// - Throws: ``JournalError`` if the file SHARED can't be read.
  public func sharing() throws -> SharingStatus? { try sharingStatus() }
}

extension BlobStore {
  /// Makes sure that the bytes of an image are in this journal's folder. In a shared journal, missing bytes are fetched
  /// from the shared log and stored.
  /// - Throws: ``JournalError``: `unreachable`; `readOnly` if the bytes are missing and the journal is not open for
  ///   writing; `damaged`.
  public func fetch(_ blob: Blob) throws { try bring(blob) }
}
