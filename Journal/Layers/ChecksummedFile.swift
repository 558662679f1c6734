import Files
import Foundation
import PropertyLists

/// The open file of a layer or snapshot. A small one is read and checked at once, so that its states no longer need the
/// disk; pages of a large one are read and checked when they are first touched.
struct ChecksummedFile: Sendable {
  private let path: String
  private let name: LayerName
  private let bytes: ArchiveBytes

  /// Opens the file.
  /// - Parameters:
  ///   - memoryByteCount: the size up to which it is read whole.
  ///   - didRead: called after pages were read, with the number of their bytes.
  /// - Throws: ``JournalError`` with code `damaged` if it is missing, of another size, or altered.
  init(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter,
    memoryByteCount: Int = LayerPolicy.automatic.memoryByteCount,
    didRead: (@Sendable (Int) -> Void)? = nil
  ) throws(JournalError) {
    let file = try Self.open(name, in: folder, footer: footer)
    path = file.path
    self.name = name
    let byteCount = footer.byteCount
    if byteCount <= memoryByteCount {
      bytes = ArchiveBytes(try file.contents(limit: byteCount))
      try check(footer)
      return
    }
    let checksums = footer.pageChecksums
    let descriptor = try file.duplicateDescriptor()
    do throws(ArchiveError) {
      bytes = unsafe try ArchiveBytes(
        descriptor: descriptor, byteCount: byteCount, pageSize: LayerFooter.pageByteCount, path: path,
        check: { page, bytes in unsafe page < checksums.count && CRC32C.checksum(bytes) == checksums[page] },
        didRead: didRead)
    } catch {
      throw Self.failure(error, of: name, path)
    }
  }

  /// Fails if bytes in memory differ from those that were written.
  private func check(_ footer: LayerFooter) throws(JournalError) {
    guard bytes.count == footer.byteCount else {
      throw JournalError(
        .damaged, "the \(name.noun) was cut while it was being read", revision: name.to, path: path)
    }
    do throws(ArchiveError) {
      for (page, checksum) in footer.pageChecksums.enumerated() {
        let start = page * LayerFooter.pageByteCount
        let range = start..<min(start + LayerFooter.pageByteCount, bytes.count)
        let found = try unsafe bytes.withBytes(in: range) { unsafe CRC32C.checksum($0) }
        guard found == checksum else {
          throw Self.altered(range, path)
        }
      }
    } catch {
      throw Self.failure(error, of: name, path)
    }
  }

  private static func open(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter
  ) throws(JournalError) -> File {
    let path = folder?.path(of: name.fileName) ?? name.fileName
    do throws(JournalError) {
      guard let folder else { throw JournalError(.notFound, "the folder snapshots is missing") }
      let file = try folder.file(name.fileName, .reading)
      let byteCount = try file.byteCount()
      guard byteCount == footer.byteCount else {
        throw JournalError(
          .damaged, "the \(name.noun) has \(byteCount) bytes and should have \(footer.byteCount)",
          revision: name.to, path: path)
      }
      return file
    } catch {
      guard error.code == .notFound else { throw error }
      throw JournalError(.damaged, "the \(name.noun) is missing", revision: name.to, path: path)
    }
  }

  /// Reads a whole file and fails at the first page that is altered. Memory holds one page, however large the file is.
  static func checkAllPages(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter
  ) throws(JournalError) {
    let file = try open(name, in: folder, footer: footer)
    let page = UnsafeMutableRawBufferPointer.allocate(
      byteCount: LayerFooter.pageByteCount, alignment: 16)
    defer { unsafe page.deallocate() }
    for (index, checksum) in footer.pageChecksums.enumerated() {
      let start = index * LayerFooter.pageByteCount
      let count = min(LayerFooter.pageByteCount, footer.byteCount - start)
      let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: page[..<count])
      let read = try unsafe file.read(into: bytes, at: start)
      guard read == count, unsafe CRC32C.checksum(UnsafeRawBufferPointer(bytes)) == checksum else {
        throw failure(altered(start..<start + count, file.path), of: name, file.path)
      }
    }
  }

  private static func altered(_ range: Range<Int>, _ path: String) -> ArchiveError {
    ArchiveError(
      .damaged, "the \(range.count) bytes from byte \(range.lowerBound) on are not those that were written",
      offset: range.lowerBound, path: path)
  }

  /// How many of its bytes are in memory.
  var memoryByteCount: Int { bytes.loadedByteCount }

  /// The contents of the file.
  /// - Throws: ``JournalError`` with code `damaged`, if that is detected at once.
  func contents(_ shape: StateShape) throws(JournalError) -> LayerFile {
    do throws(ArchiveError) { return try LayerFile(bytes, revision: name.to, shape: shape) } catch {
      throw Self.failure(error, of: name, path)
    }
  }

  /// A temporary read error is not damage.
  static func failure(_ error: ArchiveError, of name: LayerName, _ path: String) -> JournalError {
    if error.code == .io {
      return JournalError(
        .io, "the \(name.noun) can't be read at the moment: \(error.message)", revision: name.to, path: path)
    }
    let problem = error.code == .unsupportedFormat ? "can't be used" : "is damaged"
    return JournalError(
      .damaged, "the \(name.noun) \(problem): \(error.message)", revision: name.to, path: path,
      offset: error.offset)
  }
}

