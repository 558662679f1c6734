import Files
package import Foundation
import Locks

extension Journal {
  /// Starts a thread that applies the commits of other nodes until the journal is closed.
  func applyFetchedAsItComes() throws(JournalError) {
    guard let node, let committer = try? writing() else { return }
    let seen = Lock<Revision>(0)
    try published.follow("the shared log", options, TimedSemaphore(value: 0)) { () throws(JournalError) in
      guard let newest = node.fetched.wait(after: seen.withLock { $0 }, atMost: .seconds(60)) else {
        throw JournalError.closed()
      }
      do { try committer.applyFetched() } catch {
        throw error as? JournalError
          ?? JournalError(.io, "the commits of other nodes can't be applied", cause: error)
      }
      seen.withLock { $0 = newest }
    }
  }

  /// Why commits of other nodes are not fetched any more; nil if they are.
  package var nodeFailure: JournalError? { node?.followingFailure.withLock { $0 } }

  /// Fetches the commits of other nodes, and returns when ``state`` shows them.
  func fetchShared() throws {
    guard let node else { return }
    try node.fetch()
    try writing().applyFetched()
  }
}

// MARK: Sharing, joining and leaving

extension Journal {
  /// Copies the log of a journal to a shared storage, verifies the copy, and records its address in the journal's
  /// folder. If this is interrupted, the journal stays local; sharing it again continues.
  /// - Throws: ``JournalError``: `wrongUse` if it is shared already, or its history was pruned; `locked`;
  ///   `unreachable`; `diverged` if there is another history under the journal's id.
  @discardableResult
  package static func share(
    at url: URL, through sharing: any LogSharing, address: String, options: JournalOptions,
    progress: (CopyProgress) throws -> Void
  ) throws -> Head {
    let storage = try sharing.storage(at: address)
    var options = options
    options.layers = .manual
    let journal = try open(at: url, options: options)
    defer { try? journal.close() }
    try journal.folder.checkIsNotShared()
    let format = journal.format
    guard format.base == nil else {
      throw JournalError(
        .wrongUse,
        "history was pruned, and a shared log begins with entry 1: other nodes would lack what this one begins with; "
          + "share a backup from before the pruning",
        path: journal.folder.path)
    }
    try storage.begin(format.id)
    let shared = try storage.connect(to: format.id)
    defer { shared.close() }
    var reader = EntryReader(journal.log, journal: format.id, after: format.head)
    var named = journal.namedBlobs
    let head = journal.head
    // Nothing may be appended to another history, because it would no longer be readable. If other nodes have more
    // entries already, this node fetches them later.
    let there = min(try shared.newestRevision(), head.revision)
    var proof = EntryReader(shared, journal: format.id, after: format.head)
    try checkIsSame(&proof, through: there, as: journal, at: storage.address)
    while true {
      let before = reader.head.revision
      let piece = try reader.next(through: head.revision)
      guard let last = piece.last else { break }
      try Task.checkCancellation()
      for entry in piece {
        for blob in try named.blobs(in: entry) {
          try journal.blobs.send(blob, to: shared, or: sharing.images)
        }
      }
      named.trim()
      if last.revision > there {
        // An interrupted run may have stored some.
        let new = piece.filter { $0.revision > max(there, before) }
        do throws(AppendFailure) { try shared.append(new, after: max(there, before)) {} } catch {
          throw error.adding(shared.durability.warning).cause
        }
      }
      try progress(CopyProgress(phase: .copying, done: last.revision, all: head.revision))
    }
    // Other nodes may have committed since.
    try checkIsSame(&proof, through: head.revision, as: journal, at: storage.address)
    try progress(CopyProgress(phase: .proving, done: head.revision, all: head.revision))
    // An interrupted run may have stored entries that a standby has not got.
    try shared.awaitConfirmation()
    try storage.finish(format.id, format: format.bytes)
    try journal.folder.noteShared(at: storage.address)
    return head
  }

  /// Fails unless the next entries of a shared log are those of a journal.
  /// - Parameter newest: the last of them.
  private static func checkIsSame(
    _ shared: inout EntryReader, through newest: Revision, as journal: Journal<State>, at address: String
  ) throws(JournalError) {
    guard newest <= journal.head.revision else { throw otherHistory(at: journal.head.revision, newest) }
    while shared.head.revision < newest {
      let piece: [SealedEntry]
      do throws(JournalError) { piece = try shared.next(through: newest) } catch {
        guard error.code == .damaged, let revision = error.revision else { throw error }
        throw otherHistory(at: revision, newest)
      }
      try checkIsSame(piece, as: journal, newest, at: address)
    }
  }

  private static func otherHistory(at revision: Revision, _ newest: Revision) -> JournalError {
    JournalError.diverged(
      "there is another history of this journal on the server, up to entry \(newest): other nodes have it. Nothing was "
        + "changed there; join it in another folder", at: revision)
  }

