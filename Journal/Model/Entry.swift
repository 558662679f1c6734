public import Foundation

/// One atomic commit: the unit of the log, of time and of proof.
public struct Entry: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// When it was committed, to the microsecond; never before the entry before it.
  public let date: Date
  /// When it was committed by the clock of the time, or by who committed it: before ``date`` when an earlier
  /// entry has a later date, as after a clock that was wrong.
  public let clockDate: Date
  /// Who made it, in the app's own words; empty when nobody was named.
  public let author: String
  /// Why; empty when nothing was said.
  public let note: String
  /// Whatever else the app wants to keep with the entry.
  public let metadata: [String: String]
  /// Whether author, note and metadata have been erased. They are empty then.
  public let isAnnotationErased: Bool
  /// The version of the model that wrote the entry. Its events are brought up to date all the same.
  public let schemaVersion: Int
  /// The digest of the entry before it; that of the empty journal for the first.
  public let previousDigest: ContentDigest
  /// The digest that seals this entry and, through its predecessor, all before it.
  public let digest: ContentDigest
  /// What changed, each entity at most once.
  public let events: [JournalEvent]
}

/// Which entry is the newest.
public struct Head: Hashable, Sendable {
  /// Its number; 0 when the journal is empty.
  public let revision: Revision
  /// Its date as the log keeps it.
  package let timestamp: Timestamp
  /// Its digest; when the journal is empty, that of its FORMAT, which says whose journal it is.
  public let digest: ContentDigest

  /// Its date; 1970 when the journal is empty.
  public var date: Date { timestamp.date }
}

/// A state, and the entry that made it.
public struct Version<State: EventSourced>: Sendable {
  /// The entry that the state is as of.
  public let head: Head
  /// Boxed, so that handing a version on costs one reference, however many tables a state has.
  private let box: StateBox<State>

  init(head: Head, state: State) {
    self.head = head
    box = StateBox(state)
  }

  /// The state that the entries 1…``revision`` make.
  public var state: State { box.state }

  /// The number of the entry.
  public var revision: Revision { head.revision }
  /// The date of the entry.
  public var date: Date { head.date }
  /// The digest of the entry.
  public var digest: ContentDigest { head.digest }
}

private final class StateBox<State: EventSourced>: Sendable {
  let state: State
  init(_ state: State) { self.state = state }
}

/// The bytes of an image, stored once under their SHA-256.
public struct Blob: Hashable, Sendable {
  /// The SHA-256 of the bytes.
  public let digest: ContentDigest
  /// How many they are.
  public let byteCount: Int

  /// A blob of that digest and size; whether a journal has it is another question.
  public init(digest: ContentDigest, byteCount: Int) {
    self.digest = digest
    self.byteCount = byteCount
  }
}
