import Files
public import Foundation
public import Journaling
import SharedJournals

extension Journal {
  /// Finds all problems of a journal, even of one that does not open, without changing anything.
  ///
  /// If the journal opens, it is verified deeply. Otherwise each file is examined separately. For a node of a shared
  /// journal, the server is also asked for the entries that the node has not seen, and for each image that it has not
  /// fetched.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - options: the options for opening the journal. The history of a shared journal is compared with its server's.
  ///   - progress: called regularly with the revision that was reached and the newest revision.
  /// - Throws: ``JournalError`` if the journal can't be examined: `notFound`, `notAJournal`, `locked` while another
  ///   process writes to it, `outOfResources`.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public static func diagnose(
    _ url: URL, options: JournalOptions = JournalOptions(),
    progress: (_ done: Revision, _ all: Revision) -> Void = { _, _ in }
  ) throws -> JournalHealth {
    let source = try SalvageSource(url, options.logStorage)
    let folder = source.folder
    if try folder.root.status(of: "FORMAT") == nil, try folder.root.status(of: "entries") == nil {
      throw JournalError(.notAJournal, "this is not a journal", path: folder.path)
    }
    let lastInFiles = try source.log.lastRevision()
    var found = JournalHealth(head: nil, lastRevision: max(source.knownRevision ?? 0, lastInFiles))
    found.opens = false
    do throws(JournalError) {
      try folder.check(JournalOptions())
      for name in try folder.foreignNames(options.logStorage) { found.add(name.error, in: folder, as: .note) }
    } catch { found.add(error, in: folder) }
    do {
      var readOptions = options
      readOptions.layers = .manual
      let journal = try open(at: url, mode: .readOnly, options: readOptions)
      defer { try? journal.close() }
      found.opens = true
      // Problems of the log's folder are left out, because the verification reads the log and finds out more.
      for problem in source.problems where problem.path?.hasSuffix("/entries") != true {
        found.add(problem, in: folder)
      }
      var health = try journal.verify(.deep, progress: progress)
      health.lastRevision = max(health.lastRevision, source.knownRevision ?? 0)
      if lastInFiles > journal.head.revision {
        health.add(
          JournalError(
            .damaged,
            "files that are not part of the log any more have entries up to \(lastInFiles), and the log ends with entry "
              + "\(journal.head.revision): an older copy of some files was put here",
            revision: journal.head.revision + 1, path: folder.entries), in: folder)
      }
      for problem in found.problems.reversed() where !health.has(problem.message, problem.path) {
        health.problems.insert(problem, at: 0)
      }
      // Assigned before the steps that can fail, so that the report keeps what the verification found.
      found = health
      try found.noteLeftovers(of: journal)
      try found.noteShared(journal)
      return found.withDamageFirst
    } catch let error as JournalError {
      guard ![.outOfResources, .permission, .locked, .closed].contains(error.code) else { throw error }
      if let advice = JournalHealth.adviceForForeign(error) {
        // Files of an unknown format can't be examined. But if FORMAT was altered, the entries may still be provable.
        try? found.note(provable: source, State.self, progress)
        found.problems = []
        found.note(
          JournalError(.damaged, error.message, path: error.path), .note,
          found.checkedRevision == 0
            ? advice : advice + " If FORMAT was altered, restore it from a backup, or use salvage.")
        return found
      }
      // A missing file is reported only once, by the error of `open`.
      for problem in source.problems where problem.path != error.path || !problem.isOfMissingFile {
        found.add(problem, in: folder)
      }
      found.add(error, in: folder)
      try found.note(provable: source, State.self, progress)
      return found.withDamageFirst
    }
  }
}

extension JournalHealth {
  fileprivate func has(_ message: String, _ path: String?) -> Bool {
    problems.contains { $0.message == message && $0.path == path }
  }

  /// Adds a problem unless an earlier step has found it.
  fileprivate mutating func add(
    _ error: JournalError, in folder: JournalFolder, as severity: Problem.Severity? = nil
  ) {
    let message = JournalError(error.code, error.message, cause: error.cause).description
    if has(message, error.path) { return }
    if let severity { return note(error, in: folder, as: severity) }
    // Without a given severity, the problem may be why the journal does not open, so it is damage wherever it is.
    let place = error.code == .notAJournal ? .folder : ProblemPlace(of: error, in: folder)
    note(error, .damage, place.advice)
  }

  fileprivate var withDamageFirst: JournalHealth {
    var health = self
    health.problems = problems.filter(\.isDamage) + problems.filter { !$0.isDamage }
    return health
  }

  /// What to do about a journal of another version of this program, or of another app; nil for any other error.
  fileprivate static func adviceForForeign(_ error: JournalError) -> String? {
    switch error.code {
    case .newerFormat: "Use a newer version of this program."
    case .olderFormat: "Use the version of this program that wrote it."
    case .otherModel: "Use the app that wrote it."
    default: nil
    }
  }

