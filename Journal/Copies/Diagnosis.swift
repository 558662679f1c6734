import Files
public import Foundation

/// The problems of a journal, and what to do about them.
public struct Diagnosis: Sendable {
  /// A problem, or something left over.
  public struct Finding: Sendable, CustomStringConvertible {
    /// Whether a part of the journal is missing or altered. Leftovers and problems that cost only time are not damage.
    public let isDamage: Bool
    /// The problem, in a sentence.
    public let message: String
    /// What to do about it, in a sentence.
    public let advice: String
    /// The first revision concerned.
    public let revision: Revision?
    /// The file or folder concerned.
    public let path: String?

    /// What is wrong and where, in one line.
    public var description: String {
      JournalError(.damaged, message, revision: revision, path: path).description
    }
  }

  /// The findings, damage first.
  public internal(set) var findings: [Finding] = []
  /// Entries 1 to this one can be read and are proven by their digests.
  public internal(set) var provenRevision: Revision = 0
  /// The highest revision that was acknowledged or of which anything is left.
  public internal(set) var lastRevision: Revision = 0
  /// Whether the journal can be opened as it is.
  public internal(set) var opens = false
  /// Where the shared log is, and how far behind this node is; nil for a local journal, and if the journal does not open.
  public internal(set) var sharing: SharingStatus?
  /// How many images this node of a shared journal has not fetched. They were not read.
  public internal(set) var unfetchedBlobCount = 0

  /// Whether nothing of the journal is missing or altered.
  public var isSound: Bool { opens && !findings.contains(where: \.isDamage) }
}

extension Journal {
  /// Finds all problems of a journal, without changing anything.
  ///
  /// A journal that opens is verified deeply. Otherwise each file is examined separately. A node of a shared journal also
  /// asks the server for the entries that it has not seen, and for each image that it has not fetched.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - options: the options for a shared journal, whose history is compared with the server's.
  ///   - progress: called regularly with the revision reached and the newest one.
  /// - Throws: ``JournalError`` if the journal can't be examined: `notFound`, `notAJournal`, `locked` while another
  ///   process writes to it, `outOfResources`.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public static func diagnose(
    _ url: URL, options: JournalOptions = JournalOptions(),
    progress: (_ done: Revision, _ all: Revision) -> Void = { _, _ in }
  ) throws -> Diagnosis {
    let source = try SalvageSource(url, options.logStorage)
    let root = source.folder.root
    if try root.status(of: "FORMAT") == nil, try root.status(of: "entries") == nil {
      throw JournalError(.notAJournal, "this is not a journal", path: source.folder.path)
    }
    var diagnosis = Diagnosis()
    diagnosis.lastRevision = max(source.knownRevision ?? 0, try source.log.lastRevision())
    do throws(JournalError) {
      try source.folder.check(JournalOptions())
      for name in try source.folder.foreignNames(options.logStorage) { diagnosis.note(name.error, .foreign) }
    } catch { diagnosis.note(error, .folder) }
    do {
      var readOptions = options
      readOptions.layers = .manual
      let journal = try open(at: url, mode: .readOnly, options: readOptions)
      defer { try? journal.close() }
      diagnosis.opens = true
      diagnosis.provenRevision = journal.head.revision
      diagnosis.lastRevision = max(journal.head.revision, source.knownRevision ?? 0)
      diagnosis.note(source.problems)
      let verification = try journal.verify(deep: true, progress: progress)
      try diagnosis.note(verification, of: journal)
      diagnosis.note(leftovers: try journal.unnamedImages(), of: journal)
      diagnosis.unfetchedBlobCount = verification.unfetchedBlobCount
      try diagnosis.noteShared(journal, verification)
      try diagnosis.noteReplacement(in: root)
    } catch let error as JournalError {
      guard ![.outOfResources, .permission, .locked, .closed].contains(error.code) else { throw error }
      if let advice = Diagnosis.adviceForForeign(error) {
        // Nothing else can be said of what is not understood. An altered FORMAT can look the same; the entries are then
        // proven nevertheless.
        try? diagnosis.note(provable: source, State.self, progress)
        diagnosis.findings = [
          Diagnosis.Finding(
            isDamage: false, message: error.message,
            advice: diagnosis.provenRevision == 0
              ? advice : advice + " If FORMAT was altered, restore it from a backup, or use salvage.",
            revision: nil, path: error.path)
        ]
        return diagnosis
      }
      // What is missing is reported once, in the words of the opening.
      diagnosis.note(source.problems.filter { $0.path != error.path || !$0.isOfMissingFile })
      diagnosis.note(error, Diagnosis.place(of: error))
      try diagnosis.note(provable: source, State.self, progress)
    }
    diagnosis.sort()
    return diagnosis
  }
}

