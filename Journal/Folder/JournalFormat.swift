/// The contents of FORMAT: the version of the format, the journal's id, and its model.
///
/// ```
/// journal 2 b8d6f358-f45b-4c12-bd27-53cd0bd018ba
/// model catalog 1
/// must NAME VALUE        a feature that a reader must know
/// may NAME VALUE         a feature that a reader may ignore
/// must base 1            the last line, once history was pruned
/// ```
/// Entry 1 follows the digest of FORMAT, so the chain covers every byte of the file except that last line.
package struct JournalFormat: Sendable {
  /// The version of the format that this library reads and writes.
  static let version = 2
  package static let byteLimit = 64 << 10
  /// Tells readers that do not know bases that they can't read the journal.
  private static let baseLine = "must base 1"

  package let id: JournalID
  /// The model that created the journal, in its version at that time.
  package let schema: ModelSchema
  /// The bytes that the file was created with, from which the digest is computed.
  private let sealed: [UInt8]
  /// Whether the file announces a base. Only the file BASE decides whether there is one.
  package let announcesBase: Bool
  /// The base of the history; nil if history begins with entry 1.
  package var base: HistoryBase?

  /// The bytes that the file must have.
  package var bytes: [UInt8] { base == nil ? sealed : sealed + Array("\(Self.baseLine)\n".utf8) }

  package init(id: JournalID = JournalID(), schema: ModelSchema) {
    self.id = id
    self.schema = schema
    sealed = Array("journal \(Self.version) \(id)\nmodel \(schema.name) \(schema.version)\n".utf8)
    announcesBase = false
  }

  /// - Throws: ``JournalError``: `olderFormat`, `newerFormat`, or `damaged` if the bytes have another form.
  package init(_ bytes: [UInt8], path: String) throws(JournalError) {
    let damaged = JournalError(
      .damaged,
      "FORMAT does not have the journal's id and model; restore it from a backup",
      path: path)
    let text = String(decoding: bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
      $0.split(separator: " ", omittingEmptySubsequences: false)
    }
    guard text.utf8.elementsEqual(bytes), let first = lines.first, first.count >= 2, first[0] == "journal",
      let version = Int(first[1]),
      version > 0
    else { throw damaged }
    guard version >= Self.version else {
      throw JournalError(
        .olderFormat,
        "the journal has format \(version), which is no longer read: this library reads and writes format "
          + "\(Self.version)", path: path)
    }
    guard version == Self.version else {
      throw JournalError(
        .newerFormat,
        "the journal has format \(version), and this library reads format \(Self.version); use a newer one",
        path: path)
    }
    guard first.count == 3, let id = JournalID(first[2]), id.description == first[2], lines.count >= 3,
      lines[1].count == 3, lines[1][0] == "model",
      let schema = ModelSchema(name: lines[1][1], version: lines[1][2]), lines.last == [""]
    else { throw damaged }
    announcesBase = lines.count > 3 && lines[lines.count - 2].joined(separator: " ") == Self.baseLine
    for line in lines.dropFirst(2).dropLast(announcesBase ? 2 : 1) {
      guard line.count >= 3, line[0] == "must" || line[0] == "may", !line[1].isEmpty else { throw damaged }
      guard line[0] == "may" else {
        throw JournalError(
          .newerFormat,
          "the journal has a feature that this library does not know, \"\(line[1])\"; use a newer one",
          path: path)
      }
    }
    self.id = id
    self.schema = schema
    sealed = announcesBase ? Array(bytes.dropLast(Self.baseLine.utf8.count + 1)) : bytes
  }

  /// The digest of revision 0, which is the previous digest of entry 1.
  package var digest: ContentDigest {
    var hash = SHA256Hash()
    hash.update(DigestTag.format)
    hash.update(sealed)
    return hash.finish()
  }

  /// The point that the first entry follows: the empty journal or, if history was pruned, the newest pruned entry.
  package var head: Head {
    base?.head ?? Head(revision: 0, timestamp: Timestamp(microseconds: 0), digest: digest)
  }

  package func with(_ base: HistoryBase?) -> JournalFormat {
    var format = self
    format.base = base
    return format
  }
}
