import Files
public import Foundation
public import Journaling
import SHA256

extension Journal {
  /// Creates a journal from a backup in one file.
  /// - Parameters:
  ///   - url: the folder to create; its parent must exist.
  ///   - backup: a file from ``backup(toFile:progress:)``.
  ///   - options: their ``JournalOptions/log`` receives the notices.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the work.
  /// - Throws: ``JournalError``: `alreadyExists` if something is at `url`; `damaged` if the file is cut or altered, or
  ///   lacks an image; `otherModel`; `io` if the disk is full. After an error, no journal is left at `url`.
  /// - Returns: the receipt of the original journal. The new journal has all entries up to the receipt's revision.
  @discardableResult
  public static func create(
    at url: URL, fromBackup backup: URL, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> JournalReceipt {
    let path = try JournalFolder.path(of: backup)
    let file = try Files.File<JournalError>(readingFrom: path)
    var offset = 0
    return try create(at: url, fromBackupAt: path, options, progress) { count in
      let piece = try file.piece(at: offset, byteCount: count)
      offset += piece.count
      return Data(piece)
    }
  }

  /// Creates a journal from a backup that is read in pieces, for example from a pipe.
  /// - Parameters:
  ///   - url: the folder to create; its parent must exist.
  ///   - options: their ``JournalOptions/log`` receives the notices.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the work.
  ///   - read: returns up to the given number of bytes, and an empty `Data` at the end.
  /// - Throws: what `read` and `progress` throw, and as ``create(at:fromBackup:options:progress:)``.
  @discardableResult
  public static func create(
    at url: URL, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }, readingBackup read: (Int) throws -> Data
  ) throws -> JournalReceipt {
    try create(at: url, fromBackupAt: nil, options, progress, read)
  }

  private static func create(
    at url: URL, fromBackupAt path: String?, _ options: JournalOptions, _ observer: CopyObserver,
    _ read: (Int) throws -> Data
  ) throws -> JournalReceipt {
    try withoutActuallyEscaping(read) { read in
      var records = try BackupRecords(path: path, read)
      let format = try records.readFormat()
      try ModelSchema(of: State.self).checkReads(format.schema, path: path ?? "standard input")
      var receipt: JournalReceipt?
      try JournalFolder.create(
        at: url, format: format, options: options.forCopies,
        base: { entries in try records.readBase(of: format, into: entries) }
      ) { place in
        try JournalCopy.fill(place) {
          receipt = try records.read(into: $0, of: State.self, place.format, observer)
        }
      }
      guard let receipt else { throw records.damaged("it has no end") }
      options.note(
        .info, "the journal was created from the backup and checked up to revision \(receipt.revision)",
        revision: receipt.revision)
      return receipt
    }
  }
}

private struct BackupRecords {
  private let path: String?
  private let source: (Int) throws -> Data
  private var buffer: [UInt8] = []
  private var position = 0

  init(path: String?, _ source: @escaping (Int) throws -> Data) throws {
    self.path = path
    self.source = source
    guard try take(BackupFile.magic.count) == BackupFile.magic else {
      throw JournalError(.notAJournal, "this is not a backup of a journal", path: path)
    }
    let version = try take(1)[0]
    guard version == BackupFile.version else {
      throw JournalError(
        .newerFormat,
        "the backup has version \(version), and this library reads version \(BackupFile.version); use a "
          + "newer library", path: path)
    }
  }

  func damaged(_ what: String, revision: Revision? = nil) -> JournalError {
    JournalError(
      .damaged, "the backup is damaged: \(what). No journal was created; use another backup",
      revision: revision,
      path: path)
  }

  mutating func readFormat() throws -> JournalFormat {
    let (kind, byteCount) = try head()
    guard kind == .format else { throw damaged("it does not begin with FORMAT") }
    return try JournalFormat(try take(byteCount), path: path ?? "FORMAT")
  }

  /// Writes the base of a pruned history into the folder of a new log.
  mutating func readBase(of format: JournalFormat, into entries: Files.Folder<JournalError>) throws
    -> HistoryBase?
  {
    guard format.announcesBase else { return nil }
    let (kind, byteCount) = try head()
    guard kind == .base else { throw damaged("the base of its history is missing") }
    do {
      return try HistoryBase.write(byteCount: byteCount, of: format, in: entries) { try take($0) }
    } catch let error as JournalError where error.code == .damaged {
      throw damaged("the base of its history is altered")
    }
  }

