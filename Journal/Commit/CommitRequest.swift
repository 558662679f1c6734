public import Foundation

@usableFromInline
struct CommitRequest: Sendable {
  /// The most bytes of author, note and metadata together.
  static let textByteLimit = 1 << 20

  let author: String
  let note: String
  let metadata: [String: String]
  /// Nil means the current date.
  let date: Timestamp?
  let expecting: [Expectation]
  /// Whether the body must not run again if another node commits first.
  let runsOnce: Bool

  /// - Throws: ``JournalError`` with code `tooLarge` if the texts exceed ``textByteLimit``.
  @usableFromInline
  init(
    _ author: String, _ note: String, _ metadata: [String: String], _ date: Date?,
    _ expecting: [Expectation], _ runsOnce: Bool
  ) throws(JournalError) {
    self.author = author
    self.note = note
    self.metadata = metadata
    // A date outside the range of timestamps becomes the nearest timestamp, which is refused because of its year.
    self.date = date.map { Timestamp($0) ?? Timestamp(microseconds: $0 < .distantPast ? .min : .max) }
    self.expecting = expecting
    self.runsOnce = runsOnce
    try checkSize()
  }

  private func checkSize() throws(JournalError) {
    let byteCount = metadata.reduce(author.utf8.count + note.utf8.count) {
      $0 + $1.key.utf8.count + $1.value.utf8.count
    }
    guard byteCount > Self.textByteLimit else { return }
    throw JournalError(
      .tooLarge,
      "author, note and metadata have \(byteCount) bytes together, and may have \(Self.textByteLimit); store "
        + "large texts in an entity or an image")
  }

  /// The dates of the entry after `head`.
  /// - Throws: ``JournalError`` with code `rejected` for an invalid year.
  func clock(
    after head: Head, lastWrite: () -> Timestamp? = { nil }, now: Timestamp = .now
  ) throws(JournalError) -> CommitClock {
    let date = date ?? now
    guard date.hasFourDigitYear else {
      throw JournalError(
        .rejected,
        self.date == nil
          ? "this computer's clock says \(now), and the year of an entry must be 1 to 9999; set the clock"
          : "the date is out of range: its year must be 1 to 9999")
    }
    return CommitClock(self.date, after: head, lastWrite: lastWrite, now: now)
  }

  func check<State: EventSourced>(_ version: Version<State>) throws(JournalError) {
    if expecting.isEmpty { return }
    let (revision, state) = (version.revision, version.state)
    for expectation in expecting {
      switch expectation {
      case .journal(let expected) where expected != revision:
        throw JournalError(
          .conflict,
          "the journal is at revision \(revision), not at \(expected) as expected; read the entries since",
          revision: revision)
      case .entity(let entity, let expected) where expected != state.revision(of: entity):
        let found = state.revision(of: entity)
        throw JournalError(
          .conflict,
          "\(State.name(of: entity)) was last changed by revision \(found), not by \(expected) as expected; "
            + "read the entries since", revision: found)
      default: continue
      }
    }
  }
}
