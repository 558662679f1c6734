// What an entry is made of, as Documentation/Format.md describes it: a header, and a list of parts that can be
// erased one by one.

/// What an entry says of itself: what stays when its parts are erased.
struct EntryHeader: Sendable {
  /// Never before that of the entry before: the order of entries is that of these dates.
  var date: Timestamp
  /// What the clock said, or who made the commit.
  var clockDate: Timestamp
  /// The version of the model whose records and changes these are.
  var schemaVersion: Int
  var previousDigest: ContentDigest
  /// The revision whose state digest the entry carries, nil if it carries none.
  var checkpointRevision: Revision?
}

/// What people say of an entry, which can be erased as its payloads can.
struct EntryAnnotation: Hashable, Sendable {
  var author = ""
  var note = ""
  var metadata: [String: String] = [:]

  var isEmpty: Bool { author.isEmpty && note.isEmpty && metadata.isEmpty }
}

/// The digest of a state that an entry carries for those who begin there.
struct Checkpoint: Hashable, Sendable {
  let revision: Revision
  let stateDigest: ContentDigest
}

/// The keys of the maps in an entry. One who reads an unknown even key must give up, and may pass an odd one.
enum EntryKey {
  // Of the header.
  static let version: UInt64 = 0
  static let clockDate: UInt64 = 1
  static let date: UInt64 = 2
  static let checkpoint: UInt64 = 3
  static let schemaVersion: UInt64 = 4
  static let previousDigest: UInt64 = 6
  static let events: UInt64 = 8

  // Of the annotation.
  static let author: UInt64 = 0
  static let note: UInt64 = 2
  static let metadata: UInt64 = 4
}

/// What is hashed begins with one of these, so that nothing of one kind is taken for another.
enum DigestTag {
  static let part: UInt8 = 0
  static let entry: UInt8 = 1
  static let format: UInt8 = 2
}

/// The digest of an entry in the making:
/// SHA-256(0x01 ‖ journal id ‖ revision ‖ header ‖ digest of each part).
struct EntrySeal: ~Copyable {
  private static let emptyPart = unsafe digest(part: UnsafeRawBufferPointer(start: nil, count: 0))

  private var hash = SHA256Hash()

  init(journal: JournalID, revision: Revision) {
    hash.update(DigestTag.entry)
    hash.update(journal.bytes)
    hash.update(UInt64(revision))
  }

  /// Adds the first of the two items of an entry, all its bytes.
  mutating func add(header: UnsafeRawBufferPointer) { unsafe hash.update(header) }

  /// The digest that stands for a part: of its salt and its content, or of nothing when it has neither.
  static func digest(part: UnsafeRawBufferPointer) -> ContentDigest {
    var hash = SHA256Hash()
    hash.update(DigestTag.part)
    unsafe hash.update(part)
    return hash.finish()
  }

  /// Adds a part, salt and content.
  mutating func add(part: UnsafeRawBufferPointer) {
    hash.update(unsafe part.isEmpty ? Self.emptyPart : Self.digest(part: part))
  }

  /// Adds a part of which only the digest is left.
  mutating func add(erased digest: ContentDigest) { hash.update(digest) }

  consuming func finish() -> ContentDigest { hash.finish() }
}
