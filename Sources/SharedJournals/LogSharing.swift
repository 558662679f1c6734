import Files
package import Journaling

/// Opens the storage at an address, in apps with shared journals (``JournalOptions/sharing``).
package protocol LogSharing: SharedLogs {
  /// The place of images; nil if images are in the storage.
  var images: (any ImagePlace)? { get }

  /// The storage at an address. Throws ``JournalError`` with code `wrongUse` if the address is invalid.
  func storage(at address: String) throws(JournalError) -> any SharedLogStorage
}

extension LogSharing {
  package var images: (any ImagePlace)? { nil }

  package func open(
    at address: String, in place: LogPlace, of schema: ModelSchema
  ) throws(JournalError) -> any MultiWriterLog {
    let storage = try storage(at: address, in: place.folder)
    return NodeLog(
      try place.options.logStorage.open(.write, in: place), storage, images: images, in: place, of: schema)
  }

  package func images(
    of journal: JournalID, at address: String, in folder: JournalFolder
  ) -> any RemoteImages {
    SharedImages(sharing: self, address: address, folder: folder, journal: journal)
  }

  /// The storage at the address that a journal's folder records.
  /// - Throws: ``JournalError`` with code `wrongUse` if the recorded address is invalid.
  func storage(
    at address: String, in folder: JournalFolder
  ) throws(JournalError) -> any SharedLogStorage {
    do throws(JournalError) { return try storage(at: address) } catch {
      guard error.code == .wrongUse else { throw error }
      throw JournalError(
        .wrongUse, "\(error.message); correct the second line of SHARED",
        path: folder.root.path(of: JournalFolder.sharedName))
    }
  }
}

extension JournalOptions {
  /// How shared journals are reached; nil in an app without shared journals.
  package var sharing: (any LogSharing)? {
    // The cast never fails: only ``LogSharing`` refines the engine's protocol.
    get { sharedLogs as? any LogSharing }
    set { sharedLogs = newValue }
  }
}

extension JournalFolder {
  /// Records the address of the shared log, durably.
  func recordShared(at address: String) throws(JournalError) {
    try root.write(Self.sharedName, Array("shared 1\n\(address)\n".utf8))
    try root.flush()
  }
}
