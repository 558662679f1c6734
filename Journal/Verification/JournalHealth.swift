import Files

/// Whether a journal is sound, as far as it was read: by the background check of an open journal (``Journal/health``), or
/// by `verify` or `diagnose` of the module JournalMaintenance.
public struct JournalHealth: Sendable {
  /// A problem, or a leftover file.
  public struct Problem: Sendable, CustomStringConvertible {
    /// What a problem costs.
    public enum Severity: Sendable {
      /// A part of the journal is missing or altered.
      case damage
      /// A layer or a snapshot is missing or altered, which costs time, but no data.
      case delay
      /// The journal is not affected: a file of another program, a leftover file, or an unreachable server.
      case note
    }

    /// The kind of error, usually `damaged`. With `io`, the drive could not read a file; a later attempt may succeed.
    public let code: JournalError.Code
    /// What is wrong, in a sentence.
    public let message: String
    /// What to do about it, in a sentence.
    public let advice: String
    /// The first revision concerned; nil if there is none.
    public let revision: Revision?
    /// The file or folder concerned; nil if there is none.
    public let path: String?
    /// What the problem costs.
    public let severity: Severity

    /// Whether a part of the journal is missing or altered.
    public var isDamage: Bool { severity == .damage }

    /// What is wrong and where, in one line.
    public var description: String { error.description }

    package var error: JournalError { JournalError(code, message, revision: revision, path: path) }
  }

  /// The problems in the order in which they were found. In a diagnosis, damage comes first.
  public package(set) var problems: [Problem] = []
  /// Whether the journal can be opened as it is.
  public package(set) var opens = true
  /// The last entry that was read. The chain of digests proves that the entries before ``damage`` are intact.
  public package(set) var checkedRevision: Revision
  /// The newest revision: of an open journal, as of its opening or the start of the verification; in a diagnosis, the
  /// highest revision that was acknowledged or has left a trace.
  public package(set) var lastRevision: Revision
  /// The newest entry whose digest was computed; in ``Journal/health``, the newest entry at the opening. Nil in a
  /// diagnosis that found no readable entry.
  public package(set) var head: Head?
  /// The entry up to which history was pruned; nil if it was not.
  public package(set) var base: Head?
  /// Whether an entry that was read has the digest of the state that a pruned history begins with. The entry of the
  /// pruning has it, or another one in a copy that ends before that entry. What was salvaged from a damaged journal may
  /// end before any such entry.
  public package(set) var isBaseProven = false
  /// How many entries were read. This and the following counts are 0 in ``Journal/health``.
  public package(set) var entryCount = 0
  /// How many events they have.
  public package(set) var eventCount = 0
  /// How many events were erased.
  public package(set) var erasedEventCount = 0
  /// How many different blobs they name.
  public package(set) var blobCount = 0
  /// How many of these this node of a shared journal has not fetched. They were not read.
  public var unfetchedBlobCount: Int { unfetchedBlobs.count }
  /// How many checkpoints were compared with the states that the entries make; with `deep`, all that this version of
  /// the model wrote.
  public package(set) var checkpointCount = 0
  /// How many layers were read; with `deep`, each was compared with its replay.
  public package(set) var layerCount = 0
  /// How many snapshots were read; with `deep`, each was compared with its replay.
  public package(set) var snapshotCount = 0
  /// Where the shared log is, and how far behind this node is; nil for a local journal, and outside of a diagnosis.
  package var sharing: SharingStatus?

  package var unfetchedBlobs: [Blob] = []
  var isBaseChecked = true

  package init(head: Head?, lastRevision: Revision) {
    self.head = head
    self.lastRevision = lastRevision
    checkedRevision = head?.revision ?? 0
  }

  /// Whether the whole journal was read, and nothing is missing or altered, including layers and snapshots.
  public var isSound: Bool {
    opens && isBaseChecked && checkedRevision == lastRevision && problems.allSatisfy { $0.severity == .note }
  }

