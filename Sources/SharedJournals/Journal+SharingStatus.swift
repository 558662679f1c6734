import Files
package import Journaling

extension Journal {
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
        // An invalid address is not shown, because it may have a password.
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

  /// Reads and checks the entries of the shared log that this node has not seen, without storing them.
  /// - Throws: ``JournalError`` if this node can't fetch them: `unreachable`, `damaged`, `newerFormat`, or `diverged`
  ///   after an erasure.
  package func checkUnseenEntries() throws {
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

  /// Returns those of the images that neither the place of images nor the shared log has; none for a local journal.
  /// - Throws: ``JournalError`` with code `unreachable`.
  package func missing(_ blobs: [Blob]) throws(JournalError) -> [Blob] {
    guard let sharing = options.sharing, let address = try folder.sharedAddress() else { return [] }
    return try SharedImages(sharing: sharing, address: address, folder: folder, journal: id).missing(blobs)
  }
}
