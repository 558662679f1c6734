import Files
import Journaling

/// The format of a backup in one file, as Documentation/Format.md describes it: `JRNLBKUP`, the version, and records,
/// each with its kind and the number of its bytes.
enum BackupFile {
  static let magic = Array("JRNLBKUP".utf8)
  static let version: UInt8 = 1
  /// Files and pipes are written and read in pieces of this size.
  static let pieceByteCount = 1 << 20
  /// The number of bytes before the content of a record: the kind, and the size of the content.
  private static let headByteCount = 9

  enum Kind: UInt8 {
    /// The bytes of FORMAT. The first record.
    case format = 0x46
    /// The bytes of BASE. Follows FORMAT if history was pruned.
    case base = 0x53
    /// The digest and the bytes of a blob. Precedes the first entry that names the blob.
    case blob = 0x42
    /// The revision and the bytes of an entry. Entries are in order.
    case entry = 0x45
    /// The receipt. The last record.
    case receipt = 0x52

    var byteLimit: Int {
      switch self {
      case .format: JournalFormat.byteLimit
      case .blob, .base: .max
      case .entry: EntryCoding.byteLimit + 8
      case .receipt: JournalReceipt.byteLimit
      }
    }
  }

  static func head(_ kind: Kind, byteCount: Int) -> [UInt8] {
    var bytes = [kind.rawValue]
    bytes.append(bigEndian: UInt64(byteCount))
    return bytes
  }

  /// The first bytes of the record of a blob, and its digest.
  static func head(of blob: Blob) -> [UInt8] {
    // The sum must not overflow, because a forged entry can name any size.
    let digest = blob.digest.bytes
    return head(.blob, byteCount: [digest.count, blob.byteCount].sum(of: \.self)) + digest
  }

  /// Reads the receipt at the end of a backup; nil if there is no file of that name. Only the beginning and the end of
  /// the file are read.
  /// - Throws: ``JournalError``: `alreadyExists` if the file is no backup, `newerFormat`, or `damaged` if the backup has
  ///   no receipt at its end.
  static func receipt(of name: String, in parent: Files.Folder<JournalError>) throws(JournalError)
    -> JournalReceipt?
  {
    guard try parent.status(of: name) != nil else { return nil }
    let path = parent.path(of: name)
    let other = JournalError(
      .alreadyExists, "something is there that is not a backup; choose another name", path: path)
    let file: Files.File<JournalError>
    do throws(JournalError) { file = try parent.file(name, .reading) } catch {
      throw error.code == .notAJournal ? other : error
    }
    let start = try file.piece(at: 0, byteCount: magic.count + 1)
    guard start.starts(with: magic) else { throw other }
    if start.count > magic.count, start[magic.count] != version {
      throw JournalError(
        .newerFormat,
        "a backup of version \(start[magic.count]) is there, and this library reads version \(version); use a newer "
          + "library, or choose another name", path: path)
    }
    let byteCount = try file.byteCount()
    let end = try file.piece(
      at: max(byteCount - headByteCount - JournalReceipt.byteLimit, 0),
      byteCount: headByteCount + JournalReceipt.byteLimit)
    for index in end.indices.reversed() where end[index] == Kind.receipt.rawValue {
      let text = end[index...].dropFirst(headByteCount)
      guard end[index...].starts(with: head(.receipt, byteCount: text.count)) else { continue }
      if let receipt = JournalReceipt(String(decoding: text, as: UTF8.self)) { return receipt }
    }
    throw JournalError(
      .damaged,
      "the backup that is there is cut short or altered: it does not end with a receipt. Remove it, or choose another "
        + "name", path: path)
  }
}
