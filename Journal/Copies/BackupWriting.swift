import Files
public import Foundation

extension Journal {
  /// Writes a backup as one file, for ``restore(backupFile:to:options:progress:)``. It replaces a backup of that name
  /// when it is complete.
  /// - Parameters:
  ///   - url: the file; its folder must exist.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the backup.
  /// - Throws: ``JournalError``: `alreadyExists` if the file is not a backup, `damaged` if this journal is, `io` if the
  ///   disk is full. The previous file is then unchanged.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  @discardableResult
  public func backup(
    toFile url: URL, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    let path = try JournalFolder.path(of: url)
    try checkIsOutside(path)
    let name = URL(fileURLWithPath: path).lastPathComponent
    let parent = try JournalFolder.parent(ofPath: path, hook: options.fileHook)
    try checkIsBackup(name, in: parent)
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
      try parent.rename(unfinished.name, to: name)
      try parent.flush()
      return report
    } catch {
      try? parent.removeFile(unfinished.name)
      throw error
    }
  }

  private func checkIsBackup(_ name: String, in parent: Folder) throws(JournalError) {
    guard try parent.status(of: name) != nil else { return }
    let file = try? parent.file(name, .reading)
    let start = try file?.piece(at: 0, byteCount: BackupFile.magic.count)
    guard start == BackupFile.magic else {
      throw JournalError(
        .alreadyExists, "something is there that is not a backup; choose another name",
        path: parent.path(of: name))
    }
  }

  /// Passes a backup to `write` in pieces, for a pipe or an upload.
  /// - Throws: what `write` and `progress` throw, and ``JournalError`` with code `damaged` if this journal is. An
  ///   incomplete backup is detected when it is restored.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  @discardableResult
  public func backup(
    progress: (CopyProgress) throws -> Void = { _ in }, write: (Data) throws -> Void
  ) throws -> BackupReport {
    let last = head
    try checkBaseIsCurrent()
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
      try put(BackupFile.head(.base, byteCount: base.byteCount))
      var pieces = BasePieces(base)
      while let piece = try pieces.next() { try put(piece) }
    }
    var written: Set<Blob> = []
    try readPieces(after: format.head, through: last, progress) { piece, blobs, _ in
      for blob in blobs where written.insert(blob).inserted {
        if let shared = self.blobs.shared, try images?.status(of: blob.digest.hex) == nil {
          try put(BackupFile.head(of: blob))
          try shared.read(blob) { try put($0) }
        } else {
          // Opened first, because its error is the most precise.
          let file = try BlobFile(blob, in: images, at: folder.images)
          try put(BackupFile.head(of: blob))
          try file.read { piece, _ in try put(piece) }
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

/// The file in which a backup is being written, locked as long as this value exists. If the lock is free, the process
/// that wrote it has ended.
private struct UnfinishedFile: ~Copyable {
  let name: String
  let file: File

  init(of backup: String, in parent: Folder) throws(JournalError) {
    // Before it is locked, another process may take it for a leftover and remove it.
    for _ in 0..<16 {
      let name = TemporaryName.make(for: backup)
      let file = try parent.file(name, .creating)
      // On a file system without locks, leftovers are not removed either.
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
  static func removeLeftovers(of backup: String, in parent: Folder) {
    for found in (try? parent.names()) ?? [] where TemporaryName.isOne(found, for: backup) {
      guard let file = try? parent.file(found, .reading), (try? file.status().owner) == geteuid(),
        (try? file.lock()) == true
      else { continue }
      try? parent.removeFile(found)
    }
  }
}