// MARK: Writing

extension ChecksummedFile {
  /// What is known about a file that was just written.
  struct Written {
    let byteCount: Int
    let pageChecksums: [UInt32]
    /// Of a whole state.
    let stateDigest: ContentDigest?
  }

  /// Writes a file and flushes it: after any crash it exists with all its bytes or not at all.
  /// - Parameters:
  ///   - reserve: how many bytes must stay free on the disk for commits.
  ///   - pace: says how many bytes the drive is given at a time.
  ///   - backlog: what waits for this file.
  ///   - isCancelled: called for each piece that is written.
  ///   - check: throws if the file must not be used.
  /// - Throws: ``JournalError`` if it can't be written, or with code `closed` if it is cancelled; nothing is left
  ///   behind.
  static func write(
    _ sources: [any LayerSource], _ header: LayerHeader, to name: LayerName, in folder: Folder, reserve: Int,
    pace: RateLimiter, backlog: @escaping () -> LayerBacklog, isCancelled: @escaping () -> Bool,
    check: () throws(JournalError) -> Void
  ) throws(JournalError) -> Written {
    let temporary = name.fileName + Folder.temporarySuffix
    try folder.removeFile(temporary)
    do {
      let sink = LayerSink(
        try folder.file(temporary, .creating), name.noun, reserve: reserve, pace: pace, backlog: backlog,
        isCancelled: isCancelled)
      let digest: ContentDigest?
      do {
        digest = try unsafe LayerWriter.write(sources, header) { bytes throws(ArchiveError) in
          try unsafe sink.append(bytes)
        }
      } catch {
        throw sink.failure ?? error
      }
      let checksums = try sink.finish()
      try check()
      let written = Written(
        byteCount: sink.byteCount, pageChecksums: checksums, stateDigest: digest)
      try folder.rename(temporary, to: name.fileName)
      try folder.flush()
      return written
    } catch {
      try? folder.removeFile(temporary)
      throw error as? JournalError
        ?? JournalError(
          .io, "the \(name.noun) can't be written", revision: header.head.revision, cause: error)
    }
  }
}

/// Writes the bytes of a layer or snapshot in pieces, and computes the checksum of each page.
///
/// Used by one thread.
private final class LayerSink {
  private let file: File
  /// What the file is: `layer` or `snapshot`.
  private let noun: String
  private(set) var byteCount = 0
  private var checksums: [UInt32] = []
  /// The checksum of the page that is not yet full.
  private var checksum = CRC32C()
  private(set) var failure: JournalError?
  private let reserve: Int
  private let pace: RateLimiter
  private let backlog: () -> LayerBacklog
  private let isCancelled: () -> Bool
  /// How many bytes the drive was asked to write.
  private var writtenOutByteCount = 0

  init(
    _ file: consuming File, _ noun: String, reserve: Int, pace: RateLimiter,
    backlog: @escaping () -> LayerBacklog,
    isCancelled: @escaping () -> Bool
  ) {
    self.file = file
    self.noun = noun
    self.reserve = reserve
    self.pace = pace
    self.backlog = backlog
    self.isCancelled = isCancelled
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
    // An index can have many megabytes. Closing and the next layer must not wait for all of them.
    var start = 0
    while start < bytes.count {
      let end = min(start + 64 << 10, bytes.count)
      try unsafe appendPart(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      start = end
    }
  }

  private func appendPart(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
    do throws(JournalError) {
      try checkIsWanted()
      if let free = try file.freeByteCount(), free < reserve + bytes.count {
        throw JournalError(
          .io,
          "the disk is nearly full, and the rest is reserved for commits, so no \(noun) was written; free some space",
          path: file.path)
      }
      try unsafe file.write(bytes, at: byteCount)
      try writeOut(to: byteCount + bytes.count)
    } catch {
      failure = error
      throw ArchiveError(.io, error.message, path: error.path)
    }
    var start = 0
    while start < bytes.count {
      let room = LayerFooter.pageByteCount - byteCount % LayerFooter.pageByteCount
      let end = min(start + room, bytes.count)
      unsafe checksum.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      byteCount += end - start
      start = end
      if byteCount % LayerFooter.pageByteCount == 0 { finishPage() }
    }
  }

  /// Has the drive write the file up to an offset, in pieces. Waiting for them keeps the flushes of commits short.
  private func writeOut(to end: Int) throws(JournalError) {
    while case let backlog = backlog(), case let piece = pace.piece(backlog),
      end - writtenOutByteCount >= piece.byteCount
    {
      let next = writtenOutByteCount + piece.byteCount
      try file.writeOut(writtenOutByteCount..<next, leaving: piece.unwrittenByteCount)
      writtenOutByteCount = next
      pace.pause(backlog)
    }
  }

  private func checkIsWanted() throws(JournalError) {
    if isCancelled() {
      throw JournalError(.closed, "the journal was closed while a \(noun) was written", path: file.path)
    }
  }

  private func finishPage() {
    checksums.append(checksum.value)
    checksum = CRC32C()
  }

  /// Flushes the file.
  /// - Returns: the checksum of each page.
  func finish() throws(JournalError) -> [UInt32] {
    if byteCount % LayerFooter.pageByteCount != 0 { finishPage() }
    try checkIsWanted()
    try file.flush()
    return checksums
  }
}
