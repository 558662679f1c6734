import CatalogModel
import Foundation

/// Imports the commits of a first-parent line into a journal, each as one entry.
struct GitImport {
  let repository: GitRepository
  let tip: String
  /// The form of import, as the metadata of entries name it.
  let source: String
  let journal: CatalogJournal
  let dates: Dates
  let report: ImportReport
  let terminal: Terminal

  /// Which date of a commit orders its entry.
  enum Dates: String, CaseIterable {
    case commit, author
  }

  struct ImportedCommit {
    let commit: String
    let source: String?
    /// The revision of the commit's entry; nil if no entry names the commit any more.
    let revision: Revision?
  }

  /// The author, note and metadata of an entry may have 1 MiB together.
  private static let noteByteLimit = 1_000_000
  private static let authorByteLimit = 4_096

  enum Key {
    static let commit = "git.commit"
    /// The commit's own date, if the date of another commit orders the entry.
    static let date = "git.date"
    static let authored = "git.authored"
    static let committed = "git.committed"
    static let source = "import.source"
    /// The origin of a journal that was copied without its history, in its first entry.
    static let copy = "journal.copyOf"
  }

  /// Finds the newest commit that was imported; nil if there is none.
  /// - Parameter given: the commit that the user names with `--after`.
  /// - Throws: ``Failure`` if `given` is not the newest imported commit; or if `given` is nil and the journal may have
  ///   lost the name of that commit, because the import would then repeat commits.
  /// - Complexity: O(n) in the number of entries after that of the commit.
  func newestImportedCommit(given: String?) throws -> ImportedCommit? {
    var loss: String?
    var known: ImportedCommit?
    let cursor = journal.entries(newestFirst: true)
    while known == nil, let entry = try cursor.next() {
      if let commit = entry.metadata[Key.commit] {
        known = ImportedCommit(commit: commit, source: entry.metadata[Key.source], revision: entry.revision)
      } else if entry.isAnnotationErased, loss == nil {
        loss = "the metadata of revision \(entry.revision) were erased"
      } else if entry.metadata[Key.copy] != nil, loss == nil {
        loss = "the journal was copied without its history"
      }
    }
    if known == nil, loss == nil, let base = journal.base {
      loss = "history up to revision \(base.revision) was pruned"
    }
    guard let loss else {
      if let given, given != known?.commit {
        let newest = known.map { "the newest imported commit is \($0.commit)" } ?? "no commit was imported"
        throw Failure.wrongUse(
          "\(newest), so the import can't continue after \(given); leave --after out, or import into a new "
            + "journal")
      }
      return known
    }
    if let given { return ImportedCommit(commit: given, source: source, revision: nil) }
    let older = known.map { ", which is \($0.commit) or a later one" } ?? ""
    throw Failure.wrongUse(
      "\(loss), so the journal may no longer name the newest commit that was imported\(older); name it with "
        + "--after COMMIT, or import into a new journal")
  }

  /// The committers' dates of the commits that are left to import, newest first.
  /// - Throws: ``Failure`` if this import can't continue after the newest imported commit.
  private func remaining(after newest: ImportedCommit?) throws -> [GitDate] {
    if let newest, newest.source != source {
      throw Failure.wrongUse(
        "the journal was imported as \"\(newest.source ?? "unknown")\", and this import would continue as "
          + "\"\(source)\"; use the same options, or another journal")
    }
    // A shallow clone that has the newest imported commit has all later commits too.
    if newest == nil { try repository.checkIsWhole() }
    guard let dates = try repository.committerDates(to: tip, after: newest?.commit) else {
      try repository.checkIsWhole()
      let place = newest?.revision.map { " (revision \($0))" } ?? ""
      throw Failure.wrongUse(
        "the newest imported commit \(newest?.commit ?? "")\(place) is "
          + "not on this branch's first-parent line; name its branch with --branch, or import into a new journal"
      )
    }
    return dates
  }

  /// Thrown if another node has imported commits meanwhile.
  private struct OtherImport: Error {}

  /// Imports the commits after the newest imported one. If another node of a shared journal imports some of them at the
  /// same time, continues after those.
  /// - Parameters:
  ///   - given: the commit that the user names with `--after`.
  ///   - makeImporter: makes an importer that continues after a commit, or begins with the first commit if it gets nil.
  func run(given: String?, _ makeImporter: (_ after: String?) throws -> any CommitImporter) throws {
    let clock = ContinuousClock()
    let start = clock.now
    var total: Int?
    while true {
      let head = journal.head
      let newest = try newestImportedCommit(given: given)
      let remaining = try remaining(after: newest)
      let all = total ?? remaining.count
      total = all
      report.restart(commits: all - remaining.count)
      do {
        try run(after: newest?.commit, remaining, on: head, try makeImporter(newest?.commit)) {
          let seconds = max(0.001, (clock.now - start) / .seconds(1))
          return "importing: \(report.commits.grouped) of \(all.grouped) commits, "
            + "\(Int(Double(report.commits) / seconds).grouped)/s"
        }
        return terminal.progress.clear()
      } catch is OtherImport {
        try journal.catchUp()
      }
    }
  }