extension Diagnosis {
  /// What to do about a journal that another program wrote.
  fileprivate static func adviceForForeign(_ error: JournalError) -> String? {
    switch error.code {
    case .newerFormat: "Use a newer version of this program."
    case .olderFormat: "Use the version of this program that wrote it."
    case .otherModel: "Use the app that wrote it."
    default: nil
    }
  }

  fileprivate enum Place {
    case folder
    case foreign
    case log
    case base
    case image
    case snapshot
    case receipt
    /// The record of an unfinished erasure or pruning.
    case replacement
    /// Such a record of a newer version.
    case newer

    var advice: String {
      switch self {
      case .folder: "Move foreign files elsewhere, and restore missing ones from a backup."
      case .foreign: "The journal neither reads nor changes it. Move it elsewhere, or let it stay."
      case .log:
        "Restore the journal from a backup. Without one, salvage makes a journal from everything that can be proven, "
          + "also from several damaged copies."
      case .base:
        "Restore the file BASE from a backup of the pruned journal, or make a journal with salvage from this one and "
          + "such a backup."
      case .image:
        "Restore the file from a backup, or add the same image again. Without its bytes, erase the image: a journal that "
          + "lacks one can't be backed up."
      case .snapshot:
        "This costs time, but no data. The journal replaces a layer automatically; snapshot drop removes a snapshot."
      case .receipt: "Make the backup again."
      case .replacement:
        "Open the journal for writing, for example with gc, which finishes the work. If that fails, remove the file first."
      case .newer: "Use a newer version of this program."
      }
    }
  }

  fileprivate mutating func note(_ error: JournalError, _ place: Place, isDamage: Bool = true) {
    let message = JournalError(error.code, error.message, cause: error.cause).description
    guard !findings.contains(where: { $0.message == message && $0.path == error.path }) else { return }
    findings.append(
      Finding(
        isDamage: isDamage && place != .snapshot && place != .foreign, message: message,
        advice: place.advice, revision: error.revision, path: error.path))
  }

  /// Notes the problems of the shared log. An unreachable server is not damage.
  fileprivate mutating func noteShared<State: EventSourced>(
    _ journal: Journal<State>, _ verification: Verification
  ) throws {
    guard var sharing = try journal.sharing() else { return }
    if sharing.problem == nil, sharing.missingCount ?? 0 > 0 {
      do { try journal.checkUnseenEntries() } catch let error as JournalError {
        sharing.problem = error
        sharing.isBeforeErasure = error.code == .diverged
      }
    }
    self.sharing = sharing
    note(sharing)
    if sharing.problem != nil { return }
    do throws(JournalError) {
      let missing = try journal.missing(verification.unfetchedBlobs)
      guard missing.count > 0 else { return }
      let images = missing.count == 1 ? "an image" : "\(missing.count) images"
      findings.append(
        Finding(
          isDamage: true, message: "the bytes of \(images) are neither on this node nor on the server",
          advice: "Name the place of the shared images if there is one. Otherwise add the same images again.",
          revision: nil, path: sharing.address))
    } catch {
      findings.append(
        Finding(
          isDamage: false, message: "whether the server has all images is not known: \(error.message)",
          advice: "Run doctor again when the server can be reached.", revision: nil, path: sharing.address))
    }
  }

  /// What to do about a problem of the shared log.
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

