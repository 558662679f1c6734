/// What a commit says of itself, and expects.
struct CommitRequest: Sendable {
  /// How many bytes author, note and metadata may have together.
  static let textByteLimit = 1 << 20

  var author: String
  var note: String
  var metadata: [String: String]
  /// Nil: now.
  var date: Timestamp?
  var expecting: [Expectation]
  /// Whether the body must not run again when another node was quicker.
  var runsOnce = false

  /// Fails when its texts are larger than an entry takes.
  func checkSize() throws(JournalError) {
    let byteCount = metadata.reduce(author.utf8.count + note.utf8.count) {
      $0 + $1.key.utf8.count + $1.value.utf8.count
    }
    guard byteCount > Self.textByteLimit else { return }
    throw JournalError(
      .tooLarge,
      "author, note and metadata have \(byteCount) bytes together, and may have \(Self.textByteLimit); keep "
        + "large texts in an entity or an image")
  }

  /// The dates of the entry that follows another.
  /// - Throws: ``JournalError`` with code `rejected` for a year that no entry can have.
  func clock(after head: Head, now: Timestamp = .now) throws(JournalError) -> CommitClock {
    let date = date ?? now
    guard Timestamp.fourDigitYears.contains(date) else {
      throw JournalError(
        .rejected,
        self.date == nil
          ? "this computer's clock says \(now), and the year of an entry must be 1 to 9999; set the clock"
          : "the date is out of range: its year must be 1 to 9999")
    }
    return CommitClock(self.date, after: head, now: now)
  }

  /// Fails when something is not as expected.
  func check<State: EventSourced>(_ version: Version<State>) throws(JournalError) {
    if expecting.isEmpty { return }
    let (revision, state) = (version.revision, version.state)
    for expectation in expecting {
      switch expectation {
      case .journal(let expected) where expected != revision:
        throw JournalError(
          .conflict, "the journal is at revision \(revision), not at \(expected); look at what came since",
          revision: revision)
      case .entity(let entity, let expected) where expected != state.revision(of: entity):
        let found = state.revision(of: entity)
        throw JournalError(
          .conflict,
          "\(State.name(of: entity)) was changed by revision \(found), not last by \(expected); "
            + "look at what came since", revision: found)
      default: continue
      }
    }
  }
}
