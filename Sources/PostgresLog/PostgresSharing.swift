public import Foundation
public import Journaling

/// What lets an app use journals whose log several nodes share in a PostgreSQL database.
///
/// ```swift
/// let journal = try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
/// ```
struct PostgresSharing: LogSharing {
  let acceptsUnsafeSettings: Bool

  func storage(at address: String) throws(JournalError) -> any SharedLogStorage {
    try PostgresStorage(address, acceptsUnsafeSettings: acceptsUnsafeSettings)
  }
}

extension JournalOptions {
  /// The same options, with which a journal that shares its log through PostgreSQL can be opened for writing. They change
  /// nothing for journals that are local.
  /// - Parameter acceptsUnsafeSettings: whether a server is good enough that does not keep what it confirms, as with `fsync`
  ///   off.
  public func sharingThroughPostgres(acceptsUnsafeSettings: Bool = false) -> JournalOptions {
    var options = self
    options.sharing = PostgresSharing(acceptsUnsafeSettings: acceptsUnsafeSettings)
    return options
  }

  fileprivate func requireSharing() throws(JournalError) -> any LogSharing {
    sharing ?? PostgresSharing(acceptsUnsafeSettings: false)
  }
}

extension Journal {
  /// Puts the log of a journal into a PostgreSQL database, where other nodes can append to it too (``join(_:id:at:options:progress:)``).
  /// All entries are stored there and read back; the folder keeps its own. The tables are made if they are missing.
  /// - Parameters:
  ///   - url: the journal's folder. It must not be open for writing.
  ///   - address: what libpq takes, such as `postgresql://app@db.example.org/books`. A password in it is refused: it comes
  ///     from a password file, a service file or the environment.
  ///   - options: made with ``JournalOptions/sharingThroughPostgres(acceptsUnsafeSettings:)`` to accept a server that does
  ///     not keep what it confirms.
  ///   - progress: told how far it has come; what it throws ends it, and the journal is local as before.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `unreachable`, `unsafeSettings`, `permission`, `wrongUse`, `diverged`.
  /// - Complexity: O(n) in the bytes of all entries, twice over the network.
  @discardableResult
  public static func share(
    at url: URL, on address: String, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> Head {
    try share(
      at: url, through: options.requireSharing(), address: address, options: options, progress: progress)
  }

  /// Makes another node of a shared journal: a folder with all entries that are in the database. From then on it is opened
  /// as every journal is, with options made by ``JournalOptions/sharingThroughPostgres(acceptsUnsafeSettings:)``.
  /// - Parameters:
  ///   - address: as in ``share(at:on:options:progress:)``.
  ///   - id: which journal, when the database has several.
  ///   - url: the folder to make.
  ///   - options: as in ``share(at:on:options:progress:)``.
  ///   - progress: told how far it has come; what it throws ends it, and nothing is made.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `alreadyExists`, `unreachable`, `notFound`, `otherModel`, `wrongUse`.
  /// - Complexity: O(n) in the bytes of all entries.
  @discardableResult
  public static func join(
    _ address: String, id: JournalID? = nil, at url: URL, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> Head {
    try join(
      through: options.requireSharing(), address: address, id: id, at: url, options: options,
      progress: progress)
  }

  /// Makes a shared journal local again, with all entries that the database has. The database and the other nodes stay as
  /// they are; what is committed here from now on is in this folder alone.
  /// - Parameters:
  ///   - url: the journal's folder. It must not be open for writing.
  ///   - isForced: whether to do it also when the server can't be reached, or has another history. The journal then has
  ///     what this node has seen.
  ///   - options: as in ``share(at:on:options:progress:)``.
  /// - Returns: the newest entry.
  /// - Throws: ``JournalError``: `unreachable`, `diverged`, `wrongUse` if it is local already.
  @discardableResult
  public static func unshare(
    at url: URL, isForced: Bool = false, options: JournalOptions = JournalOptions()
  ) throws -> Head {
    var options = options
    options.sharing = try options.requireSharing()
    return try leaveSharing(at: url, isForced: isForced, options: options)
  }
}
