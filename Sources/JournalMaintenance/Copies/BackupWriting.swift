import Files
public import Foundation
public import Journaling

extension Journal {
  /// Writes a backup as one file, for ``create(at:fromBackup:options:progress:)``. The complete file replaces an older
  /// backup of this journal with the same name. History that was pruned in the meantime is not in the new file.
  /// - Parameters:
  ///   - url: the file; its folder must exist.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the backup.
  /// - Throws: ``JournalError``: `alreadyExists` if the file is not a backup of this journal; `conflict` if the file
  ///   has another history, or entries that this journal lacks; `damaged` if this journal or the file is damaged; `io`
  ///   if the disk is full. After an error, the previous file is unchanged.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  @discardableResult
  public func backup(
    toFile url: URL, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    let path = try JournalFolder.path(of: url)
    try checkIsOutside(path)
    let name = URL(fileURLWithPath: path).lastPathComponent
    let parent = try JournalFolder.parent(ofPath: path, hook: options.fileHook)
    try checkMayReplace(name, in: parent, through: head.revision)
    try parent.require(try byteCountOfEntries(through: head.revision), for: "the entries")
    UnfinishedFile.removeLeftovers(of: name, in: parent)
    let unfinished = try UnfinishedFile(of: name, in: parent)
    do {
      var offset = 0
      let report = try backup(progress: progress) { piece in
        try unsafe piece.withUnsafeBytes { try unsafe unfinished.file.write($0, at: offset) }
        offset += piece.count
        unfinished.file.beginFlush()
      }
      try unfinished.file.flush()
      // Checked again, because another run may have finished in the meantime.
      try checkMayReplace(name, in: parent, through: report.receipt.revision)
      try parent.rename(unfinished.name, to: name)
      try parent.flush()
      return report
    } catch {
      try? parent.removeFile(unfinished.name)
      throw error
    }
  }

  /// Fails unless all that a backup of that name has is also in a backup up to `last`, or nothing has the name.
  private func checkMayReplace(_ name: String, in parent: Files.Folder<JournalError>, through last: Revision)
    throws
  {
    guard let receipt = try BackupFile.receipt(of: name, in: parent) else { return }
    let path = parent.path(of: name)
    guard receipt.journal == id else {
      throw JournalError(
        .alreadyExists,
        "a backup of another journal, \(receipt.journal), is there, not one of \(id); choose another name",
        path: path)
    }
    func conflict(_ what: String, at revision: Revision) -> JournalError {
      JournalError(
        .conflict, "\(what). Nothing was changed; make the backup under another name", revision: revision,
        path: path)
    }
    guard receipt.revision <= last else {
      let count = receipt.revision - last
      throw conflict(
        "the backup has \(count) \(count == 1 ? "entry" : "entries") more than the journal, from entry "
          + "\(last + 1) on: the journal was restored from an older backup, or another run has just written the file",
        at: last + 1)
    }
    if let base = format.base, receipt.revision < base.head.revision {
      throw conflict(
        "the backup ends with entry \(receipt.revision), and the journal has no entries up to \(base.head.revision) "
          + "any more: history before that revision was pruned", at: receipt.revision)
    }
    guard try contains(receipt) else {
      throw conflict(
        "the backup has another history: its entry \(receipt.revision) differs from the journal's, because the journal "
          + "or a copy of it was written to after one was restored from the other", at: receipt.revision)
    }
  }

  /// Writes a backup in pieces, for a pipe or an upload.
  /// - Parameters:
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the backup.
  ///   - write: called with each piece in order.
  /// - Throws: what `write` and `progress` throw, and ``JournalError`` with code `damaged` if this journal is damaged.
  ///   Restoring an incomplete backup fails.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  @discardableResult
  public func backup(
    progress: (CopyProgress) throws -> Void = { _ in }, write: (Data) throws -> Void
  ) throws -> BackupReport {
    try copying(progress) { observer in
      let last = head
      try folder.checkLogIsCurrent()
      var report = BackupReport(receipt: JournalReceipt(id: id, head: last))
      let images = try folder.openImages()
      var buffer = Data()
      func put(_ bytes: some Collection<UInt8>) throws {
        buffer.append(contentsOf: bytes)
        guard buffer.count >= BackupFile.pieceByteCount else { return }
        try write(buffer)
        buffer.removeAll(keepingCapacity: true)
      }
      try put(BackupFile.magic + [BackupFile.version])
      try put(BackupFile.head(.format, byteCount: format.bytes.count) + format.bytes)
      if let base = format.base {
        try base.check()
        try put(BackupFile.head(.base, byteCount: base.byteCount))
        var pieces = BasePieces(base)
        while let piece = try pieces.next() { try put(piece) }
      }
      var written: Set<Blob> = []
      try readPieces(after: format.head, through: last, observer) { piece, blobs, _ in
        for blob in blobs where written.insert(blob).inserted {
          if let shared = self.blobs.shared, try images?.status(of: blob.digest.hex) == nil {
            try put(BackupFile.head(of: blob))
            try shared.read(blob) { try put($0) }
          } else {
            do {
              // The blob is opened before its head is written, because the error of opening is the most precise.
              var file = try BlobFile(blob, in: images, at: folder.images)
              try put(BackupFile.head(of: blob))
              while case let piece = try file.next(), !piece.isEmpty {
                try Task.checkCancellation()
                try put(piece)
              }
            } catch let error as JournalError {
              throw explained(error, of: blob, in: piece)
            }
          }
          report.copiedImageCount += 1
          report.copiedImageByteCount += blob.byteCount
        }
        for entry in piece {
          var head = BackupFile.head(.entry, byteCount: 8 + entry.bytes.count)
          head.append(bigEndian: UInt64(entry.revision))
          try put(head)
          try put(entry.bytes)
          report.entryCount += 1
          report.entryByteCount += entry.bytes.count
        }
      }
      let receipt = Array(report.receipt.description.utf8)
      try put(BackupFile.head(.receipt, byteCount: receipt.count) + receipt)
      try write(buffer)
      return report
    }
  }
}

/// The file in which a backup is being written. The file is locked as long as this value exists, so a free lock shows
/// that the writing process has ended.
private struct UnfinishedFile: ~Copyable {
  let name: String
  let file: Files.File<JournalError>

  init(of backup: String, in parent: Files.Folder<JournalError>) throws(JournalError) {
    // Before it is locked, another process may take it for a leftover and remove it.
    for _ in 0..<16 {
      let name = TemporaryName.make(for: backup)
      let file = try parent.file(name, .creating)
      // If the file system has no locks, continue without: no process removes leftovers there.
      if (try? file.lock()) ?? true, try parent.status(of: name) != nil {
        self.name = name
        self.file = file
        return
      }
    }
    throw JournalError(
      .io, "another process keeps removing the file of the backup while it is being written",
      path: parent.path(of: backup))
  }

  /// Removes leftovers of killed runs that wrote that backup: files with such a name whose lock is free.
  static func removeLeftovers(of backup: String, in parent: Files.Folder<JournalError>) {
    for found in (try? parent.names()) ?? [] where TemporaryName.isOne(found, for: backup) {
      guard let file = try? parent.file(found, .reading), (try? file.status().owner) == geteuid(),
        (try? file.lock()) == true
      else { continue }
      try? parent.removeFile(found)
    }
  }
}
