package import Files

extension HistoryBase {
  /// Durably writes the base of a log that is being created.
  package static func write(
    _ tables: [EntityTable], _ schema: ModelSchema, _ head: Head, of format: JournalFormat,
    in entries: Files.Folder<JournalError>
  ) throws(JournalError) -> HistoryBase {
    var byteCount = 0
    let digest = StateDigest.digest(schema: schema.description, tables: tables) { bytes in
      byteCount += bytes.count
    }
    let header = BaseHeader(
      journal: format.id, head: head, formatDigest: format.digest, schema: schema, stateDigest: digest,
      byteCount: byteCount)
    try entries.require(byteCount, for: "the base of the history")
    let sink = BaseSink(try entries.file(fileName, .creating))
    sink.append(header.bytes)
    _ = StateDigest.digest(schema: schema.description, tables: tables) { sink.append($0) }
    return try sealed(sink, in: entries, format)
  }

  /// Durably writes a copy of this base into the folder of another log.
  package func copy(
    to entries: Files.Folder<JournalError>, _ format: JournalFormat
  ) throws(JournalError) -> HistoryBase {
    // Checked first, so that an error names this base and not the copy, which is removed.
    try check()
    try entries.require(byteCount, for: "the base of the history")
    let sink = BaseSink(try entries.file(Self.fileName, .creating))
    var pieces = BasePieces(self)
    while let piece = try pieces.next() { sink.append(piece) }
    return try Self.sealed(sink, in: entries, format)
  }

  /// Durably writes a base that arrives in pieces, for example from a backup in one file.
  /// - Parameter take: returns the next bytes of the base, as many as asked for.
  package static func write(
    byteCount: Int, of format: JournalFormat, in entries: Files.Folder<JournalError>,
    take: (Int) throws -> [UInt8]
  ) throws -> HistoryBase {
    try entries.require(byteCount, for: "the base of the history")
    let sink = BaseSink(try entries.file(fileName, .creating))
    for offset in stride(from: 0, to: byteCount, by: BaseCursor.pieceByteCount) {
      let piece = try take(min(BaseCursor.pieceByteCount, byteCount - offset))
      sink.append(piece)
    }
    return try sealed(sink, in: entries, format)
  }

  private static func sealed(
    _ sink: BaseSink, in entries: Folder, _ format: JournalFormat
  ) throws(JournalError) -> HistoryBase {
    try sink.finish()
    try entries.flush()
    // The base is read back, because it is all that remains of the history before it.
    guard let base = try open(in: entries, format) else {
      throw JournalError(
        .io, "the base of the history could not be written", path: entries.path)
    }
    try base.check()
    return base
  }
}

/// Reads the bytes of a base's file in pieces. Used by one thread.
package struct BasePieces {
  private let base: HistoryBase
  private var offset: Int

  package init(_ base: HistoryBase, from offset: Int = 0) {
    self.base = base
    self.offset = offset
  }

  package mutating func next() throws(JournalError) -> [UInt8]? {
    guard offset < base.byteCount else { return nil }
    let piece = try base.file.piece(
      at: offset, byteCount: min(BaseCursor.pieceByteCount, base.byteCount - offset))
    guard !piece.isEmpty else { throw base.damaged }
    offset += piece.count
    return piece
  }
}

/// Writes the bytes of a base in pieces. After a failure it ignores further pieces, and `finish` throws.
///
/// Used by one thread.
private final class BaseSink {
  private let file: File
  private var offset = 0
  private var failure: JournalError?

  init(_ file: consuming File) { self.file = file }

  func append(_ bytes: [UInt8]) {
    guard failure == nil else { return }
    unsafe bytes.withUnsafeBytes { bytes in
      do throws(JournalError) { try unsafe file.write(bytes, at: offset) } catch { failure = error }
    }
    offset += bytes.count
  }

  func finish() throws(JournalError) {
    if let failure { throw failure }
    try file.flush()
  }
}
