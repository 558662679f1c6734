import Files
import Foundation
import PropertyLists

extension LayerFile {
  struct Written {
    let byteCount: Int
    let pageChecksums: [UInt32]
    /// The digest of a whole state; nil for a layer.
    let stateDigest: ContentDigest?
  }

  /// Writes a file and flushes it: after a crash, the file exists with all its bytes or not at all.
  /// - Parameters:
  ///   - reserve: how many bytes must stay free on the disk for commits.
  ///   - pressure: returns what waits for this file.
  ///   - isCancelled: called for each piece that is written; returns whether to end.
  ///   - check: called when all is written; throws if the file must not be used.
  /// - Throws: ``JournalError`` if the file can't be written; with code `closed` if writing was cancelled. No part of
  ///   the file is left behind.
  static func write(
    _ sources: [any LayerSource], _ header: LayerHeader, to name: LayerName, in folder: Folder, reserve: Int,
    rateLimiter: RateLimiter, pressure: @escaping () -> WritePressure, isCancelled: @escaping () -> Bool,
    check: () throws(JournalError) -> Void
  ) throws(JournalError) -> Written {
    let temporary = name.fileName + Folder.temporarySuffix
    try folder.removeFile(temporary)
    do {
      let sink = LayerSink(
        try folder.file(temporary, .creating), name.noun, reserve: reserve, rateLimiter: rateLimiter,
        pressure: pressure, isCancelled: isCancelled)
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

/// Computes the checksum of each page of a file that is written in pieces.
struct PageChecksums {
  private(set) var byteCount = 0
  private var checksums: [UInt32] = []
  /// The checksum of the page that is not yet full.
  private var checksum = CRC32C()

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
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

  /// The checksums of all pages, after the last byte.
  mutating func finish() -> [UInt32] {
    if byteCount % LayerFooter.pageByteCount != 0 { finishPage() }
    return checksums
  }

  private mutating func finishPage() {
    checksums.append(checksum.value)
    checksum = CRC32C()
  }
}

/// Writes the bytes of a layer or snapshot in pieces.
///
/// Used by one thread.
private final class LayerSink {
  private let file: File
  /// What the file is: `layer` or `snapshot`.
  private let noun: String
  private var pages = PageChecksums()
  var byteCount: Int { pages.byteCount }
  private(set) var failure: JournalError?
  private let reserve: Int
  private let rateLimiter: RateLimiter
  private let pressure: () -> WritePressure
  private let isCancelled: () -> Bool
  /// How many bytes the drive was asked to write.
  private var writtenOutByteCount = 0

  init(
    _ file: consuming File, _ noun: String, reserve: Int, rateLimiter: RateLimiter,
    pressure: @escaping () -> WritePressure, isCancelled: @escaping () -> Bool
  ) {
    self.file = file
    self.noun = noun
    self.reserve = reserve
    self.rateLimiter = rateLimiter
    self.pressure = pressure
    self.isCancelled = isCancelled
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
    // An index can have many megabytes. Written in pieces, it delays closing and the next layer by one piece only.
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
    unsafe pages.append(bytes)
  }

  /// Makes the drive write the file up to an offset, in pieces. Waiting for each keeps the flushes of commits short.
  private func writeOut(to end: Int) throws(JournalError) {
    while case let pressure = pressure(), case let piece = rateLimiter.piece(pressure),
      end - writtenOutByteCount >= piece.byteCount
    {
      let next = writtenOutByteCount + piece.byteCount
      try file.writeOut(writtenOutByteCount..<next, leaving: piece.unwrittenByteCount)
      writtenOutByteCount = next
      rateLimiter.pause(pressure)
    }
  }

  private func checkIsWanted() throws(JournalError) {
    if isCancelled() {
      throw JournalError(.closed, "the journal was closed while a \(noun) was written", path: file.path)
    }
  }

  /// Flushes the file, and returns the checksum of each page.
  func finish() throws(JournalError) -> [UInt32] {
    try checkIsWanted()
    try file.flush()
    return pages.finish()
  }
}
