import Foundation
import KeyedArchiving
import LevelDB

/// The file of a snapshot, opened: its pages are read and checked when they are first touched.
struct SnapshotFile: Sendable {
  private let path: String
  private let revision: Revision
  private let bytes: ArchiveBytes

  /// Opens the file, and reads nothing yet.
  /// - Throws: ``JournalError`` with code `damaged` when it is missing or of another size.
  init(_ path: String, facts: SnapshotFacts, revision: Revision) throws(JournalError) {
    self.path = path
    self.revision = revision
    let file: File
    do throws(JournalError) {
      file = try File(path, .reading)
    } catch {
      guard error.code == .notFound else { throw error }
      throw JournalError(.damaged, "the snapshot is missing", revision: revision, path: path)
    }
    let byteCount = try file.byteCount()
    guard byteCount == facts.byteCount else {
      throw JournalError(
        .damaged, "the snapshot has \(byteCount) bytes and should have \(facts.byteCount)",
        revision: revision,
        path: path)
    }
    let checksums = facts.pageChecksums
    let descriptor = try file.duplicateDescriptor()
    do throws(ArchiveError) {
      bytes = unsafe try ArchiveBytes(
        descriptor: descriptor, byteCount: byteCount, pageSize: SnapshotFacts.pageByteCount, path: path
      ) { page, bytes in
        unsafe page < checksums.count && CRC32C.checksum(bytes) == checksums[page]
      }
    } catch {
      throw Self.damaged(error, revision, path)
    }
  }

  /// Reads the whole file, past whatever was read of it before, and fails at the first page that is not as it
  /// was written.
  func checkAllPages() throws(JournalError) {
    do throws(ArchiveError) {
      for offset in stride(from: 0, to: bytes.count, by: SnapshotFacts.pageByteCount) {
        try unsafe bytes.withBytes(in: offset..<offset + 1) { _ in }
      }
    } catch {
      throw Self.damaged(error, revision, path)
    }
  }

  /// The parts of the state, standing on the file.
  /// - Parameter rebuild: gives the same parts when the file turns out to be damaged while they are in use. It
  ///   is called once at most.
  /// - Throws: ``JournalError`` with code `damaged`, when that is found out at once.
  func parts<State: EventSourced>(
    _: State.Type, rebuild: @escaping @Sendable (JournalError) throws(JournalError) -> StateParts
  ) throws(JournalError) -> StateParts {
    do throws(ArchiveError) {
      // The log says how large the file is, and nothing of it is read before it is asked for.
      var limits = ArchiveLimits()
      limits.byteCount = .max
      let layout = try SnapshotContents(
        PropertyList(bytes, limits: limits), kinds: State.kindNames, fieldNames: State.allFieldNames)
      let revision = revision
      let path = path
      return SnapshotBase(layout) { error throws(JournalError) in
        try rebuild(Self.damaged(error, revision, path))
      }.parts
    } catch {
      throw Self.damaged(error, revision, path)
    }
  }

  private static func damaged(_ error: ArchiveError, _ revision: Revision, _ path: String) -> JournalError {
    JournalError(
      .damaged, "the snapshot is damaged: \(error.message)", revision: revision, path: path,
      offset: error.offset)
  }
}

// MARK: Writing

extension SnapshotFile {
  /// What is known of a file that was just written.
  struct Written {
    let byteCount: Int
    let pageChecksums: [UInt32]
    let stateDigest: Digest
  }

  /// Writes a file whole and flushes it: after any crash it is there with all its bytes or not at all.
  /// - Throws: ``JournalError`` when the disk does not take it; nothing is left behind.
  static func write(
    _ parts: StateParts, _ header: SnapshotHeader, to path: String, in folder: String, hook: FileHook?
  ) throws(JournalError) -> Written {
    let temporary = path + Folder.temporarySuffix
    try Folder.removeFile(temporary, hook: hook)
    do {
      let sink = SnapshotSink(try File(temporary, .creating, hook: hook))
      let digest: Digest
      do {
        digest = try unsafe SnapshotWriter.write(parts, header) { bytes throws(ArchiveError) in
          try unsafe sink.append(bytes)
        }
      } catch {
        throw sink.failure ?? error
      }
      let checksums = try sink.finish()
      let written = Written(
        byteCount: sink.byteCount, pageChecksums: checksums, stateDigest: digest)
      try Folder.rename(temporary, to: path, hook: hook)
      try Folder.synchronize(folder, hook: hook)
      return written
    } catch {
      try? Folder.removeFile(temporary, hook: hook)
      throw error as? JournalError
        ?? JournalError(.io, "the snapshot can't be written", revision: header.head.revision, cause: error)
    }
  }
}

/// Takes the bytes of a snapshot as they come, and adds up the checksum of each page.
///
/// Used by one thread.
private final class SnapshotSink {
  private let file: File
  private(set) var byteCount = 0
  private var checksums: [UInt32] = []
  /// The checksum of the page that is not yet full.
  private var checksum = CRC32C()
  private(set) var failure: JournalError?

  init(_ file: consuming File) { self.file = file }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
    do throws(JournalError) {
      try unsafe file.write(bytes, at: byteCount)
    } catch {
      failure = error
      throw ArchiveError(.io, error.message, path: error.path)
    }
    var start = 0
    while start < bytes.count {
      let room = SnapshotFacts.pageByteCount - byteCount % SnapshotFacts.pageByteCount
      let end = min(start + room, bytes.count)
      unsafe checksum.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      byteCount += end - start
      start = end
      if byteCount % SnapshotFacts.pageByteCount == 0 { finishPage() }
    }
  }

  private func finishPage() {
    checksums.append(checksum.value)
    checksum = CRC32C()
  }

  /// Flushes the file.
  /// - Returns: the checksum of each page.
  func finish() throws(JournalError) -> [UInt32] {
    if byteCount % SnapshotFacts.pageByteCount != 0 { finishPage() }
    try file.synchronize()
    return checksums
  }
}
