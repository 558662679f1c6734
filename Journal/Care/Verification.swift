/// What a verification found.
public struct Verification: Sendable {
  /// Something that is wrong.
  public struct Problem: Sendable, CustomStringConvertible {
    /// The first revision it concerns; nil when it concerns none.
    public let revision: Revision?
    /// The file it concerns.
    public let path: String?
    /// What is wrong, in a sentence.
    public let message: String

    /// What is wrong and where, in one line.
    public var description: String {
      JournalError(.damaged, message, revision: revision, path: path).description
    }
  }

  /// How many entries were read.
  public var entryCount = 0
  /// How many events they have.
  public var eventCount = 0
  /// How many different blobs they name.
  public var blobCount = 0
  /// How many snapshots were read; with `deep`, each was compared with its replay.
  public var snapshotCount = 0
  /// The newest entry that was read.
  public var head: Head = .empty
  /// What is wrong; empty when all is well.
  public var problems: [Problem] = []

  /// Whether nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}

extension Journal {
  /// Reads the whole journal and checks that it is what was committed: every checksum, the chain of digests,
  /// that events follow from the states before them, the links of histories, the dates, HEAD, the rules of
  /// the model, the bytes of every blob that was ever named, and the bytes of every snapshot.
  ///
  /// Commits may go on meanwhile; what is verified is the journal at the start.
  /// - Parameters:
  ///   - deep: also decodes every snapshot, and proves that it is the state that the entries before it make. Only
  ///     this finds one that was forged together with its checksums.
  ///   - progress: called now and then with the revision reached and the newest one.
  /// - Throws: ``JournalError`` when the journal is closed; what is wrong with it is in the result.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public func verify(
    deep: Bool = false, progress: (_ done: Revision, _ all: Revision) -> Void = { _, _ in }
  ) throws -> Verification {
    let expected = version
    var verifier = Verifier<State>(id: id)
    var snapshots = SnapshotVerifier<State>(chain, isDeep: deep)
    do throws(JournalError) { try snapshots.read(through: expected.revision) } catch {
      if error.code == .closed { throw error }
      verifier.note(error)
    }
    do throws(JournalError) {
      // In pieces: while the log is read it can't be closed, and `progress` may want to.
      for first in stride(from: 1, through: expected.revision, by: Self.progressStep) {
        let last = min(first + Self.progressStep - 1, expected.revision)
        try log.readAll(first...last) { entry throws(JournalError) in
          try verifier.check(entry)
          for problem in snapshots.check(
            verifier.state, verifier.result.eventCount, verifier.result.head)
          {
            verifier.note(problem)
          }
        }
        if last < expected.revision { progress(last, expected.revision) }
      }
      verifier.finish(expected)
    } catch {
      if error.code == .closed { throw error }
      verifier.note(error)
    }
    try checkBlobs(&verifier)
    verifier.result.snapshotCount = snapshots.count
    try checkMarker(expected, &verifier)
    progress(expected.revision, expected.revision)
    return verifier.result
  }

  /// How many entries are read between two calls of `progress`.
  private static var progressStep: Int { 1000 }

  private func checkBlobs(_ verifier: inout Verifier<State>) throws(JournalError) {
    for problem in try blobs.foreignNames() { verifier.note(problem) }
    for blob in verifier.blobs {
      do throws(JournalError) {
        try blobs.check(blob)
      } catch {
        // What the system lacks at the moment says nothing about the journal.
        if error.code == .closed || error.code == .outOfResources { throw error }
        verifier.note(error)
      }
    }
  }

  private func checkMarker(_ expected: Version<State>, _ verifier: inout Verifier<State>) throws {
    let mark: HeadMarker.Mark
    do throws(JournalError) {
      mark = try HeadMarker.read(folder, id: id)
    } catch {
      verifier.note(error)
      return
    }
    // HEAD may lag behind the log after a crash, as long as it names an entry that is there. One that names
    // a newer entry comes from commits that went on meanwhile.
    guard mark.revision <= expected.revision else { return }
    do throws(JournalError) {
      guard try Replay<State>(log: log, id: id).head(at: mark.revision).digest != mark.digest else { return }
      verifier.note(
        JournalError(
          .damaged, "HEAD names another entry \(mark.revision) than the log has", revision: mark.revision,
          path: folder.head))
    } catch {
      // That the entry can't be read was noted before.
    }
  }
}

/// Goes through the entries in order and notes what does not fit.
private struct Verifier<State: EventSourced> {
  let id: JournalID
  var result = Verification()
  private(set) var blobs: Set<Blob> = []
  private(set) var state = State()

  init(id: JournalID) { self.id = id }

  mutating func note(_ error: JournalError) {
    result.problems.append(
      Verification.Problem(
        revision: error.revision, path: error.path,
        message: error.message + (error.cause.map { ": \($0)" } ?? "")))
  }

  /// - Throws: ``JournalError`` when nothing after this entry can be checked.
  mutating func check(_ entry: EntryDecoder) throws(JournalError) {
    let header = try entry.header()
    let revision = entry.revision
    if header.previousDigest != result.head.digest {
      note(JournalError(.damaged, "the chain of digests is broken before this entry", revision: revision))
    }
    if revision > 1, header.date < result.head.timestamp {
      note(
        JournalError(.damaged, "the entry's date is before that of the entry before it", revision: revision))
    }
    var events = try entry.events()
    while let event = try events.next() {
      if event.previous != state.revision(of: event.entity) {
        note(
          JournalError(
            .damaged,
            "the event of \(State.name(of: event.entity)) names \(event.previous) as the one before it, "
              + "which is \(state.revision(of: event.entity))", revision: revision))
      }
      try state.apply(event, at: revision)
      result.eventCount += 1
      if case .delete = event.change { continue }
      if let record = state.record(of: event.entity) {
        blobs.formUnion(State.blobs(in: record, of: event.entity.kind))
      }
    }
    result.entryCount += 1
    result.head = Head(revision: revision, timestamp: header.date, digest: try entry.digest(journal: id))
  }

  mutating func finish(_ expected: Version<State>) {
    result.blobCount = blobs.count
    if result.head != expected.head {
      note(
        JournalError(
          .damaged, "the newest entry is not the one that was committed", revision: expected.revision))
    }
    for problem in state.problems() {
      note(JournalError(.damaged, "the state breaks a rule: \(problem)", revision: expected.revision))
    }
  }
}