  /// Adds notes about images that no entry names, files without a footer, and an interrupted erasure or pruning.
  fileprivate mutating func noteLeftovers<State: EventSourced>(of journal: Journal<State>) throws {
    let (count, byteCount) = try journal.unnamedImages()
    if count > 0 {
      let images = count == 1 ? "an image" : "\(count) images"
      note(
        JournalError(
          .notFound, "no entry names \(images) of \(byteCount) bytes", path: journal.folder.images),
        .note, "gc removes them.")
    }
    for file in try journal.folder.filesWithoutFooter() { note(file, .note, "Remove the file.") }
    guard let path = try journal.folder.replacementRecordPath(),
      !problems.contains(where: { $0.path == path })
    else { return }
    note(
      JournalError(.damaged, "an erasure or a pruning was interrupted", path: path), in: journal.folder,
      as: .note)
  }

  fileprivate mutating func noteShared<State: EventSourced>(_ journal: Journal<State>) throws {
    guard var sharing = try journal.sharingStatus() else { return }
    if sharing.problem == nil, sharing.missingCount ?? 0 > 0 {
      do { try journal.checkUnseenEntries() } catch let error as JournalError {
        sharing.problem = error
        sharing.isBeforeErasure = error.code == .diverged
      }
    }
    self.sharing = sharing
    func note(
      _ severity: Problem.Severity, _ message: String, _ advice: String, code: JournalError.Code = .damaged,
      revision: Revision? = nil
    ) {
      self.note(
        JournalError(code, message, revision: revision, path: sharing.address), severity, advice)
    }
    if let problem = sharing.problem {
      let isDamage = [JournalError.Code.diverged, .damaged, .notFound].contains(problem.code)
      note(
        isDamage ? .damage : .note, problem.message, Self.advice(for: sharing, problem), code: problem.code,
        revision: problem.revision)
    } else if let count = sharing.missingCount, count > 0 {
      note(
        .note, "this node has not seen \(count == 1 ? "1 entry" : "\(count) entries") of the shared log yet",
        "Open the journal for writing, or run join, to fetch what is new.")
    }
    if let warning = sharing.warning {
      note(
        .note, warning, "Start the standbys that the server is set to wait for, or change that setting.")
    }
    if sharing.problem != nil { return }
    do throws(JournalError) {
      let missing = try journal.missing(unfetchedBlobs)
      guard missing.count > 0 else { return }
      let images = missing.count == 1 ? "an image" : "\(missing.count) images"
      note(
        .damage, "the bytes of \(images) are neither on this node nor on the server",
        "Name the place of the shared images if there is one. Otherwise add the same images again.")
    } catch {
      note(
        .note, "whether the server has all images is not known: \(error.message)",
        "Run doctor again when the server can be reached.", code: error.code)
    }
  }

  private static func advice(for sharing: SharingStatus, _ problem: JournalError) -> String {
    switch problem.code {
    case .diverged where sharing.isBeforeErasure: "Remove the folder, and run join."
    case .diverged:
      "Restore the server from its newest backup, or keep what this node has with unshare --force."
    case .damaged, .notFound:
      "Restore the server from its newest backup. Without one, run unshare --force on the node with the newest entries, "
        + "delete this journal's rows from journal_entries and journal_logs, and run share."
    case .unreachable: "Reading needs no server; make sure that it can be reached before you commit."
    default: adviceForForeign(problem) ?? "Reading needs no server; commits fail until this is solved."
    }
  }

  /// Proves as many entries as possible of a journal that does not open, and adds the problem that ends the proof.
  fileprivate mutating func note<State: EventSourced>(
    provable source: SalvageSource, _ model: State.Type, _ progress: (Revision, Revision) -> Void
  ) throws {
    do throws(JournalError) {
      var history = try ProvableHistory([source], model)
      while try history.next() != nil {
        if history.head.revision % 1000 == 0 { progress(history.head.revision, lastRevision) }
      }
      (head, checkedRevision) = (history.head, history.head.revision)
      if let end = history.end, !history.isWhole { add(end, in: source.folder) }
    } catch {
      guard error.code == .damaged else { throw error }
      add(error, in: source.folder)
    }
  }
}

extension JournalError {
  /// Whether the error only says that a file is missing.
  fileprivate var isOfMissingFile: Bool {
    code == .notFound || (cause as? JournalError)?.code == .notFound
  }
}

extension JournalFolder {
  /// The path of the record of an unfinished erasure or pruning; nil if there is none.
  fileprivate func replacementRecordPath() throws(JournalError) -> String? {
    let name = ReplacementRecord.fileName
    return try root.status(of: name) == nil ? nil : root.path(of: name)
  }
}