  /// Fails if entries differ in their bytes; comparing digests is not enough, because an erased entry keeps its digest.
  private static func checkIsSame(
    _ piece: [SealedEntry], as journal: Journal<State>, _ newest: Revision, at address: String
  ) throws(JournalError) {
    guard let first = piece.first, let last = piece.last else { return }
    var rest = piece[...]
    try unsafe journal.log.read(first.revision...last.revision, newestFirst: false) {
      revision, bytes throws(JournalError) in
      guard let entry = rest.popFirst() else { return false }
      if unsafe entry.bytes.elementsEqual(bytes) { return true }
      guard try unsafe EntryDecoder(bytes, revision: revision).digest(journal: journal.id) == entry.digest
      else {
        throw otherHistory(at: revision, newest)
      }
      throw JournalError(
        .diverged,
        "the database still has the content of entry \(revision) that was erased here; have an administrator "
          + "delete this journal's rows from the tables there, and share it again", revision: revision,
        path: address)
    }
  }

  /// Creates the folder of another node of a shared journal, with all entries of the shared log.
  /// - Parameter id: which journal, if there are several.
  /// - Throws: ``JournalError``: `alreadyExists`, `unreachable`, `notFound`, `otherModel`.
  package static func join(
    through sharing: any LogSharing, address: String, id: JournalID?, at url: URL, options: JournalOptions,
    progress: (CopyProgress) throws -> Void
  ) throws -> Head {
    let storage = try sharing.storage(at: address)
    let journal = try id ?? onlyJournal(in: storage)
    let bytes = try storage.format(of: journal)
    guard !bytes.isEmpty else {
      throw JournalError(
        .notFound,
        "the journal \(journal) is not yet wholly in \(storage.address); join it when the node that shares it has "
          + "finished, or share it again if that was interrupted")
    }
    let format = try JournalFormat(bytes, path: storage.address)
    guard format.id == journal else {
      throw JournalError(.damaged, "the server has another journal's FORMAT under the id \(journal)")
    }
    let schema = try ModelSchema(of: State.self)
    try schema.checkReads(format.schema, path: storage.address)
    let shared = try storage.connect(to: journal)
    defer { shared.close() }
    try shared.confirmIfPermitted()
    var head = format.head
    try JournalFolder.create(at: url, copying: format, options: options) { place in
      let copy = try JournalCopy(making: place)
      defer { try? copy.close() }
      let newest = try shared.newestRevision()
      var pieces = EntryPieces(
        EntryReader(shared, journal: journal, after: format.head), through: newest)
      while true {
        let piece: EntryPiece?
        do throws(JournalError) {
          piece = try pieces.next()
          if piece == nil, copy.head.revision > format.head.revision { try shared.checkDigest(of: copy.head) }
        } catch { throw shared.naming(error, in: journal) }
        guard let piece else { break }
        try Task.checkCancellation()
        try schema.checkReads(piece, path: storage.address)
        try copy.append(piece.entries, head: piece.head)
        try progress(CopyProgress(phase: .copying, done: piece.head.revision, all: newest))
      }
      head = copy.head
      try copy.close()
      try place.folder.noteShared(at: storage.address)
    }
    return head
  }

  private static func onlyJournal(in storage: any SharedLogStorage) throws(JournalError) -> JournalID {
    let journals = try storage.journals()
    guard let first = journals.first else {
      throw JournalError(.notFound, "there is no journal in \(storage.address); share one first")
    }
    guard journals.count == 1 else {
      throw JournalError(
        .wrongUse,
        "there are \(journals.count) journals in \(storage.address); name one by its id: "
          + journals.map { "\($0)\(text(ofNewestIn: $0, storage))" }.joined(separator: ", "))
    }
    return first
  }

  /// The newest revision of a journal, in parentheses; empty if it can't be found out.
  private static func text(ofNewestIn journal: JournalID, _ storage: any SharedLogStorage) -> String {
    guard let shared = try? storage.connect(to: journal) else { return "" }
    defer { shared.close() }
    return (try? shared.newestRevision()).map { " (revision \($0))" } ?? ""
  }

