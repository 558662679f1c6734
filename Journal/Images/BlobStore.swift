package import Files
public import Foundation
import Locks
import Synchronization

/// The bytes of images: files named by their SHA-256, so that equal bytes are stored once.
///
/// ```swift
/// let blob = try journal.blobs.add(contentsOf: photo)
/// try journal.commit(by: "ana") { try $0.addImage(to: item, name: "cup.jpg", mediaType: "image/jpeg", blob: blob) }
/// let bytes = try journal.blobs.data(of: blob)
/// ```
///
/// Adding a blob flushes its bytes. The name of its file is flushed at the latest when a commit names the blob. A blob
/// that no entry names does no harm, and stays until it is removed. File names are always computed from the digest.
/// Adding bytes a second time replaces their file, which repairs a damaged file.
///
/// Safe to use from any thread.
public final class BlobStore: Sendable {
  private let path: String
  private let journal: JournalFolder
  /// Nil if the folder was missing at the opening: a copy of a journal without blobs may omit it.
  private let folder: Folder?
  let isReadOnly: Bool
  /// The images that other nodes have added; nil in a journal that is not shared.
  package let shared: (any RemoteImages)?
  private let names = Lock(Names())
  private let isClosed = Atomic<Bool>(false)

  /// Knowledge about the names in the folder, and which of them may not be durable.
  private struct Names: Sendable {
    /// Whether files were renamed since the last flush began. True at first: the last process may not have flushed.
    var isFlushNeeded = true
    /// The number of renames in progress. A flush that begins now may or may not include them.
    var unfinishedCount = 0
    /// Blobs that are known to be in the folder, so that a commit needs no access to the drive to find them.
    var known: Set<Blob> = []
    /// The images that an erasure or a pruning has removed, or is about to remove.
    var removed: Set<ContentDigest> = []
    /// The images that were added or found since an erasure or a pruning began, and that no entry names yet. These
    /// images must stay. Nil if no erasure or pruning is in progress.
    var added: Set<ContentDigest>?

    /// The limit of `known`, which bounds its memory.
    static let mostKnown = 10_000

    mutating func note(_ blob: Blob) {
      if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
      known.insert(blob)
    }
  }

  package init(
    _ journal: JournalFolder, _ folder: Files.Folder<JournalError>?, isReadOnly: Bool,
    shared: (any RemoteImages)? = nil
  ) {
    self.shared = shared
    path = journal.images
    self.journal = journal
    self.folder = folder
    self.isReadOnly = isReadOnly
  }

  // MARK: Adding

  /// Stores the bytes of a `Data`.
  /// - Throws: ``JournalError`` if the bytes can't be written; no file is left behind.
  public func add(_ data: Data) throws -> Blob {
    let writer = try writer()
    try writer.write(data)
    return try writer.finish()
  }

  /// Stores several blobs in parallel on all cores, because hashing takes longer than writing.
  /// - Returns: the blobs in the order of the data.
  /// - Throws: ``JournalError`` for the first blob that can't be stored. The others may be stored nevertheless.
  public func add(_ many: [Data]) throws -> [Blob] {
    let results = Lock([Result<Blob, any Error>?](repeating: nil, count: many.count))
    Threads.forEach(below: many.count, width: ProcessInfo.processInfo.activeProcessorCount) { index in
      let result = Result { try self.add(many[index]) }
      results.withLock { $0[index] = result }
    }
    return try results.withLock { $0 }.compactMap { try $0?.get() }
  }

