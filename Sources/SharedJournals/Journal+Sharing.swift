import Files
package import Foundation
package import Journaling

extension Journal {
  /// Copies the log of a journal to a shared storage, verifies the copy, and records the address in the journal's
  /// folder. If the copy is interrupted, the journal stays local; sharing the journal again continues the copy.
  /// - Throws: ``JournalError``: `wrongUse` if the journal is shared already, or its history was pruned; `locked`;
  ///   `unreachable`; `diverged` if the storage has another history under the journal's id.
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
    // Entries are compared first, because appending to another history would make it unreadable. If other nodes have
    // more entries already, this node fetches them later.
    let there = min(try shared.newestRevision(), head.revision)
    var proof = EntryReader(shared, journal: format.id, after: format.head)
    try checkIsSame(&proof, through: there, as: journal, at: storage.address)
    while true {
      let before = reader.head.revision
      guard let piece = try reader.next(through: head.revision)?.entries, let last = piece.last else { break }
      try Task.checkCancellation()
      for entry in piece {
        for blob in try named.blobs(in: entry) {
          try journal.blobs.send(blob, to: shared, or: sharing.images)
        }
      }
      named.trim()
      if last.revision > there {
        // An interrupted run may have stored some entries of this piece.
        let new = piece.filter { $0.revision > max(there, before) }
        do throws(AppendFailure) { try shared.append(new, after: max(there, before)) {} } catch {
          throw error.adding(shared.durability.warning).cause
        }
      }
      try progress(CopyProgress(phase: .copying, done: last.revision, all: head.revision))
    }
    // Other nodes may have appended entries in the meantime.
    try checkIsSame(&proof, through: head.revision, as: journal, at: storage.address)
    try progress(CopyProgress(phase: .proving, done: head.revision, all: head.revision))
    // An interrupted run may have stored entries that no standby has yet.
    try shared.awaitConfirmation()
    try storage.finish(format.id, format: format.bytes)
    try journal.folder.recordShared(at: storage.address)
    return head
  }

  /// Throws unless the next entries of a shared log are those of a journal.
  /// - Parameter newest: the last entry to compare.
  private static func checkIsSame(
    _ shared: inout EntryReader, through newest: Revision, as journal: Journal<State>, at address: String
  ) throws(JournalError) {
    guard newest <= journal.head.revision else { throw otherHistory(at: journal.head.revision, newest) }
    while shared.head.revision < newest {
      let piece: [SealedEntry]
      do throws(JournalError) { piece = try shared.next(through: newest)?.entries ?? [] } catch {
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

  /// Throws if the bytes of `piece` are not the journal's. Digests are not enough: an erased entry keeps its digest.
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
  /// - Parameter id: the id of the journal; can be nil if the storage has only one journal.
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
    try JournalFolder.create(at: url, format: format, options: options) { place in
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
      try place.folder.recordShared(at: storage.address)
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

  /// The newest revision as a text in parentheses; empty if the revision is unknown.
  private static func text(ofNewestIn journal: JournalID, _ storage: any SharedLogStorage) -> String {
    guard let shared = try? storage.connect(to: journal) else { return "" }
    defer { shared.close() }
    return (try? shared.newestRevision()).map { " (revision \($0))" } ?? ""
  }

  /// Makes a journal local again, with all entries of the shared log. The other nodes and the shared log are
  /// not changed.
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
      try journal.catchUp()
      try journal.fetchImages()
      let newest = journal.head.revision
      try journal.close()
      // Entries are stored in the background, and storing them may have failed.
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
  /// Fetches all images that entries name and this node lacks, and makes them durable, because afterwards the folder no
  /// longer names the shared log.
  private func fetchImages() throws {
    var named = namedBlobs
    var reader = EntryReader(log, journal: id, after: format.head)
    while true {
      guard let piece = try reader.next(through: head.revision) else { return try blobs.flush() }
      for entry in piece.entries { for blob in try named.blobs(in: entry) { try blobs.bring(blob) } }
      named.trim()
    }
  }
}
