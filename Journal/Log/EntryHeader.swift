// The parts of an entry, as Documentation/Format.md describes them: a header, and a list of parts that can be erased
// one by one.

/// The header of an entry, which stays when its parts are erased.
package struct EntryHeader: Sendable {
  /// The date that orders entries, never earlier than the previous entry's.
  package var date: Timestamp
  /// The date that the clock or the caller gave.
  var clockDate: Timestamp
  /// The version of the model that wrote the records and changes.
  package var schemaVersion: Int
  package var previousDigest: ContentDigest
  /// The revision of the checkpoint, nil if there is none.
  package var checkpointRevision: Revision?
}

/// The annotation of an entry, which can be erased like its payloads.
package struct EntryAnnotation: Hashable, Sendable {
  package var author: String
  package var note: String
  package var metadata: [String: String]

  package init(author: String = "", note: String = "", metadata: [String: String] = [:]) {
    self.author = author
    self.note = note
    self.metadata = metadata
  }

  var isEmpty: Bool { author.isEmpty && note.isEmpty && metadata.isEmpty }
}

/// The digest of an earlier state, for readers that begin at that state.
package struct Checkpoint: Hashable, Sendable {
  package let revision: Revision
  package let stateDigest: ContentDigest
}

/// The keys of the maps in an entry. A reader must fail at an unknown even key, and may skip an odd one.
enum EntryKey {
  // In the header.
  static let version: UInt64 = 0
  static let clockDate: UInt64 = 1
  static let date: UInt64 = 2
  static let checkpoint: UInt64 = 3
  static let schemaVersion: UInt64 = 4
  static let previousDigest: UInt64 = 6
  static let events: UInt64 = 8

  // In the annotation.
  static let author: UInt64 = 0
  static let note: UInt64 = 2
  static let metadata: UInt64 = 4
}

/// Domain separation: hashed bytes begin with one of these, so that no digest can be taken for one of another kind.
enum DigestTag {
  static let part: UInt8 = 0
  static let entry: UInt8 = 1
  static let format: UInt8 = 2
}

/// Computes the digest of an entry: SHA-256(0x01 ‖ journal id ‖ revision ‖ header ‖ digest of each part).
package struct EntrySeal: ~Copyable {
  private static let emptyPart = unsafe digest(part: UnsafeRawBufferPointer(start: nil, count: 0))

  private var hash = SHA256Hash()

  init(journal: JournalID, revision: Revision) {
    hash.update(DigestTag.entry)
    hash.update(journal.bytes)
    hash.update(UInt64(revision))
  }

  /// Adds all bytes of the header, which is the first of an entry's two items.
  mutating func add(header: UnsafeRawBufferPointer) { unsafe hash.update(header) }

  /// The digest of a part: of its salt and its content, or of no bytes if the part is empty.
  package static func digest(part: UnsafeRawBufferPointer) -> ContentDigest {
    var hash = SHA256Hash()
    hash.update(DigestTag.part)
    unsafe hash.update(part)
    return hash.finish()
  }

  /// Adds a part: its salt and its content.
  mutating func add(part: UnsafeRawBufferPointer) {
    hash.update(unsafe part.isEmpty ? Self.emptyPart : Self.digest(part: part))
  }

  mutating func add(erased digest: ContentDigest) { hash.update(digest) }

  consuming func finish() -> ContentDigest { hash.finish() }
}
