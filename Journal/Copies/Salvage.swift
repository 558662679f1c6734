package import Files
public import Foundation

/// What could be read of damaged journals, and what could not.
public struct SalvageReport: Sendable {
  /// The newest entry of the journal that was made.
  public let head: Head
  /// What is known to have been acknowledged, by a HEAD that could be read; nil if none could.
  public let acknowledgedRevision: Revision?
  /// Why the history ends there, with the first revision that is missing or altered; nil if nothing is missing, as far
  /// as anybody can tell.
  public let end: JournalError?
  /// The images whose bytes no copy has. Their entries are there all the same.
  public let missingImages: [Blob]
  /// What else is wrong with the files of each copy.
  public let problems: [JournalError]

  /// Whether nothing is missing.
  public var isWhole: Bool { end == nil && missingImages.isEmpty }
}

extension Journal {
  /// Makes a journal of all that can be read and proven of a damaged one, or of several damaged copies of one journal.
  ///
  /// Each entry is proven by the digest that the next one has of it, from the first on, up to the first that no copy
  /// has. So from copies that are damaged in different places, all that any of them has comes together. Where a copy can
  /// be wrong, such as HEAD or the tables that LevelDB knows of, nothing is believed. The damaged journals stay as they
  /// are.
  /// - Parameters:
  ///   - sources: the folders of the damaged journal and its copies.
  ///   - url: the folder to make; its parent must exist.
  ///   - progress: told how far it has come; what it throws ends the work. So does cancelling the task.
  /// - Throws: ``JournalError``: `alreadyExists`, `locked`, `otherModel`, `io`; `wrongUse` for copies of different
  ///   journals; `damaged` when not even the first entry can be proven.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  public static func salvage(
    _ sources: [URL], to url: URL, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> SalvageReport {
    try salvage(sources, to: url, hook: nil, progress: progress)
  }

  /// The same, with a hook that sees each change in the new journal's folder.
  package static func salvage(
    _ sources: [URL], to url: URL, hook: FileHook?, progress: (CopyProgress) throws -> Void
  ) throws -> SalvageReport {
    let storage = JournalOptions.usualStorage
    let found = try sources.map { url throws(JournalError) in try SalvageSource(url, storage) }
    var history = try ProvableHistory(found, State.self)
    let last = try found.map { source throws(JournalError) in try source.log.lastRevision() }.max() ?? 0
    var missing: [Blob] = []
    try JournalFolder.create(at: url, copying: history.format, options: JournalOptions(fileHook: hook)) {
      place in
      let copy = try JournalCopy(making: place)
      do {
        missing = try fill(copy, &history, through: last, progress)
        guard copy.head.revision > 0 || last == 0 else {
          throw history.end ?? JournalError(.damaged, "no entry can be proven", revision: 1)
        }
        try copy.prove(progress)
      } catch {
        try? copy.close()
        throw error
      }
      try copy.close()
    }
    return SalvageReport(
      head: history.head, acknowledgedRevision: found.compactMap { $0.acknowledged?.revision }.max(),
      end: history.isWhole ? nil : history.end, missingImages: missing, problems: found.flatMap(\.problems))
  }

  /// Writes the proven entries, and the images that any source has.
  /// - Returns: the images that none has.
  private static func fill(
    _ copy: JournalCopy, _ history: inout ProvableHistory, through last: Revision, _ observer: CopyObserver
  ) throws -> [Blob] {
    let images = try copy.folder.root.folder("images")
    var copying = history.sources.map { source in
      BlobCopying(from: source.images, at: source.folder.images, to: images, sharesFiles: false)
    }
    var missing: [Blob] = []
    var seen: Set<Blob> = []
    let upcast = try EventUpcast(State.self)
    var named = NamedBlobs<State>(upcast, in: copy.log, history.format.base)
    func take(_ blob: Blob) throws {
      guard seen.insert(blob).inserted else { return }
      if try !bring(blob, &copying) { missing.append(blob) }
    }
    if let base = history.format.base {
      for blob in try base.blobs(of: State.self) { try take(blob) }
    }
    var isAtEnd = false
    while !isAtEnd {
      try Task.checkCancellation()
      named.trim()
      var piece: [SealedEntry] = []
      var byteCount = 0
      var head = copy.head
      while byteCount < EntryReader.pieceByteCount {
        guard let entry = try history.next() else {
          isAtEnd = true
          break
        }
        head = history.head
        piece.append(entry)
        byteCount += entry.bytes.count
        // Of an entity that was touched in this piece, the record is known; of all others, the copy has it.
        for blob in try named.blobs(in: entry) { try take(blob) }
      }
      guard !piece.isEmpty else { break }
      for index in copying.indices { try copying[index].flush() }
      try copy.append(piece, head: head)
      try observer(CopyProgress(phase: .copying, done: head.revision, all: max(last, head.revision)))
    }
    return missing
  }

  private static func bring(_ blob: Blob, _ copying: inout [BlobCopying]) throws -> Bool {
    for index in copying.indices {
      do {
        try copying[index].bring(blob)
        return true
      } catch let error as JournalError where error.code == .damaged || error.code == .notAJournal {
        continue
      }
    }
    return false
  }
}