  private mutating func note(_ sharing: SharingStatus) {
    if let problem = sharing.problem {
      findings.append(
        Finding(
          isDamage: [.diverged, .damaged, .notFound].contains(problem.code), message: problem.message,
          advice: Self.advice(for: sharing, problem), revision: problem.revision, path: sharing.address))
    } else if let count = sharing.missingCount, count > 0 {
      let missing = count == 1 ? "1 entry" : "\(count) entries"
      findings.append(
        Finding(
          isDamage: false, message: "this node has not seen \(missing) of the shared log yet",
          advice: "Open the journal for writing, or run join, to fetch what is new.", revision: nil,
          path: sharing.address))
    }
    if let warning = sharing.warning {
      findings.append(
        Finding(
          isDamage: false, message: warning,
          advice: "Start the standbys that the server is set to wait for, or change that setting.",
          revision: nil, path: sharing.address))
    }
  }

  /// Notes the problems of files. Reading the log reveals more.
  fileprivate mutating func note(_ problems: [JournalError]) {
    for problem in problems where !opens || problem.path?.hasSuffix("/entries") != true {
      note(problem, Self.place(of: problem))
    }
  }

  /// What an error of reading the journal's files concerns. A foreign file in the log's folder is to be moved, and
  /// nothing to be restored.
  fileprivate static func place(of error: JournalError) -> Place {
    if error.code == .notAJournal { return .folder }
    return error.path?.hasSuffix(HistoryBase.fileName) == true ? .base : .log
  }

  fileprivate mutating func note<State: EventSourced>(
    _ verification: Verification, of journal: Journal<State>
  ) throws {
    for problem in verification.problems {
      let path = problem.path ?? ""
      let place: Place =
        if path.hasSuffix(ReplacementRecord.fileName) {
          problem.code == .newerFormat ? .newer : .replacement
        } else if problem.isForeign {
          .foreign
        } else if path.hasSuffix(HistoryBase.fileName) {
          .base
        } else if path.hasPrefix(journal.folder.images) {
          .image
        } else if !problem.isDamage {
          .snapshot
        } else {
          path.hasSuffix(JournalReceipt.fileName) ? .receipt : .log
        }
      note(
        JournalError(.damaged, problem.message, revision: problem.revision, path: problem.path), place,
        isDamage: problem.isDamage)
    }
  }

  /// Notes a record that a crash has left. The verification has found one that was brought back.
  fileprivate mutating func noteReplacement(in root: Folder) throws(JournalError) {
    let path = root.path(of: ReplacementRecord.fileName)
    guard try root.status(of: ReplacementRecord.fileName) != nil,
      !findings.contains(where: { $0.path == path })
    else { return }
    note(
      JournalError(.damaged, "an erasure or a pruning was interrupted", path: path), .replacement,
      isDamage: false)
  }

  fileprivate mutating func note<State: EventSourced>(
    leftovers names: (count: Int, byteCount: Int), of journal: Journal<State>
  ) {
    guard names.count > 0 else { return }
    findings.append(
      Finding(
        isDamage: false,
        message:
          "no entry names \(names.count == 1 ? "an image" : "\(names.count) images") of \(names.byteCount) bytes",
        advice: "gc removes them.", revision: nil, path: journal.folder.images))
  }

  /// Notes how much can be proven of a journal that does not open.
  fileprivate mutating func note<State: EventSourced>(
    provable source: SalvageSource, _ model: State.Type, _ progress: (Revision, Revision) -> Void
  ) throws {
    do throws(JournalError) {
      var history = try ProvableHistory([source], model)
      while try history.next() != nil {
        if history.head.revision % 1000 == 0 { progress(history.head.revision, lastRevision) }
      }
      provenRevision = history.head.revision
      if let end = history.end, !history.isWhole { note(end, .log) }
    } catch {
      guard error.code == .damaged else { throw error }
      note(error, .log)
    }
  }

  fileprivate mutating func sort() {
    findings = findings.filter(\.isDamage) + findings.filter { !$0.isDamage }
  }
}

extension JournalError {
  /// Whether it only says that a file can't be opened because it is missing.
  fileprivate var isOfMissingFile: Bool {
    code == .notFound || (cause as? JournalError)?.code == .notFound
  }
}
