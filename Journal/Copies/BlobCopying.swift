import Files

/// Brings blobs from one folder into another: by a second name for the same file where both can share it, else by
/// copying the bytes. Either way the bytes are read and compared with their name.
struct BlobCopying {
  let source: Folder?
  /// Where a missing one is said to be.
  let sourcePath: String
  let target: Folder
  /// Whether files may be shared with the source.
  let sharesFiles: Bool

  private(set) var copiedCount = 0
  private(set) var copiedByteCount = 0
  private(set) var sharedCount = 0
  /// Whether names were given that are not durable yet.
  private var isFlushNeeded = false

  init(from source: Folder?, at sourcePath: String, to target: Folder, sharesFiles: Bool) {
    self.source = source
    self.sourcePath = sourcePath
    self.target = target
    self.sharesFiles = sharesFiles
  }

  /// Brings a blob if it is not there yet.
  /// - Throws: ``JournalError`` with code `damaged` if the source has not got it or its bytes are altered.
  mutating func bring(_ blob: Blob) throws {
    let name = blob.digest.hex
    if let status = try target.status(of: name), status.kind == .file, status.byteCount == blob.byteCount {
      return
    }
    // Before anything is made, as it says best what is wrong.
    let file = try BlobFile(blob, in: source, at: sourcePath)
    let unfinished = BlobNames.unfinished()
    do {
      if sharesFiles, let source, try source.link(name, in: target, as: unfinished) {
        // Of the name that was given, as the source may have put another file in the place of this one.
        try BlobFile(blob, named: unfinished, in: target, at: sourcePath).read { _, _ in }
        sharedCount += 1
      } else {
        try target.require(blob.byteCount, for: "an image")
        try copy(file, to: unfinished)
        copiedCount += 1
        copiedByteCount += blob.byteCount
      }
      // Over a file of that name that has another size, as a damaged drive may leave it.
      try target.rename(unfinished, to: name)
    } catch {
      try? target.removeFile(unfinished)
      throw error
    }
    isFlushNeeded = true
  }

  private func copy(_ file: borrowing BlobFile, to name: String) throws {
    let copy = try target.file(name, .creating)
    try file.read { piece, offset in
      try unsafe piece.withUnsafeBytes { try unsafe copy.write($0, at: offset) }
      copy.beginFlush()
    }
    try copy.flush()
  }

  /// Returns when the names of all that was brought are durable.
  mutating func flush() throws(JournalError) {
    guard isFlushNeeded else { return }
    try target.flush()
    isFlushNeeded = false
  }
}

/// The file of a blob, open to be read and checked.
struct BlobFile: ~Copyable {
  private let blob: Blob
  private let file: File
  /// What errors name.
  private let path: String

  /// - Parameters:
  ///   - name: what the file is called if not as the blob.
  ///   - path: the folder that errors name.
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

  /// Reads all bytes in pieces, and fails at the end when they are not those of the blob.
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
      .damaged, "the bytes of an image are \(what), so it can't be copied; put the file back from a backup",
      path: path)
  }
}

extension Files.Folder where Failure == JournalError {
  /// What a file system keeps free, so that it does not fill up to the last byte.
  private static var reserve: Int { 1 << 20 }

  /// Fails when the disk has no room for so many bytes.
  func require(_ byteCount: Int, for what: String) throws(JournalError) {
    let free = try freeByteCount()
    guard free < byteCount + Self.reserve else { return }
    throw JournalError(
      .io, "there is no room for \(what) of \(byteCount) bytes: the disk has \(free) left; make room",
      path: path)
  }
}
