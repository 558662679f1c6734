public import Foundation
import LevelDB
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
/// A blob is written and flushed when it is added, and the folder that names it at the latest when a commit
/// names it. A blob that nothing ever names stays until somebody removes it; it does no harm. The name is
/// made from the digest and never read from anywhere.
///
/// Safe to use from many threads.
public final class BlobStore: Sendable {
  private let folder: String
  private let hook: FileHook?
  private let isReadOnly: Bool
  private let names = Lock(Names())
  private let isClosed = Atomic<Bool>(false)

  /// Which folders hold names that are durable.
  private struct Names: Sendable {
    /// Folders that got a name, or may have got one before the journal was opened.
    var unflushed: Set<String> = []
    /// Folders that were flushed since the journal was opened.
    var flushed: Set<String> = []
  }

  init(_ journal: JournalFolder, isReadOnly: Bool) {
    folder = journal.images
    hook = journal.hook
    self.isReadOnly = isReadOnly
  }

  /// Stores bytes that are in memory.
  /// - Throws: ``JournalError`` when the disk does not take them; nothing is left behind.
  public func add(_ data: Data) throws -> Blob {
    try unsafe data.withUnsafeBytes { try unsafe writer().finish(writing: $0) }
  }

  /// Stores several, as many at a time as there are cores: hashing takes longer than writing.
  /// - Returns: the blobs in the order of the data.
  /// - Throws: ``JournalError`` for the first that can't be stored; others may be.
  public func add(_ many: [Data]) throws -> [Blob] {
    let results = Lock([Result<Blob, any Error>?](repeating: nil, count: many.count))
    Threads.forEach(below: many.count, width: ProcessInfo.processInfo.activeProcessorCount) { index in
      let result = Result { try self.add(many[index]) }
      results.withLock { $0[index] = result }
    }
    return try results.withLock { $0 }.compactMap { try $0?.get() }
  }

  /// Stores the bytes of a file, 64 KiB at a time.
  /// - Throws: ``JournalError`` when the file can't be read or the disk does not take it.
  public func add(contentsOf url: URL) throws -> Blob {
    let file = try File(url.path, .reading)
    let writer = try writer()
    var buffer = [UInt8](repeating: 0, count: BlobWriter.chunkByteCount)
    var offset = 0
    while true {
      let count = try unsafe buffer.withUnsafeMutableBytes { buffer in
        try unsafe file.read(into: buffer, at: offset)
      }
      if count == 0 { break }
      try unsafe buffer.withUnsafeBytes {
        try unsafe writer.write(UnsafeRawBufferPointer(rebasing: $0[..<count]))
      }
      offset += count
    }
    return try writer.finish()
  }

  /// Starts a blob whose bytes come in pieces.
  /// - Throws: ``JournalError`` with code `readOnly` when the journal was opened so.
  public func writer() throws -> BlobWriter {
    try checkIsOpen()
    guard !isReadOnly else {
      throw JournalError(.readOnly, "the journal was opened for reading only", path: folder)
    }
    var suffix: [UInt8] = [UInt8](repeating: 0, count: 8)
    unsafe suffix.withUnsafeMutableBytes { unsafe fillWithRandomBytes($0) }
    let name = suffix.map { String($0, radix: 16) }.joined() + Folder.temporarySuffix
    return BlobWriter(store: self, file: try File("\(folder)/\(name)", .creating, hook: hook), hook: hook)
  }

  /// The bytes of a blob, mapped rather than read, after checking that they are those that were stored.
  /// - Throws: ``JournalError`` with code `damaged` when they are missing or altered.
  /// - Complexity: O(n) in the number of bytes, for the check.
  public func data(of blob: Blob) throws -> Data {
    try checkIsOpen()
    let path = path(of: blob.digest)
    let data: Data
    do throws(JournalError) {
      data = try File(path, .reading).mapped()
    } catch {
      throw error.code == .notFound ? missing(blob) : error
    }
    let digest = unsafe data.withUnsafeBytes { unsafe SHA256Hash.digest($0) }
    guard data.count == blob.byteCount, digest == blob.digest else {
      throw JournalError(
        .damaged, "the bytes of an image are altered; put the file back from a backup", path: path)
    }
    return data
  }

  /// Where the bytes of a blob are. The file must not be changed.
  public func url(of blob: Blob) -> URL { URL(fileURLWithPath: path(of: blob.digest)) }

  /// Refuses all further use: once the journal is closed, the folder may be somebody else's.
  func close() { isClosed.store(true, ordering: .releasing) }

  fileprivate func checkIsOpen() throws(JournalError) {
    if isClosed.load(ordering: .acquiring) {
      throw JournalError(.closed, "the journal has been closed", path: folder)
    }
  }

  /// Whether there is a file for a blob, of the right size.
  func contains(_ blob: Blob) throws(JournalError) -> Bool {
    guard let status = try Folder.status(path(of: blob.digest)) else { return false }
    return status.kind == .file && status.byteCount == blob.byteCount
  }