  /// Writes the remaining records into a new journal.
  mutating func read<State: EventSourced>(
    into copy: JournalCopy, of model: State.Type, _ format: JournalFormat, _ observer: CopyObserver
  ) throws -> JournalReceipt {
    let images = BlobStore(copy.folder, try copy.folder.openImages(), isReadOnly: false)
    defer { images.close() }
    var piece = EntryPiece(head: format.head)
    var named = try NamedBlobs<State>(in: copy.log, format.base)
    var isBaseChecked = format.base == nil
    func check(_ blobs: [Blob]) throws {
      for blob in blobs where try !images.contains(blob) {
        throw damaged(
          "it lacks an image, or has it after the entry that names it", revision: piece.head.revision)
      }
    }
    func checkBase() throws {
      if !isBaseChecked { try check(try format.base?.blobs(of: model) ?? []) }
      isBaseChecked = true
    }
    func flush() throws {
      try images.flush()
      if !piece.entries.isEmpty { try copy.append(piece.entries, head: piece.head) }
      piece = EntryPiece(head: piece.head)
      // Trimmed only when the copy has the piece, because dropped records are read again from the copy.
      named.trim()
      let reached = piece.head.revision
      try observer(CopyProgress(phase: .copying, done: reached, all: reached))
    }
    while true {
      try Task.checkCancellation()
      let (kind, byteCount) = try head()
      switch kind {
      case .format, .base: throw damaged("it has a second FORMAT or base")
      case .blob: try readBlob(byteCount, into: images, copy.folder)
      case .entry:
        try checkBase()
        let entry = try entry(try take(byteCount), after: piece.head, format)
        piece.add(entry)
        try check(try named.blobs(in: entry.sealed))
        if piece.isFull { try flush() }
      case .receipt:
        try checkBase()
        let text = String(decoding: try take(byteCount), as: UTF8.self)
        guard let receipt = JournalReceipt(text), receipt.journal == format.id,
          receipt.revision == piece.head.revision,
          receipt.digest == piece.head.digest
        else { throw damaged("its receipt belongs to other entries", revision: piece.head.revision) }
        guard try takeSome(1).isEmpty else { throw damaged("there are bytes after its end") }
        try flush()
        try copy.prove(observer)
        return receipt
      }
    }
  }

  private func entry(
    _ bytes: [UInt8], after newest: Head, _ format: JournalFormat
  ) throws(JournalError) -> LinkedEntry {
    let revision = newest.revision + 1
    guard bytes.count > 8, bytes[..<8].reduce(UInt64(0), { $0 << 8 | UInt64($1) }) == UInt64(revision) else {
      throw damaged("entry \(revision) is missing", revision: revision)
    }
    do throws(JournalError) { return try LinkedEntry(Array(bytes[8...]), after: newest, of: format.id) } catch
    {
      throw error.code == .damaged ? damaged(error.message, revision: revision) : error
    }
  }

  private mutating func readBlob(_ byteCount: Int, into images: BlobStore, _ folder: JournalFolder) throws {
    guard byteCount >= 32, let digest = ContentDigest(bytes: try take(32)) else {
      throw damaged("an image has no digest")
    }
    var rest = byteCount - 32
    try folder.root.require(rest, for: "an image")
    let writer = try images.writer()
    while rest > 0 {
      try Task.checkCancellation()
      let piece = try take(min(rest, BackupFile.pieceByteCount))
      try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) }
      rest -= piece.count
    }
    guard try writer.finish().digest == digest else { throw damaged("the bytes of an image are altered") }
  }

  // MARK: Bytes

  private mutating func head() throws -> (kind: BackupFile.Kind, byteCount: Int) {
    let bytes = try take(9)
    let byteCount = bytes[1...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let kind = BackupFile.Kind(rawValue: bytes[0]), byteCount <= UInt64(kind.byteLimit) else {
      throw damaged("it has a record of an unknown kind or size")
    }
    return (kind, Int(byteCount))
  }

  private mutating func take(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let some = try takeSome(count - bytes.count)
      guard !some.isEmpty else { throw damaged("it is cut short") }
      bytes += some
    }
    return bytes
  }

  /// Reads up to `count` bytes; returns none at the end of the backup.
  private mutating func takeSome(_ count: Int) throws -> ArraySlice<UInt8> {
    if position == buffer.count {
      buffer = Array(try source(BackupFile.pieceByteCount))
      position = 0
    }
    let some = buffer[position...].prefix(count)
    position += some.count
    return some
  }
}