  /// Whether the journal can't be opened, or any part other than layers and snapshots is missing or altered.
  public var isDamaged: Bool { !opens || problems.contains(where: \.isDamage) }

  /// The damage with the lowest revision; nil if none was found.
  public var damage: JournalError? {
    problems.filter(\.isDamage).min { $0.revision ?? .max < $1.revision ?? .max }?.error
  }

  package var layerProblems: [Problem] { problems.filter { $0.severity == .delay } }

  package mutating func note(
    _ error: JournalError, in folder: JournalFolder, as severity: Problem.Severity? = nil
  ) {
    var place = ProblemPlace(of: error, in: folder)
    if severity == .note, error.code == .notAJournal, place != .replacement { place = .foreign }
    note(error, severity ?? (place == .layer ? .delay : .damage), place.advice)
  }

  package mutating func note(_ error: JournalError, _ severity: Problem.Severity, _ advice: String) {
    problems.append(
      Problem(
        code: error.code, message: JournalError(error.code, error.message, cause: error.cause).description,
        advice: advice, revision: error.revision, path: error.path, severity: severity))
  }
}

/// The part of a journal that a problem concerns. It decides the advice.
package enum ProblemPlace {
  case folder
  /// A file of another program.
  case foreign
  case log
  case base
  case image
  case layer
  case receipt
  /// The record of an unfinished erasure or pruning.
  case replacement
  /// The record of an unfinished erasure or pruning by a newer version of this library.
  case newerReplacement

  package init(of error: JournalError, in folder: JournalFolder) {
    let path = error.path ?? ""
    self =
      if path.hasSuffix(ReplacementRecord.fileName) {
        error.code == .newerFormat ? .newerReplacement : .replacement
      } else if path.hasSuffix(HistoryBase.fileName) {
        .base
      } else if path.hasPrefix(folder.images) {
        .image
      } else if path.hasPrefix(folder.snapshots) {
        .layer
      } else if path.hasSuffix(JournalReceipt.fileName) {
        .receipt
      } else {
        error.code == .notAJournal ? .folder : .log
      }
  }

  package var advice: String {
    switch self {
    case .folder: "Move foreign files elsewhere, and restore missing ones from a backup."
    case .foreign: "The journal neither reads nor changes it. Move it elsewhere, or let it stay."
    case .log:
      "Restore the journal from a backup. Without one, salvage makes a journal from everything that can be proven, also "
        + "from several damaged copies."
    case .base:
      "Restore the file BASE from a backup of the pruned journal, or make a journal with salvage from this one and such a "
        + "backup."
    case .image:
      "Restore the file from a backup, or add the same image again. Without its bytes, erase the image: a journal that "
        + "lacks one can't be backed up."
    case .layer:
      "This costs time, but no data. The journal replaces a damaged layer automatically; snapshot drop removes a snapshot."
    case .receipt: "Make the backup again."
    case .replacement:
      "Open the journal for writing, for example with gc, which finishes the work. If that fails, remove the file first."
    case .newerReplacement: "Use a newer version of this program."
    }
  }
}

extension Journal {
  /// The known problems of the journal: why it was opened only up to its damage, what the check in the background has
  /// found so far, why a shared log is no longer followed, and problems of layers and snapshots, which cost only time.
  /// - Complexity: O(n) in the number of problems; nothing is read.
  public var health: JournalHealth {
    var health = current.value.healthCheck.health
    if let damage { health.note(damage, in: folder) }
    if let failure = chain.faults.failure { health.note(failure, in: folder, as: .damage) }
    if let nodeFailure {
      health.note(nodeFailure, .damage, "Close the journal, and run doctor, which says what to do.")
    }
    for problem in chain.faults.problems { health.note(problem, in: folder, as: .delay) }
    return health
  }

  /// Whether the journal was opened up to its damage, so that later entries are missing.
  package var endsAtDamage: Bool { damage != nil }
}