  /// What is wrong with the file of a blob, nil when nothing is.
  func problem(with blob: Blob) -> JournalError? {
    do {
      _ = try data(of: blob)
      return nil
    } catch let error as JournalError {
      return error
    } catch {
      return JournalError(
        .io, "the bytes of an image can't be read", path: path(of: blob.digest), cause: error)
    }
  }

  /// Says that an entry is about to name a blob.
  ///
  /// Its file may come from a process that was ended before it flushed the name, so that is done here, once.
  func willName(_ blob: Blob) {
    let parent = parent(of: path(of: blob.digest))
    names.withLock { names in
      for folder in [folder, parent] where !names.flushed.contains(folder) {
        names.unflushed.insert(folder)
      }
    }
  }

  /// Makes the names of all blobs that were added durable; an entry that names one may then be written.
  func flush() throws(JournalError) {
    let folders = names.withLock { names in
      let folders = names.unflushed
      names.unflushed = []
      return folders
    }
    do throws(JournalError) {
      try Folder.synchronize(folders.sorted(), hook: hook)
    } catch {
      // They are as durable as before: whoever tries again must flush them all.
      names.withLock { $0.unflushed.formUnion(folders) }
      throw error
    }
    names.withLock { $0.flushed.formUnion(folders) }
  }

  /// Takes a finished and flushed temporary file in under its digest.
  fileprivate func adopt(_ temporary: String, as blob: Blob) throws(JournalError) {
    let path = path(of: blob.digest)
    let parent = parent(of: path)
    if try contains(blob) {
      // Somebody may have just put it there and not flushed its name yet.
      _ = names.withLock { $0.unflushed.insert(parent) }
      try Folder.removeFile(temporary, hook: hook)
      return
    }
    // In one step, so that who finds the folder there finds it noted as well.
    try names.withLock { names throws(JournalError) in
      guard try Folder.status(parent) == nil else { return }
      try Folder.make(parent, hook: hook)
      names.unflushed.insert(folder)
    }
    try Folder.rename(temporary, to: path, hook: hook)
    _ = names.withLock { $0.unflushed.insert(parent) }
  }

  /// Removes what was left of blobs that were never finished. Called while nobody else has the journal.
  func removeUnfinished() throws(JournalError) {
    for name in try Folder.names(folder) where name.hasSuffix(Folder.temporarySuffix) {
      try Folder.removeFile("\(folder)/\(name)", hook: hook)
    }
  }

  private func path(of digest: Digest) -> String {
    let hex = digest.hex
    return "\(folder)/\(hex.prefix(2))/\(hex)"
  }

  private func parent(of path: String) -> String { String(path.prefix(upTo: path.lastIndex(of: "/")!)) }

  private func missing(_ blob: Blob) -> JournalError {
    JournalError(
      .damaged, "the bytes of an image are missing; put the file back from a backup",
      path: path(of: blob.digest))
  }
}

/// A blob whose bytes come in pieces. Hashing runs beside writing, on another core.
///
/// Used by one thread at a time. What is not finished is removed when the writer goes away.
public final class BlobWriter {
  /// Pieces of this size are hashed and written at a time; it bounds the memory of a writer.
  static let chunkByteCount = 64 << 10
  /// Below this, waiting for another thread costs more than hashing.
  private static let smallByteCount = 16 << 10

  private let store: BlobStore
  private let hook: FileHook?
  private let file: File
  private let hashing = BlobHash()
  private var byteCount = 0
  private var isFinished = false

  fileprivate init(store: BlobStore, file: consuming File, hook: FileHook?) {
    self.store = store
    self.file = file
    self.hook = hook
  }

  deinit {
    // Nothing names it; were it to stay, the next opening would remove it.
    if !isFinished { try? Folder.removeFile(file.path, hook: hook) }
  }

  /// Appends bytes.
  public func write(_ data: Data) throws {
    try unsafe data.withUnsafeBytes { try unsafe write($0) }
  }

  /// Appends bytes, which are only read during the call.
  public func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard !isFinished else { throw JournalError(.wrongUse, "the blob is finished", path: file.path) }
    let runsBeside = bytes.count > Self.smallByteCount
    unsafe hashing.start(bytes, beside: runsBeside)
    // The bytes are lent: both uses of them end before this call does.
    defer { hashing.wait() }
    try unsafe file.write(bytes, at: byteCount)
    byteCount += bytes.count
  }

  /// Flushes the bytes and gives them their name.
  /// - Throws: ``JournalError`` when the disk does not take them.
  public func finish() throws -> Blob {
    try unsafe finish(writing: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Appends the last bytes and finishes; they are hashed while the drive takes them.
  fileprivate func finish(writing bytes: UnsafeRawBufferPointer) throws -> Blob {
    guard !isFinished else { throw JournalError(.wrongUse, "the blob is finished already", path: file.path) }
    unsafe hashing.start(bytes, beside: bytes.count > Self.smallByteCount)
    defer { hashing.wait() }
    try unsafe file.write(bytes, at: byteCount)
    byteCount += bytes.count
    try store.checkIsOpen()
    try file.synchronize()
    hashing.wait()
    let blob = Blob(digest: hashing.finish(), byteCount: byteCount)
    try store.adopt(file.path, as: blob)
    isFinished = true
    return blob
  }
}