  /// Makes a journal local again, with all entries of the shared log, if that can be reached. The other nodes and the
  /// shared log are not changed; later commits here are only in this folder.
  /// - Parameter isForced: whether to continue if the shared log can't be reached or has another history.
  package static func leaveSharing(at url: URL, isForced: Bool, options: JournalOptions) throws -> Head {
    var options = options
    options.layers = .manual
    let folder = try JournalFolder(url, hook: options.fileHook)
    guard try folder.sharedAddress() != nil else {
      throw JournalError(.wrongUse, "the journal is local already", path: folder.path)
    }
    if !isForced {
      let journal = try open(at: url, options: options)
      defer { try? journal.close() }
      try journal.fetchShared()
      try journal.fetchImages()
      let newest = journal.head.revision
      try journal.close()
      // The folder gets entries in the background, and may not have been able to store them.
      let stored = try open(at: url, mode: .readOnly, options: options)
      defer { try? stored.close() }
      guard stored.head.revision >= newest else {
        throw JournalError(
          .io,
          "the journal is still shared: entries up to \(newest) are in the shared log and could not be stored in the "
            + "folder; make room there, or repair its drive, and try again",
          revision: stored.head.revision + 1, path: folder.path)
      }
    }
    let lock = try FolderLock(folder)
    defer { lock.release() }
    try folder.root.removeFile(JournalFolder.sharedName)
    try folder.root.flush()
    let local = try open(at: url, mode: .readOnly, options: options)
    defer { try? local.close() }
    return local.head
  }
}

extension Journal {
  /// Fetches all images that an entry names and this node lacks, and makes them durable: afterwards, nothing says where
  /// else they are.
  private func fetchImages() throws {
    var named = namedBlobs
    var reader = EntryReader(log, journal: id, after: format.head)
    while true {
      let piece = try reader.next(through: head.revision)
      if piece.isEmpty { return try blobs.flush() }
      for entry in piece { for blob in try named.blobs(in: entry) { try blobs.bring(blob) } }
      named.trim()
    }
  }
}

// MARK: Where the log is

/// The shared log of a journal, and this node's position in it.
public struct SharingStatus: Sendable {
  /// The address of the shared log, without a password.
  public let address: String
  /// How commits are made durable there; nil if the server can't be reached.
  public internal(set) var summary: String?
  /// Why commits wait at the moment, in a sentence: for example, no synchronous standby is connected. Nil if they do not,
  /// or if the server does not tell this node's role.
  public internal(set) var warning: String?
  /// The newest entry in the shared log; nil if the server can't be reached.
  public internal(set) var newestRevision: Revision?
  /// How many entries this node has not seen yet; nil if the server can't be reached, or has another history.
  public internal(set) var missingCount: Int?
  /// Why the server can't be reached, or how the histories differ.
  public internal(set) var problem: JournalError?
  /// Whether the problem is that something was erased from the shared history, and not from this node's folder.
  var isBeforeErasure = false
}

extension Journal {
  /// The address of the shared log; nil for a local journal.
  package func sharingAddress() throws -> String? { try folder.sharedAddress() }

  /// The shared log of this journal, and how far behind this node is; nil for a local journal.
  ///
  /// This contacts the server, for some seconds at most.
  /// - Throws: ``JournalError`` if the file SHARED can't be read.
  package func sharingStatus() throws -> SharingStatus? {
    guard let address = try folder.sharedAddress() else { return nil }
    let head = head
    var status = SharingStatus(address: address)
    do throws(JournalError) {
      guard let sharing = options.sharing else {
        throw JournalError(.wrongUse, "this program lacks the library for shared journals, PostgresLog")
      }
      let storage: any SharedLogStorage
      do throws(JournalError) { storage = try sharing.storage(at: address, in: folder) } catch {
        // What is no address may have a password.
        status = SharingStatus(address: "(no valid address)")
        throw error
      }
      let shared = try storage.connect(to: id)
      defer { shared.close() }
      let newest = try shared.newestRevision()
      (status.summary, status.warning) = (shared.durability.summary, shared.durability.warning)
      status.newestRevision = newest
      try shared.compare(with: log, through: head, of: format)
      status.missingCount = max(0, newest - head.revision)
    } catch {
      status.problem = error
    }
    return status
  }

  /// Reads the entries of the shared log that this node has not seen.
  /// - Throws: ``JournalError`` if this node can't fetch them: `unreachable`, `damaged`, `newerFormat`, or `diverged`
  ///   after an erasure.
  func checkUnseenEntries() throws {
    guard let sharing = options.sharing, let address = try folder.sharedAddress() else { return }
    let shared = try sharing.storage(at: address, in: folder).connect(to: id)
    defer { shared.close() }
    let schema = try ModelSchema(of: State.self)
    var last = head
    var pieces = EntryPieces(
      EntryReader(shared, journal: id, after: last), through: try shared.newestRevision())
    do throws(JournalError) {
      while let piece = try pieces.next() {
        try piece.checkCanBeStored(of: schema, at: address)
        last = piece.head
      }
      if last != head { try shared.checkDigest(of: last) }
    } catch { throw shared.naming(error, in: id) }
  }

  /// The images that only the shared log should have, and lacks.
  /// - Throws: ``JournalError`` with code `unreachable`.
  func missing(_ blobs: [Blob]) throws(JournalError) -> [Blob] {
    try self.blobs.shared?.missing(blobs) ?? []
  }
}