  /// Stores the bytes of a file, piece by piece. `url` may be a symbolic link.
  /// - Throws: ``JournalError`` if the file can't be read or the blob can't be written.
  public func add(contentsOf url: URL) throws -> Blob {
    guard url.isFileURL else {
      throw JournalError(.wrongUse, "\"\(url.absoluteString)\" does not name a file; download it first")
    }
    let file: File
    do throws(JournalError) {
      file = try File(readingFrom: url.path)
    } catch {
      throw error.code == .notAJournal
        ? JournalError(.wrongUse, "an image is read from a plain file: \(error.message)", path: url.path)
        : error
    }
    let writer = try writer()
    var offset = 0
    while true {
      let piece = try file.piece(at: offset, byteCount: BlobFile.pieceByteCount)
      if piece.isEmpty { return try writer.finish() }
      try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) }
      offset += piece.count
    }
  }

  /// Starts a blob whose bytes come in pieces.
  /// - Throws: ``JournalError`` with code `readOnly` if the journal is not open for writing.
  public func writer() throws -> BlobWriter {
    try checkIsOpen()
    guard !isReadOnly, let folder else {
      throw JournalError(.readOnly, "the journal was opened for reading only", path: path)
    }
    return BlobWriter(self, try UnfinishedBlob(in: folder))
  }

  // MARK: Reading

  /// The bytes of a blob, checked against its digest. In a shared journal, missing bytes are fetched from the shared
  /// log, and stored unless the journal was opened for reading only.
  /// - Throws: ``JournalError`` with code `damaged` if the bytes are missing or altered, `outOfResources` if memory for
  ///   them is lacking, `io` if the drive can't read them.
  /// - Complexity: O(n) in the number of bytes.
  public func data(of blob: Blob) throws -> Data {
    if let data = try fetched(blob) { return data }
    let file = try open(blob)
    // `Data` would end the process if memory is lacking, and a forged entry can name any size.
    guard let bytes = unsafe malloc(max(blob.byteCount, 1)) else {
      throw JournalError(
        .outOfResources, "there is no memory for an image of \(blob.byteCount) bytes; read it from its URL",
        path: file.file.path)
    }
    do {
      var hash = SHA256Hash()
      for start in stride(from: 0, to: blob.byteCount, by: BlobFile.pieceByteCount) {
        let count = min(BlobFile.pieceByteCount, blob.byteCount - start)
        let piece = unsafe UnsafeMutableRawBufferPointer(start: bytes + start, count: count)
        guard try unsafe file.file.read(into: piece, at: start) == count else { throw altered(blob) }
        unsafe hash.update(UnsafeRawBufferPointer(piece))
      }
      guard hash.finish() == blob.digest else { throw altered(blob) }
    } catch {
      unsafe free(bytes)
      throw error
    }
    // Last, because `Data` copies a small buffer at once and frees it.
    return unsafe Data(bytesNoCopy: bytes, count: blob.byteCount, deallocator: .free)
  }

  /// A reader of parts of a blob.
  /// - Parameter isChecked: whether the bytes were recently compared with the digest. If not, they are compared now.
  /// - Throws: as ``data(of:)``.
  package func reader(of blob: Blob, isChecked: Bool) throws -> BlobReader {
    if let data = try fetched(blob) { return BlobReader(data: data) }
    if !isChecked { try check(blob) }
    return BlobReader(file: try open(blob))
  }

  /// The URL of a blob's file. Do not change the file. In a shared journal, the file is missing until this node has
  /// fetched the image, for example with ``data(of:)``.
  public func url(of blob: Blob) -> URL {
    URL(fileURLWithPath: folder?.path(of: blob.digest.hex) ?? "\(path)/\(blob.digest.hex)")
  }

  /// Reads the file of a blob piece by piece, and fails if the bytes do not have the blob's digest.
  package func check(_ blob: Blob) throws(JournalError) { try open(blob).check() }

  /// Opens the file of a blob. Fails if it is not a plain file of the blob's size.
  package func open(_ blob: Blob) throws(JournalError) -> BlobFile {
    try checkIsOpen()
    if names.withLock({ $0.removed.contains(blob.digest) }) {
      throw JournalError(.pruned, "the image was erased, or its history was pruned", path: url(of: blob).path)
    }
    do throws(JournalError) {
      if let folder { return try BlobFile(blob, in: folder, at: path) }
      // The writing process may have created the folder in the meantime.
      return try BlobFile(blob, in: journal.openImages(), at: path)
    } catch {
      throw isReadOnly ? journal.explaining(error) : error
    }
  }

  private func altered(_ blob: Blob) -> JournalError {
    JournalError(
      .damaged, "the bytes of an image are altered; restore the file from a backup", path: url(of: blob).path
    )
  }

  /// The blobs that have a file, named by entries or not.
  package func all() throws(JournalError) -> [Blob] { try folder?.blobs() ?? [] }

  // MARK: Naming

  /// Whether a blob has a file of the right size.
  /// - Parameter keeps: whether an erasure in progress must keep the file, because the caller will name it in an entry.
  package func contains(_ blob: Blob, keeps: Bool = true) throws(JournalError) -> Bool {
    let isKnown = names.withLock { names -> Bool? in
      if names.removed.contains(blob.digest) { return false }
      if keeps { names.added?.insert(blob.digest) }
      return names.known.contains(blob) ? true : nil
    }
    if let isKnown { return isKnown }
    guard try folder?.has(blob) == true else { return false }
    names.withLock { $0.note(blob) }
    return true
  }

  /// Makes the names of all blobs durable that ``contains(_:)`` has found, so that an entry can name them. After a
  /// failure, do not flush again: the second flush may succeed although names were lost.
  package func flush() throws(JournalError) {
    let isNeeded = names.withLock { names in
      let isNeeded = names.isFlushNeeded || names.unfinishedCount > 0
      names.isFlushNeeded = false
      return isNeeded
    }
    guard isNeeded, let folder else { return }
    try folder.flush()
  }

  /// Names a finished and flushed file by its digest. An existing file of that name, which may be damaged, is replaced.
  fileprivate func adopt(_ file: UnfinishedBlob, as blob: Blob) throws(JournalError) {
    // Another thread can find the new name and commit before this thread records the rename. So the rename is counted
    // as in progress until then, and the flush of that commit includes it.
    let (wasRemoved, isNew) = names.withLock { names in
      names.unfinishedCount += 1
      return (names.removed.remove(blob.digest) != nil, names.added?.insert(blob.digest).inserted == true)
    }
    defer {
      names.withLock { names in
        names.unfinishedCount -= 1
        names.isFlushNeeded = true
      }
    }
    do throws(JournalError) { try file.rename(to: blob) } catch {
      names.withLock { names in
        if wasRemoved { names.removed.insert(blob.digest) }
        if isNew { names.added?.remove(blob.digest) }
      }
      throw error
    }
    names.withLock { $0.note(blob) }
  }

  /// Removes the files of unfinished blobs. Called with the journal locked.
  func removeUnfinished() throws(JournalError) {
    if let folder { try BlobNames.removeUnfinished(in: folder) }
  }

  // MARK: Removing

  /// Until ``endReplacement()``, records the images that are added or looked up: an erasure or a pruning keeps them.
  func beginReplacement() { names.withLock { $0.added = [] } }

  /// Forgets that the blobs were added: a commit names them, so from now on its entry decides whether they stay.
  func noteNamed(_ blobs: Set<Blob>) {
    names.withLock { names in for blob in blobs { names.added?.remove(blob.digest) } }
  }

  func endReplacement() { names.withLock { $0.added = nil } }

  /// Keeps commits from naming images that no entry names any more, until they are added again. Needs the write lock.
  func withdraw(_ images: [ContentDigest]) {
    names.withLock { names in
      names.removed.formUnion(images.filter { names.added?.contains($0) != true })
      names.known = names.known.filter { !names.removed.contains($0.digest) }
    }
  }

  /// Removes the file of a withdrawn image, unless the image was added again.
  func remove(_ image: ContentDigest, from images: Folder) throws(JournalError) {
    try names.withLock { names throws(JournalError) in
      if names.removed.contains(image) { try images.removeFile(image.hex) }
    }
  }

  // MARK: Closing

  /// Refuses all further use: once the journal is closed, another process may use the folder.
  package func close() { isClosed.store(true, ordering: .releasing) }

  fileprivate func checkIsOpen() throws(JournalError) {
    if isClosed.load(ordering: .acquiring) {
      throw JournalError.closed(path: path)
    }
  }
}

