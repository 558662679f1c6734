public import Foundation

/// One atomic commit: the unit of the log, of time and of proof.
public struct Entry: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// When the entry was committed, to the microsecond; never earlier than the previous entry.
  public let date: Date
  /// The date that the clock or the caller gave. It is before ``date`` if an earlier entry has a later date, for
  /// example because a clock was wrong.
  public let clockDate: Date
  /// Who made the entry, in the app's own words; may be empty.
  public let author: String
  /// Why the entry was made; may be empty.
  public let note: String
  /// Other facts that the app stores with the entry.
  public let metadata: [String: String]
  /// Whether author, note and metadata have been erased. They are then empty.
  public let isAnnotationErased: Bool
  /// The version of the model that wrote the entry. The events are given in the current version.
  public let schemaVersion: Int
  /// The digest of the previous entry; for the first entry, that of the empty journal (``Head/digest``).
  public let previousDigest: ContentDigest
  /// The digest that seals this entry and, through the previous digest, all entries before it.
  public let digest: ContentDigest
  /// The changes, at most one for each entity.
  public let events: [JournalEvent]
}

extension String {
  /// The first nonblank line of a note.
  package var subject: Substring { drop(while: \.isWhitespace).prefix { !$0.isNewline } }
}

/// The identity of the newest entry.
public struct Head: Hashable, Sendable {
  /// The entry's number; 0 when the journal is empty.
  public let revision: Revision
  /// The entry's date as the log stores it.
  package let timestamp: Timestamp
  /// The entry's digest; in an empty journal, that of the file FORMAT, which identifies the journal and its model.
  public let digest: ContentDigest

  package init(revision: Revision, timestamp: Timestamp, digest: ContentDigest) {
    (self.revision, self.timestamp, self.digest) = (revision, timestamp, digest)
  }

  /// The entry's date; 1970 when the journal is empty.
  public var date: Date { timestamp.date }
}

/// A state, and the entry that made it.
public struct Version<State: EventSourced>: Sendable {
  /// Boxed, so that passing a version costs one reference, however many tables a state has.
  let box: VersionBox<State>

  init(head: Head, state: consuming State) { box = VersionBox(head, state) }

  /// The newest entry that the state includes.
  public var head: Head { box.head }
  /// The state that the entries 1…``revision`` make.
  public var state: State { box.state }

  /// The number of the entry.
  public var revision: Revision { head.revision }
  /// The date of the entry.
  public var date: Date { head.date }
  /// The digest of the entry.
  public var digest: ContentDigest { head.digest }
}

final class VersionBox<State: EventSourced>: Sendable {
  let head: Head
  let state: State

  init(_ head: Head, _ state: consuming State) {
    self.head = head
    self.state = state
  }
}

/// The bytes of an image, stored once under their SHA-256.
public struct Blob: Hashable, Sendable {
  /// The SHA-256 of the bytes.
  public let digest: ContentDigest
  /// The number of bytes.
  public let byteCount: Int

  /// Describes a blob, whether or not a journal has it.
  public init(digest: ContentDigest, byteCount: Int) {
    self.digest = digest
    self.byteCount = byteCount
  }
}
