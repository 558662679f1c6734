import Files
public import Foundation

/// A receipt for the newest acknowledged entry. A receipt that is stored elsewhere can later prove that nothing up to
/// that entry was lost, changed or reordered.
///
/// A backup has the receipt of its journal in the file `RECEIPT`: see Documentation/Format.md.
public struct JournalReceipt: Hashable, Sendable, CustomStringConvertible {
  package static let fileName = "RECEIPT"
  package static let byteLimit = 4096

  /// The identity of the journal.
  public let journal: JournalID
  /// The revision of the newest entry when the receipt was made; 0 if there was none.
  public let revision: Revision
  /// The digest of that entry, which seals all entries up to it.
  public let digest: ContentDigest
  /// When the receipt was made, to the microsecond.
  public let date: Date

  package init(id: JournalID, head: Head, date: Date = Date()) {
    journal = id
    revision = head.revision
    digest = head.digest
    self.date = (Timestamp(date) ?? head.timestamp).date
  }

  /// The text of the file `RECEIPT`: four lines.
  public var description: String {
    """
    receipt 1 \(journal)
    revision \(revision)
    digest \(digest.hex)
    date \(Timestamp(date).map(\.description) ?? "")

    """
  }

  /// Parses a receipt; nil if the text is not one.
  public init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 5, lines[0].hasPrefix("receipt 1 "), let journal = JournalID(lines[0].dropFirst(10)),
      lines[1].hasPrefix("revision "), let revision = Revision(lines[1].dropFirst(9)), revision >= 0,
      lines[2].hasPrefix("digest "), let digest = ContentDigest(hex: lines[2].dropFirst(7)),
      lines[3].hasPrefix("date "), let date = Timestamp(lines[3].dropFirst(5)), lines[4].isEmpty
    else { return nil }
    self.journal = journal
    self.revision = revision
    self.digest = digest
    self.date = date.date
    // Only the exact text of `description` is valid.
    guard description == text else { return nil }
  }

  package func write(in folder: JournalFolder) throws(JournalError) {
    try folder.root.write(Self.fileName, Array(description.utf8))
    try folder.root.flush()
  }

  /// The receipt in the folder of a journal; nil if there is none.
  /// - Throws: ``JournalError`` with code `newerFormat`, or `damaged` if the file is invalid.
  package static func read(in folder: JournalFolder) throws(JournalError) -> JournalReceipt? {
    guard let bytes = try folder.root.contents(of: fileName, limit: byteLimit) else { return nil }
    try FileVersion.check(bytes, is: "receipt", path: folder.root.path(of: fileName))
    guard let receipt = JournalReceipt(String(decoding: bytes, as: UTF8.self)) else {
      throw JournalError(
        .damaged, "RECEIPT does not have the form that a backup writes; the next backup replaces it",
        path: folder.root.path(of: fileName))
    }
    return receipt
  }
}

extension Journal {
  /// The receipt for this journal's newest entry.
  /// - Complexity: O(1)
  public var receipt: JournalReceipt { JournalReceipt(id: id, head: head) }

  /// The receipt of the original journal at the latest run of this backup; nil if this is not a backup.
  /// - Throws: ``JournalError`` if the receipt can't be read.
  public func backupReceipt() throws -> JournalReceipt? { try JournalReceipt.read(in: folder) }

  /// Whether this journal has the history of a receipt, unchanged.
  /// - Throws: ``JournalError`` if the entry can't be read; with code `pruned` if it was pruned, so that this can't be
  ///   decided any more.
  /// - Complexity: O(1); `verify` proves that the earlier entries are intact.
  public func contains(_ receipt: JournalReceipt) throws -> Bool {
    try settled {
      guard receipt.journal == id, receipt.revision <= head.revision else { return false }
      if receipt.revision == 0 { return receipt.digest == format.digest }
      if let base = format.base, receipt.revision < base.head.revision {
        throw base.pruned("a receipt of revision \(receipt.revision) can't be proven any more")
      }
      return try Replay<State>(log: log, format: format).head(at: receipt.revision).digest == receipt.digest
    }
  }
}