/// Writes a blob in pieces. The drive writes each piece while the piece is hashed.
///
/// Used by one thread at a time. Deinitializing an unfinished writer removes its file.
public final class BlobWriter {
  private let store: BlobStore
  private let file: UnfinishedBlob
  private var hash = SHA256Hash()

  fileprivate init(_ store: BlobStore, _ file: UnfinishedBlob) { (self.store, self.file) = (store, file) }

  /// Appends bytes.
  /// - Throws: ``JournalError``: `wrongUse` after ``finish()`` or a failure, or an I/O error.
  public func write(_ data: Data) throws {
    try unsafe data.withUnsafeBytes { try unsafe write($0) }
  }

  /// Appends bytes. The buffer is not used after the call.
  /// - Throws: ``JournalError``: `wrongUse` after ``finish()`` or a failure, or an I/O error.
  public func write(_ bytes: UnsafeRawBufferPointer) throws {
    for start in stride(from: 0, to: bytes.count, by: BlobFile.pieceByteCount) {
      let piece = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[start..<min(start + BlobFile.pieceByteCount, bytes.count)])
      try unsafe file.write(piece)
      unsafe hash.update(piece)
    }
  }

  /// Flushes the bytes and names the file by its digest. Call it once. After a failure, use a new writer.
  /// - Throws: ``JournalError`` if the bytes can't be written.
  public func finish() throws -> Blob {
    try store.checkIsOpen()
    try file.flush()
    var finished = SHA256Hash()
    swap(&hash, &finished)
    let blob = Blob(digest: finished.finish(), byteCount: file.byteCount)
    try store.adopt(file, as: blob)
    return blob
  }
}

/// A reader of parts of a blob. Safe to use from any thread.
package final class BlobReader: Sendable {
  private final class Box: Sendable {
    let file: BlobFile
    init(_ file: consuming BlobFile) { self.file = file }
  }

  private let read: @Sendable (_ offset: Int, _ count: Int) throws -> [UInt8]

  fileprivate init(file: consuming BlobFile) {
    let box = Box(file)
    read = { try box.file.file.piece(at: $0, byteCount: $1) }
  }

  fileprivate init(data: Data) { read = { Array(data.dropFirst($0).prefix($1)) } }

  /// The bytes from an offset on. Fewer bytes than requested are returned only at the end.
  package func piece(at offset: Int, byteCount: Int) throws -> [UInt8] { try read(offset, byteCount) }
}
