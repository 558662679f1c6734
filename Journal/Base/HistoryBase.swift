import CBOR
package import Files
import Foundation
import Locks

/// The base of a pruned history: the state of the newest pruned entry, in the file `BASE` next to the log
/// (Documentation/Format.md, "The base of a pruned journal").
///
/// 1. The base can't be rebuilt, because its entries were removed. So unlike a layer, it is not a cache but a part of
///    the journal.
/// 2. The first entry of the log follows the digest of the base's head. A later entry has the digest of the base's
///    state as a checkpoint, so the chain of digests proves the state.
/// 3. Opening reads the file's first lines. The state after these lines is compared with its digest before it is used.
/// 4. The file never changes. Another pruning writes another file.
package final class HistoryBase: Sendable {
  package static let fileName = "BASE"
  /// An upper limit for the bytes of the lines before the state.
  private static let headerLimit = 4096

  private let header: BaseHeader
  package var journal: JournalID { header.journal }
  /// The newest pruned entry: its number, date and digest.
  package var head: Head { header.head }
  package var formatDigest: ContentDigest { header.formatDigest }
  /// The model whose records the state has.
  package var schema: ModelSchema { header.schema }
  package var stateDigest: ContentDigest { header.stateDigest }
  package let byteCount: Int
  /// The offset of the state's bytes, from which its digest is computed.
  let contentStart: Int
  package let file: Files.File<JournalError>
  /// The sections of the contents, once compared with their digest. `BaseContents` itself would hold this object.
  private let checked = Lock<[BaseContents.Section]?>(nil)

  /// Opens the base in the folder of a log; nil if the folder has none.
  /// - Parameter format: the journal's FORMAT; nil to open the base of any journal, as salvage does.
  /// - Throws: ``JournalError`` with code `damaged` if the base is another journal's, or its first lines are altered.
  package static func open(
    in entries: Files.Folder<JournalError>, _ format: JournalFormat?
  ) throws(JournalError) -> HistoryBase? {
    let file: File
    do throws(JournalError) {
      file = try entries.file(fileName, .reading)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
    let base = try HistoryBase(file)
    if let format, base.journal != format.id || base.formatDigest != format.digest {
      throw invalid(base.file.path)
    }
    return base
  }

  private init(_ file: consuming File) throws(JournalError) {
    byteCount = try file.byteCount()
    let start = try file.piece(at: 0, byteCount: min(byteCount, Self.headerLimit))
    guard let header = BaseHeader(start), header.byteCount == byteCount - header.ownByteCount else {
      throw Self.invalid(file.path)
    }
    self.header = header
    contentStart = header.ownByteCount
    self.file = file
  }

  /// The positions of the state's parts in the file. The first call reads the whole file.
  /// - Throws: ``JournalError`` with code `damaged` if the state's bytes do not have its digest.
  /// - Complexity: O(n) in the bytes of the state the first time.
  package func contents() throws(JournalError) -> BaseContents {
    if let sections = checked.withLock({ $0 }) { return BaseContents(base: self, sections: sections) }
    try check()
    let sections = try BaseContents.sections(of: self)
    checked.withLock { $0 = sections }
    return BaseContents(base: self, sections: sections)
  }

  /// Compares all bytes of the state with its digest.
  /// - Parameter goesOn: called before each piece. If it returns false, the check ends there and passes.
  package func check(while goesOn: () -> Bool = { true }) throws(JournalError) {
    var hash = SHA256Hash()
    var pieces = BasePieces(self, from: contentStart)
    while goesOn() {
      guard let piece = try pieces.next() else {
        guard hash.finish() == stateDigest else { throw damaged }
        return
      }
      hash.update(piece)
    }
  }

  /// The checkpoint with which an entry proves this base.
  package var checkpoint: Checkpoint { Checkpoint(revision: head.revision, stateDigest: stateDigest) }

  /// Whether an entry's checkpoint is one of this base.
  package func isVouchedFor(by header: EntryHeader) -> Bool {
    header.checkpointRevision == head.revision && header.schemaVersion == schema.version
  }

  /// Fails if the base is from before an erasure, so that it still has the erased content.
  /// - Parameter erasure: the newest entry that is known to record an erasure; 0 if there is none.
  package func check(erasure: Revision, in log: any EntryLog) throws(JournalError) {
    // A layer may know of an erasure that an older log does not have.
    guard erasure > head.revision, erasure <= (try log.newestRevision()) else { return }
    let isOther = try log.read(erasure) { entry throws(JournalError) in
      let header = try entry.header()
      guard header.checkpointRevision == head.revision else { return false }
      guard header.schemaVersion == schema.version, let proven = try entry.checkpoint() else {
        return header.schemaVersion != schema.version
      }
      return proven != checkpoint
    }
    if isOther {
      throw JournalError(
        .damaged,
        "the base of the pruned history is from before the erasure of entry \(erasure), and has what was erased; "
          + "restore the file from a newer backup", revision: head.revision, path: file.path)
    }
  }

  /// Fails if the log still has the newest entry that the base says was pruned, but no entry that proves the base. Such
  /// a log belongs to a copy that was not pruned: the base would hide its older entries, and the next erasure or
  /// pruning would lose them. A log that proves the base can also have pruned entries, in a file that another program
  /// has put back.
  func check(isOf log: any EntryLog, _ journal: JournalID) throws(JournalError) {
    var hasPruned = false
    try unsafe log.read(head.revision...head.revision, newestFirst: false) { _, _ throws(JournalError) in
      hasPruned = true
      return false
    }
    guard hasPruned, try voucher(in: log, through: try log.newestRevision(), of: journal) == nil else {
      return
    }
    throw JournalError(
      .damaged,
      "the log has entry \(head.revision), and BASE says that it was pruned: one of the two was put here by another "
        + "program; move BASE elsewhere if the log is the right one, or restore the journal from a backup",
      revision: head.revision, path: file.path)
  }

  /// The first entry that proves the base; nil if no entry up to `last` does.
  /// - Complexity: O(n) in the bytes of the entries up to the found one.
  package func voucher(
    in log: any EntryLog, through last: Revision, of journal: JournalID
  ) throws(JournalError) -> Head? {
    guard head.revision < last else { return nil }
    var found: Head?
    try unsafe log.read(head.revision + 1...last, newestFirst: false) {
      revision, bytes throws(JournalError) in
      let entry = unsafe EntryDecoder(bytes, revision: revision)
      let header = try entry.header()
      guard isVouchedFor(by: header), try entry.checkpoint() == checkpoint else { return true }
      found = Head(revision: revision, timestamp: header.date, digest: try entry.digest(journal: journal))
      return false
    }
    return found
  }

  package static func invalid(_ path: String) -> JournalError {
    JournalError(
      .damaged,
      "the base of the pruned history is altered, cut or another journal's; restore the file from a backup",
      path: path)
  }

  var damaged: JournalError {
    JournalError(
      .damaged,
      "the base of the pruned history is altered; restore the file from a backup",
      revision: head.revision, path: file.path)
  }

  /// The error about a request for something older than the base.
  func pruned(_ what: String) -> JournalError {
    JournalError(
      .pruned,
      "\(what): history up to revision \(head.revision), of \(head.timestamp), was pruned; a backup that was made "
        + "before may have it", revision: head.revision)
  }
}

struct BaseHeader {
  let journal: JournalID
  let head: Head
  let formatDigest: ContentDigest
  let schema: ModelSchema
  let stateDigest: ContentDigest
  /// The number of bytes of the state.
  let byteCount: Int

  /// All lines except the last, which is their digest.
  private var lines: String {
    """
    base 1 \(journal)
    revision \(head.revision)
    digest \(head.digest.hex)
    date \(head.timestamp)
    format \(formatDigest.hex)
    model \(schema.name) \(schema.version)
    state \(byteCount) \(stateDigest.hex)

    """
  }

  var bytes: [UInt8] {
    let bytes = Array(lines.utf8)
    return bytes + Array("sha256 \(SHA256Hash.digest(bytes).hex)\n".utf8)
  }

  var ownByteCount: Int { bytes.count }
}

extension BaseHeader {
  /// Reads the lines at the start of a file; nil if they are invalid.
  init?(_ start: [UInt8]) {
    let lines = start.split(separator: UInt8(ascii: "\n"), maxSplits: 8).prefix(8).map {
      String(decoding: $0, as: UTF8.self).split(separator: " ")
    }
    guard lines.count == 8, lines[0].count == 3, let journal = JournalID(lines[0][2]), lines[1].count == 2,
      let revision = Revision(lines[1][1]), revision > 0, revision < NumberLimit.revision,
      lines[2].count == 2,
      let digest = ContentDigest(hex: lines[2][1]), lines[3].count == 2, let date = Timestamp(lines[3][1]),
      lines[4].count == 2, let formatDigest = ContentDigest(hex: lines[4][1]), lines[5].count == 3,
      let schema = ModelSchema(name: lines[5][1], version: lines[5][2]), lines[6].count == 3,
      let byteCount = Int(lines[6][1]), byteCount >= 0, let stateDigest = ContentDigest(hex: lines[6][2])
    else { return nil }
    self.init(
      journal: journal, head: Head(revision: revision, timestamp: date, digest: digest),
      formatDigest: formatDigest, schema: schema, stateDigest: stateDigest, byteCount: byteCount)
    guard start.starts(with: bytes) else { return nil }
  }
}
