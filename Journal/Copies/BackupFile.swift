/// The format of a backup in one file, as Documentation/Format.md describes it: `JRNLBKUP`, the version, and records,
/// each with its kind and the number of its bytes.
enum BackupFile {
  static let magic = Array("JRNLBKUP".utf8)
  static let version: UInt8 = 1
  /// Files and pipes are written and read in pieces of this size.
  static let pieceByteCount = 1 << 20

  /// The kind of a record.
  enum Kind: UInt8 {
    /// FORMAT; the first record.
    case format = 0x46
    /// BASE, when history was pruned; after FORMAT.
    case base = 0x53
    /// A blob: its digest, its bytes. Before the first entry that names it.
    case blob = 0x42
    /// An entry: its revision, its bytes. In order.
    case entry = 0x45
    /// The receipt; the last record.
    case receipt = 0x52

    /// The most bytes of such a record.
    var byteLimit: Int {
      switch self {
      case .format: JournalFormat.byteLimit
      case .blob, .base: .max
      case .entry: EntryCoding.byteLimit + 8
      case .receipt: JournalReceipt.byteLimit
      }
    }
  }

  /// The first bytes of a record.
  static func head(_ kind: Kind, byteCount: Int) -> [UInt8] {
    var bytes = [kind.rawValue]
    bytes.append(bigEndian: UInt64(byteCount))
    return bytes
  }

  /// The first bytes of the record of a blob, and its digest.
  static func head(of blob: Blob) -> [UInt8] {
    // A forged entry can name any size, and the bytes are read after this.
    let digest = blob.digest.bytes
    return head(.blob, byteCount: [digest.count, blob.byteCount].sum(of: \.self)) + digest
  }
}
