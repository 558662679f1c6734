package import Files

/// The open file of a blob, which is read in pieces and compared with the blob's digest.
package struct BlobFile: ~Copyable {
  /// The size of the pieces that are read, written and hashed.
  static let pieceByteCount = 1 << 20

  package let file: Files.File<JournalError>
  private let blob: Blob
  /// The path to name in errors.
  private let path: String
  private var hash = SHA256Hash()
  private var offset = 0
  private var isAtEnd = false

  /// - Parameters:
  ///   - name: the name of the file; by default, the digest of the blob.
  ///   - path: the path of the folder, to name in errors.
  /// - Throws: ``JournalError`` with code `damaged` if the folder has no plain file of that name and of the blob's
  ///   size. Other files are not read.
  package init(
    _ blob: Blob, named name: String? = nil, in folder: Files.Folder<JournalError>?, at path: String
  ) throws(JournalError) {
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
      switch error.code {
      case .notFound: throw damaged("missing", path)
      case .notAJournal:
        throw JournalError(.damaged, "\(error.message); restore the file from a backup", path: path)
      default: throw error
      }
    }
  }

  /// Reads the next bytes; returns an empty array at the end.
  /// - Throws: ``JournalError``; at the end, code `damaged` if the bytes do not have the digest of the blob.
  package mutating func next() throws(JournalError) -> [UInt8] {
    let count = min(Self.pieceByteCount, blob.byteCount - offset)
    let piece = count > 0 ? try file.piece(at: offset, byteCount: count) : []
    hash.update(piece)
    offset += piece.count
    if piece.isEmpty, !isAtEnd {
      var whole = SHA256Hash()
      swap(&hash, &whole)
      guard offset == blob.byteCount, whole.finish() == blob.digest else {
        throw Self.damaged("altered", path)
      }
      isAtEnd = true
    }
    return piece
  }

  /// Reads all bytes, and fails if they do not have the digest of the blob.
  consuming func check() throws(JournalError) {
    while try !next().isEmpty {}
  }

  private static func damaged(_ what: String, _ path: String) -> JournalError {
    JournalError(
      .damaged, "the bytes of an image are \(what); restore the file from a backup", path: path)
  }
}

/// A new file in a folder of blobs. The drive writes each piece while the caller makes the next one.
///
/// Used by one thread at a time. Deinitializing an unfinished blob removes its file unless the file was renamed.
package final class UnfinishedBlob {
  private let folder: Folder
  let name = BlobNames.unfinished()
  private let file: File
  private(set) var byteCount = 0
  /// Whether further calls are refused. Set by ``flush()``, and by any failure, because after a failed flush the next
  /// one may succeed although data was lost.
  private var isOver = false
  private var isRenamed = false
  private let process = System.process

  package init(in folder: Files.Folder<JournalError>) throws(JournalError) {
    self.folder = folder
    file = try folder.file(name, .creating)
  }

  deinit {
    // A failure is harmless: the next opening removes the file. In a forked child, the file belongs to the parent.
    if !isRenamed, System.process == process { try? folder.removeFile(name) }
  }

  package func write(_ bytes: [UInt8]) throws(JournalError) {
    try unsafe bytes.lend { bytes throws(JournalError) in try unsafe write(bytes) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(JournalError) {
    try end()
    try unsafe file.write(bytes, at: byteCount)
    byteCount += bytes.count
    file.beginFlush()
    isOver = false
  }

  /// Flushes the file: returns when the drive has confirmed the bytes.
  func flush() throws(JournalError) {
    try end()
    try file.flush()
  }

  /// Gives the flushed file the name of a blob. An existing file of that name, which may be damaged, is replaced.
  func rename(to blob: Blob) throws(JournalError) {
    try folder.rename(name, to: blob.digest.hex)
    isRenamed = true
  }

  package func finish(as blob: Blob) throws(JournalError) {
    try flush()
    try rename(to: blob)
  }

  private func end() throws(JournalError) {
    if isOver {
      throw JournalError(
        .wrongUse, "the blob is finished, or could not be written; begin another one", path: file.path)
    }
    isOver = true
  }
}

extension Files.Folder where Failure == JournalError {
  /// Whether the folder has a plain file of a blob's name and size.
  package func has(_ blob: Blob) throws(JournalError) -> Bool {
    guard let status = try status(of: blob.digest.hex) else { return false }
    return status.kind == .file && status.byteCount == blob.byteCount
  }

  /// The blobs in the folder, with the sizes of their files, in the order of their names.
  package func blobs() throws(JournalError) -> [Blob] {
    var found: [Blob] = []
    for name in try names() {
      guard BlobNames.isDigest(name), let digest = ContentDigest(hex: name),
        let status = try status(of: name), status.kind == .file
      else { continue }
      found.append(Blob(digest: digest, byteCount: status.byteCount))
    }
    return found
  }

  /// The bytes to leave free on a file system.
  private static var reserve: Int { 1 << 20 }

  /// Fails if the file system reports less free space than `byteCount` and a reserve.
  package func require(_ byteCount: Int, for what: String) throws(JournalError) {
    // Nothing is added to `byteCount`, which could overflow: a damaged or forged file can name any size.
    guard let free = try freeByteCount(), free - Self.reserve < byteCount else { return }
    let needed = Self.reserve + min(byteCount, Int.max - Self.reserve)
    throw JournalError(
      .io,
      "there is no room for \(what) of \(byteCount) bytes: \(needed) must be free, including a reserve of "
        + "\(Self.reserve), and the disk has \(free) left; make room", path: path)
  }
}
