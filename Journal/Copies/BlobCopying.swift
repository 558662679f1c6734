import Files

/// Copies blobs from one folder to another: by a hard link if possible, otherwise by copying the bytes. Both ways, the
/// bytes are read and compared with their digest.
struct BlobCopying {
  let source: Folder?
  /// The path for errors about missing blobs.
  let sourcePath: String
  let target: Folder
  /// Whether files may be shared with the source.
  let sharesFiles: Bool
  /// Where the images are that the source, a node of a shared journal, has not fetched; nil if it is no node.
  let shared: SharedImages?

  private(set) var copiedCount = 0
  private(set) var copiedByteCount = 0
  private(set) var sharedCount = 0
  /// Whether there may be names that are not durable yet. True at first: an interrupted run may have ended before it
  /// flushed them.
  private var isFlushNeeded = true

  init(
    from source: Folder?, at sourcePath: String, to target: Folder, sharesFiles: Bool,
    fetchingFrom shared: SharedImages? = nil
  ) {
    self.source = source
    self.sourcePath = sourcePath
    self.target = target
    self.sharesFiles = sharesFiles
    self.shared = shared
  }

  /// Copies a blob if it is missing.
  /// - Returns: why the source can't give it, with code `damaged` if it lacks the blob or has it with other bytes; nil if
  ///   the target has it now.
  /// - Throws: an error of the target, or of a cancelled task.
  mutating func take(_ blob: Blob) throws -> JournalError? {
    let name = blob.digest.hex
    if let status = try target.status(of: name), status.kind == .file, status.byteCount == blob.byteCount {
      return nil
    }
    if let shared, try source?.status(of: name) == nil {
      try fetch(blob, from: shared)
      return nil
    }
    // Opened first, because its error is the most precise.
    let file: BlobFile
    do throws(JournalError) { file = try BlobFile(blob, in: source, at: sourcePath) } catch { return error }
    let unfinished = BlobNames.unfinished()
    do {
      if try share(blob, as: unfinished) {
        sharedCount += 1
      } else {
        try target.require(blob.byteCount, for: "an image")
        if let error = try copy(file, to: unfinished) {
          try target.removeFile(unfinished)
          return error
        }
        copiedCount += 1
        copiedByteCount += blob.byteCount
      }
      // This may replace a file of another size that a damaged drive has left.
      try target.rename(unfinished, to: name)
    } catch {
      try? target.removeFile(unfinished)
      throw error
    }
    isFlushNeeded = true
    return nil
  }

  /// - Returns: false if the blob must be copied, because its file can't be shared or seems to be altered: the file
  ///   system may report another size for a link, or the source may have replaced the file.
  private func share(_ blob: Blob, as name: String) throws -> Bool {
    guard sharesFiles, let source, try source.link(blob.digest.hex, in: target, as: name) else {
      return false
    }
    do {
      try BlobFile(blob, named: name, in: target, at: sourcePath).read { _, _ in }
      return true
    } catch let error as JournalError where error.code == .damaged {
      try target.removeFile(name)
      return false
    }
  }

  private mutating func fetch(_ blob: Blob, from shared: SharedImages) throws {
    try target.require(blob.byteCount, for: "an image")
    let unfinished = BlobNames.unfinished()
    do {
      let copy = try target.file(unfinished, .creating)
      var offset = 0
      try shared.read(blob) { piece in
        try Task.checkCancellation()
        try unsafe piece.withUnsafeBytes { try unsafe copy.write($0, at: offset) }
        offset += piece.count
        copy.beginFlush()
      }
      try copy.flush()
      try target.rename(unfinished, to: blob.digest.hex)
    } catch {
      try? target.removeFile(unfinished)
      throw error
    }
    copiedCount += 1
    copiedByteCount += blob.byteCount
    isFlushNeeded = true
  }

  /// - Returns: the error of the source, if there is one.
  private func copy(_ file: borrowing BlobFile, to name: String) throws -> JournalError? {
    let copy = try target.file(name, .creating)
    var isWritten = true
    do {
      try file.read { piece, offset in
        isWritten = false
        try unsafe piece.withUnsafeBytes { try unsafe copy.write($0, at: offset) }
        isWritten = true
        copy.beginFlush()
      }
    } catch let error as JournalError where isWritten {
      return error
    }
    try copy.flush()
    return nil
  }

  /// Makes the names of all copied blobs durable.
  mutating func flush() throws(JournalError) {
    guard isFlushNeeded else { return }
    try target.flush()
    isFlushNeeded = false
  }
}

/// The open file of a blob, for reading and checking.
struct BlobFile: ~Copyable {
  private let blob: Blob
  private let file: File
  /// The path for errors.
  private let path: String

  /// - Parameters:
  ///   - name: the name of the file, by default that of the blob.
  ///   - path: the folder in errors.
  /// - Throws: ``JournalError`` with code `damaged` if the folder has no plain file of that name and size.
  init(_ blob: Blob, named name: String? = nil, in folder: Folder?, at path: String) throws(JournalError) {
    self.blob = blob
    self.path = "\(path)/\(blob.digest.hex)"
    file = try Self.open(blob, name ?? blob.digest.hex, in: folder, self.path)
  }

  private static func open(
    _ blob: Blob, _ name: String, in folder: Folder?, _ path: String
  ) throws(JournalError) -> File {
    guard let folder else { throw damaged("missing", path) }
    do throws(JournalError) {
      let file = try folder.file(name, .reading)
      guard try file.byteCount() == blob.byteCount else { throw damaged("altered", path) }
      return file
    } catch {
      guard [.notFound, .notAJournal].contains(error.code) else { throw error }
      throw damaged("missing", path)
    }
  }

  /// Reads all bytes in pieces, and fails at the end if they do not have the digest of the blob.
  borrowing func read(_ body: (_ piece: [UInt8], _ offset: Int) throws -> Void) throws {
    var hash = SHA256Hash()
    var offset = 0
    while offset < blob.byteCount {
      try Task.checkCancellation()
      let piece = try file.piece(
        at: offset, byteCount: min(BlobWriter.pieceByteCount, blob.byteCount - offset))
      if piece.isEmpty { break }
      hash.update(piece)
      try body(piece, offset)
      offset += piece.count
    }
    guard offset == blob.byteCount, hash.finish() == blob.digest else {
      throw Self.damaged("altered", path)
    }
  }

  private static func damaged(_ what: String, _ path: String) -> JournalError {
    JournalError(
      .damaged, "the bytes of an image are \(what), so it can't be copied; restore the file from a backup",
      path: path)
  }
}

extension Files.Folder where Failure == JournalError {
  /// The bytes to leave free on a file system.
  private static var reserve: Int { 1 << 20 }

  /// Fails if the disk says that it has no room for this many bytes.
  func require(_ byteCount: Int, for what: String) throws(JournalError) {
    // A damaged or forged file can name any size, so nothing is added to it.
    guard let free = try freeByteCount(), free - Self.reserve < byteCount else { return }
    let needed = Self.reserve + min(byteCount, Int.max - Self.reserve)
    throw JournalError(
      .io,
      "there is no room for \(what) of \(byteCount) bytes: \(needed) must be free, including a reserve of "
        + "\(Self.reserve), and the disk has \(free) left; make room", path: path)
  }
}
