import Files
import Journaling

/// The longest history that the damaged copies of one journal prove together: each entry is linked to the previous one
/// by its digest. A pruned history begins with the base of one copy.
///
/// An altered entry does not have the digest that the next entry names, so the intact entry of another copy is used. If
/// copies have different entries of one revision, the history continues with the entry that leads furthest.
///
/// Used by one thread at a time.
struct ProvableHistory {
  let sources: [SalvageSource]
  let format: JournalFormat
  /// The newest entry that was read.
  private(set) var head: Head
  /// Why the history ends at ``head``; nil until the end is reached.
  private(set) var end: JournalError?
  /// The digest of the chosen entry, for each revision of which one copy has several candidates.
  private(set) var chosen: [Revision: ContentDigest] = [:]
  /// Whether this value only measures how far a history reaches, with the first valid candidate of each entry.
  private var isTrial = false

  /// - Throws: ``JournalError`` if the sources are copies of different journals or of another model, or if none has the
  ///   journal's id.
  init<State: EventSourced>(_ sources: [SalvageSource], _ model: State.Type) throws(JournalError) {
    let ids = Set(sources.compactMap(\.id))
    guard let id = ids.first else {
      throw JournalError(
        .damaged, "neither FORMAT, the log nor a base has the journal's id, so nothing can be proven",
        path: sources.first?.folder.path)
    }
    guard ids.count == 1 else {
      throw JournalError(
        .wrongUse,
        "these are different journals, \(ids.map(\.description).sorted().joined(separator: " and ")); "
          + "salvage one at a time")
    }
    let schema = try ModelSchema(of: model)
    let whole = try Self.format(of: sources, id, schema)
    try schema.checkReads(whole.schema, path: sources[0].folder.path)
    self.init(sources, try Self.start(of: sources, whole))
  }

  /// Finds where the history that reaches furthest begins: at revision 0 or at a base. Of several beginnings, takes the
  /// earliest; of several bases with one head, the one that an entry proves, which the newest erasure has left.
  private static func start(
    of sources: [SalvageSource], _ whole: JournalFormat
  ) throws(JournalError) -> JournalFormat {
    let bases = sources.compactMap(\.base).filter { $0.formatDigest == whole.digest }
      .sorted { $0.head.revision < $1.head.revision }
    guard !bases.isEmpty else { return whole }
    var best = (format: whole, end: 0, isProven: false)
    for format in [whole] + bases.map(whole.with) {
      var history = ProvableHistory(sources, format)
      var isProven = false
      // The newest entry that proves or disproves the base counts.
      while let entry = try history.next() {
        if let base = format.base { isProven = try base.isProven(by: entry.sealed) ?? isProven }
      }
      let end = history.head.revision
      let isBetter = end == best.end && isProven && !best.isProven && format.head == best.format.head
      if end > best.end || isBetter { best = (format, end, isProven) }
    }
    return best.format
  }

  private init(_ sources: [SalvageSource], _ format: JournalFormat) {
    self.sources = sources
    self.format = format
    head = format.head
  }

  /// Finds the format that the first entry or a base proves, among those in the FORMAT files and rebuilt ones.
  private static func format(
    of sources: [SalvageSource], _ id: JournalID, _ schema: ModelSchema
  ) throws(JournalError) -> JournalFormat {
    let candidates = sources.compactMap(\.format) + JournalFormat.candidates(for: id, schema)
    for source in sources {
      for bytes in try source.log.candidates(1) {
        for format in candidates where (try? LinkedEntry(bytes, after: format.head, of: format.id)) != nil {
          return format
        }
      }
    }
    for base in sources.compactMap(\.base) {
      if let format = candidates.first(where: { $0.digest == base.formatDigest }) { return format }
    }
    // If no first entry and no base proves a format, a readable FORMAT is used although it is not proven.
    if let format = sources.compactMap(\.format).first { return format }
    throw JournalError(
      .damaged, "FORMAT can't be read, and neither a first entry nor a base proves a rebuilt one",
      path: sources.first?.folder.format)
  }

  /// Reads the next entry. Returns nil at the end, and ``end`` then says why.
  /// - Throws: ``JournalError`` if files are temporarily unreadable.
  mutating func next() throws(JournalError) -> LinkedEntry? {
    guard end == nil else { return nil }
    let revision = head.revision + 1
    var (isThere, hasChoice) = (false, false)
    var found: [LinkedEntry] = []
    for source in sources {
      let candidates = try source.log.candidates(revision)
      if candidates.count > 1 { hasChoice = true }
      for bytes in candidates where !isTrial || found.isEmpty {
        isThere = true
        if found.contains(where: { $0.sealed.bytes == bytes }) { continue }
        guard let entry = try? LinkedEntry(bytes, after: head, of: format.id) else { continue }
        if let same = found.firstIndex(where: { $0.head == entry.head }) {
          // Content that is erased in one copy stays erased.
          let erased = try found[same].sealed.erasing(entry.sealed)
          found[same] = try LinkedEntry(erased.bytes, after: head, of: format.id)
        } else {
          found.append(entry)
        }
      }
    }
    if let next = try furthest(of: found) {
      head = next.head
      if hasChoice { chosen[revision] = head.digest }
      return next
    }
    let last = try sources.map { source throws(JournalError) in try source.log.lastRevision() }.max() ?? 0
    let acknowledged = sources.compactMap(\.knownRevision).max() ?? 0
    guard isThere || last > revision || acknowledged >= revision else {
      end = JournalError(.notFound, "this is the end of the journal", revision: revision)
      return nil
    }
    let beyond =
      last > revision ? ", and later entries up to \(last) can't be proven without it" : ""
    end = JournalError(
      .damaged, (isThere ? "the entry is altered" : "the entry is missing") + beyond, revision: revision)
    return nil
  }

  /// The entry after which the history reaches furthest, or the first of several such entries; nil if `found` is empty.
  private func furthest(of found: [LinkedEntry]) throws(JournalError) -> LinkedEntry? {
    guard found.count > 1 else { return found.first }
    var best: (entry: LinkedEntry, end: Revision)?
    for entry in found {
      var history = self
      history.isTrial = true
      history.head = entry.head
      while try history.next() != nil {}
      if best.map({ $0.end < history.head.revision }) ?? true { best = (entry, history.head.revision) }
    }
    return best?.entry
  }

  /// Whether the end was reached without a sign that an entry is missing.
  var isWhole: Bool { end?.code == .notFound }

  /// Whether the loss of entries after ``head`` would have been noticed: each copy has a readable mark, or the mark or
  /// the receipt of one copy names ``head`` or a later entry.
  var isEndKnown: Bool {
    sources.allSatisfy(\.isMarkRead)
      || sources.contains { max($0.acknowledged?.revision ?? 0, $0.receiptRevision ?? 0) >= head.revision }
  }
}

extension HistoryBase {
  /// Whether an entry proves the digest of the state; nil if it has no checkpoint of this base, or an erased one.
  fileprivate func isProven(by entry: SealedEntry) throws(JournalError) -> Bool? {
    try entry.decode { entry throws(JournalError) in
      guard isVouchedFor(by: try entry.header()) else { return nil }
      return try entry.checkpoint().map { $0.stateDigest == stateDigest }
    }
  }
}

extension JournalFormat {
  /// The formats that a journal can have if this version of a model, or an older one, created it; the newest first.
  static func candidates(for id: JournalID, _ schema: ModelSchema) -> [JournalFormat] {
    stride(from: schema.version, to: 0, by: -1).compactMap { version in
      ModelSchema(name: schema.name, version: "\(version)").map { JournalFormat(id: id, schema: $0) }
    }
  }
}