  /// - Parameters:
  ///   - committed: the committers' dates of the commits to import, newest first.
  ///   - head: the journal's head before the importer was made.
  private func run(
    after newest: String?, _ committed: [GitDate], on head: Head, _ importer: consuming some CommitImporter,
    _ progress: () -> String
  ) throws {
    var reading = GitImportReading(log: try GitLog(repository, to: tip, after: newest), importer: importer)
    var latest = head.revision == 0 ? nil : head.date
    var newestRevision = head.revision
    // The earliest date of a commit and all later ones. Entries with these dates are in order, so the state as of a
    // date is that of the newest commit that is not later, as git rev-list --first-parent --before finds it.
    var earliest: Timestamp?
    var order = committed.map { date in
      earliest = [earliest, date.timestamp].compactMap(\.self).min()
      return earliest
    }
    try journal.withPipeline { pipeline in
      while let (commit, change) = try reading.next() {
        let ordered = order.popLast() ?? nil
        if let change {
          let stamp = dates == .author ? commit.authored.timestamp : ordered
          let date = stamp?.date ?? latest ?? Date(timeIntervalSince1970: 0)
          let metadata = metadata(of: commit, orderedAt: max(latest ?? date, date))
          let author = shortened(commit.author, "author", of: commit, to: Self.authorByteLimit)
          let note = shortened(commit.message, "message", of: commit, to: Self.noteByteLimit)
          var hasRun = false
          let made: Commit<Set<EntityKey>>
          do {
            made = try pipeline.commit(by: author, note: note, metadata: metadata, date: date) { draft in
              // If another node took the revision, the body runs again, and the importer must forget its first run.
              if hasRun || draft.revision > newestRevision + 1 {
                for revision in newestRevision + 1..<draft.revision
                where try journal.entry(at: revision).metadata[Key.commit] != nil {
                  throw OtherImport()
                }
                try reading.importer.start(from: draft.state)
              }
              hasRun = true
              let touched = try reading.importer.apply(change, of: commit, to: &draft)
              return touched.filter { draft.state.revision(of: $0) == draft.revision }
            }
          } catch let error as JournalError where error.code == .rejected {
            throw Failure.no(
              "the import stopped before commit \(commit.hash), which the journal refuses: \(error.message); everything "
                + "before it is imported; run it again after changing the journal")
          }
          newestRevision = made.revision
          if !made.isEmpty {
            latest = max(latest ?? date, date)
            report.count(made.value)
          }
        }
        report.finish(commit.hash)
        terminal.progress.show(progress)
      }
    }
  }

  /// - Parameter ordered: the date that the entry gets.
  private func metadata(of commit: GitCommit, orderedAt ordered: Date) -> [String: String] {
    let (own, other) =
      dates == .author ? (commit.authored, commit.committed) : (commit.committed, commit.authored)
    var metadata = [Key.commit: commit.hash, Key.source: source]
    metadata[dates == .author ? Key.committed : Key.authored] = other.description
    if own.timestamp?.date != ordered { metadata[Key.date] = own.description }
    for (name, date) in [("author", commit.authored), ("commit", commit.committed)]
    where date.timestamp == nil {
      report.note(
        commit.hash,
        date.text.isEmpty
          ? "it has no \(name) date"
          : "its \(name) date is \"\(date.text)\", and a journal has dates of the years 1 to 9999; the metadata keep "
            + "it as it is", isLoss: false)
    }
    return metadata
  }

  /// The longest prefix of whole scalars with at most `byteLimit` bytes. Reports the commit if the text is cut.
  private func shortened(_ text: String, _ name: String, of commit: GitCommit, to byteLimit: Int) -> String {
    let count = text.utf8.count
    guard count > byteLimit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: byteLimit)
    while end.samePosition(in: text.unicodeScalars) == nil { text.utf8.formIndex(before: &end) }
    let kept = String(text[..<end])
    report.note(
      commit.hash,
      "its \(name) has \(count.counted("byte")), and the entry has the first \(kept.utf8.count.grouped)")
    return kept
  }
}

/// Reads commits ahead, requests their contents, and prepares some of them.
private struct GitImportReading<Importer: CommitImporter> {
  let log: GitLog
  var importer: Importer
  var asked: [GitCommit] = []
  var prepared: [(GitCommit, Importer.Change?)] = []
  var isAtEnd = false

  mutating func next() throws -> (GitCommit, Importer.Change?)? {
    while prepared.count < importer.preparedLimit {
      while !isAtEnd, asked.count < 64 {
        guard let commit = try log.next() else {
          isAtEnd = true
          break
        }
        try importer.willImport(commit)
        asked.append(commit)
      }
      if asked.isEmpty { break }
      let commit = asked.removeFirst()
      prepared.append((commit, try importer.prepare(commit)))
    }
    return prepared.isEmpty ? nil : prepared.removeFirst()
  }
}

/// A form of import, which turns what commits did to files into changes of a catalog.
protocol CommitImporter {
  /// The changes of a commit, with everything that had to be read from git.
  associatedtype Change

  /// The number of commits that may be prepared before the first of them is applied.
  var preparedLimit: Int { get }

  /// Looks up what earlier commits have made. Called again if another node has changed the journal.
  mutating func start(from catalog: Catalog) throws

  /// Requests the contents that a commit needs. Called for commits in order.
  func willImport(_ commit: GitCommit) throws

  /// Makes the changes of a commit; nil if it changes nothing. Called for commits in order.
  mutating func prepare(_ commit: GitCommit) throws -> Change?

  /// Applies the changes of a commit. Returns the entities that may have changed.
  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>
  ) throws -> Set<EntityKey>
}
