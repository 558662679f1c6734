import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import JournalServer

/// The import of entries from lines, as `log --json` prints them.
enum EntriesSource {
  static let source = ImportSource(
    name: "entries", options: ["--store", "--after", "--by", "--images", "--inspect"], run: run)

  @Sendable private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let clock = ContinuousClock()
    let start = clock.now
    let path = arguments.operand("PATH")
    // Opened before the journal, so that no journal is created for a missing file.
    let lines = try EntryLines(path)
    if path == "-", isatty(STDIN_FILENO) == 1 {
      terminal.warn("reading entries from the terminal, until Ctrl-D")
    }
    let after = try arguments.value("--after").map { text throws(Failure) -> Int in
      guard let number = Int(text), number >= 0 else {
        throw arguments.misuse(
          "--after is the revision or number of the newest line that was imported, or 0 if none was, not "
            + "\"\(text.printable)\"")
      }
      return number
    }
    let isInspection = arguments.has("--inspect")
    let url = arguments.url("JOURNAL")
    let copy = isInspection ? try InspectedCopy(of: url, arguments, terminal) : nil
    let journal = try CatalogJournal.openOrCreate(
      at: copy?.url ?? url, options: arguments.journalOptions(layers: .automatic))
    defer { copy?.remove(journal) }
    if !isInspection { try journal.catchUp() }
    let work = try EntriesImport(
      journal, source: ["entries", arguments.value("--store")].compactMap(\.self).joined(separator: " "),
      after: after, author: arguments.author,
      images: arguments.value("--images").map { URL(fileURLWithPath: $0) }, stopsAtProblem: !isInspection,
      terminal)
    let problem: LineProblem?
    do {
      try Import.storing(in: journal) { try work.run(lines) }
      problem = nil
    } catch let found as LineProblem {
      problem = found
    }
    terminal.progress.clear()
    if !isInspection, work.counts.entries > 0 { terminal.output.noteDone(entry: journal.head.revision) }
    let (counts, first) = (work.counts, problem ?? work.problems.first)
    try terminal.answer([
      "source": "entries", "lines": counts.lines, "known": counts.known, "entries": counts.entries,
      "events": counts.events, "leftOut": counts.leftOut,
      "problems": work.problems.count + (problem == nil ? 0 : 1),
      "firstProblem": first?.line, "revision": (isInspection ? nil : journal.head.revision) as Int?,
      "seconds": Import.rounded((clock.now - start) / .seconds(1)),
    ]) {
      let (made, left) = isInspection ? ("would be made", "would be left out") : ("made", "left out")
      try terminal.line(
        "\(counts.lines.counted("line")): \(counts.known.grouped) imported before, "
          + "\(counts.entries.counted("entry", "entries")) \(made)"
          + (counts.leftOut == 0 ? "" : ", \(counts.leftOut.counted("change")) \(left)"))
      if isInspection, let first {
        try terminal.line(
          "an import stops at line \(first.line), and keeps what the lines before it say; correct the line, or take "
            + "it out")
      }
    }
    if !isInspection { try journal.close() }
    if let problem {
      throw Failure.no(
        "line \(problem.line): \(problem.message); the import stopped there, and keeps what the lines before it say; "
          + "correct the line, and run it again to continue")
    }
    return first == nil && counts.leftOut == 0 ? .done : .no
  }
}

/// A copy of a journal in the folder for temporary files, into which an inspection imports.
private struct InspectedCopy {
  let folder: URL
  var url: URL { folder.appending(path: "Inspected.journal") }

  init(of journal: URL, _ arguments: Arguments, _ terminal: Terminal) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "journal-inspect-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    guard FileManager.default.fileExists(atPath: journal.path) else { return }
    let original = try CatalogJournal.open(
      at: journal, mode: .readOnly, options: arguments.journalOptions())
    try original.copy(to: url, progress: terminal.showCopying)
  }

  func remove(_ journal: CatalogJournal) {
    try? journal.close()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// Makes entries of lines, in a pipeline.
final class EntriesImport {
  struct Counts {
    /// All lines, those that an earlier run has imported, and the entries and events that were made.
    var (lines, known, entries, events) = (0, 0, 0, 0)
    /// The number of changes that were left out because content was erased in the source.
    var leftOut = 0
  }

  fileprivate enum Key {
    static let source = "import.source"
    static let place = "import.entry"
    static let digest = "import.digest"
  }

  private let journal: CatalogJournal
  private let source: String
  private let author: String
  private let images: URL?
  private let stopsAtProblem: Bool
  private let terminal: Terminal
  /// The newest line that an earlier run has imported; nil if there is none. The digest and the revision are nil if the
  /// journal no longer has them.
  private let newest: Newest?
  /// The revision of the entry that was made last.
  private var last: Revision
  /// Whether all entries of the source have had the same revisions here so far.
  private var isMirror: Bool
  private var names: [String: EntityKey] = [:]
  /// The entities that are missing because their content was erased in the source.
  private var lost: Set<EntityKey> = []
  private var isLog: Bool?
  /// The revision of the logged line before.
  private var logged: Revision?
  private(set) var counts = Counts()
  private(set) var problems: LineProblems

  private typealias Newest = (place: Int, digest: String?, revision: Revision?)

  /// - Parameter after: the place of the newest line that was imported, if the journal may no longer name it.
  /// - Throws: ``Failure`` if `after` is nil and needed, or wrong.
  init(
    _ journal: CatalogJournal, source: String, after: Int?, author: String, images: URL?,
    stopsAtProblem: Bool,
    _ terminal: Terminal
  ) throws {
    (self.journal, self.source, self.author, self.images) = (journal, source, author, images)
    (self.stopsAtProblem, self.terminal) = (stopsAtProblem, terminal)
    problems = LineProblems(terminal)
    last = journal.head.revision
    let found = try Self.newest(of: source, in: journal, after)
    newest = found
    isMirror = journal.base == nil && last == found?.place ?? 0 && last == found?.revision ?? 0
  }

  /// Finds the newest line that was imported; nil if there is none.
  ///
  /// If the journal may have lost what names that line, the import would repeat lines, so `after` must name it.
  private static func newest(
    of source: String, in journal: CatalogJournal, _ after: Int?
  ) throws -> Newest? {
    var (found, loss): (Newest?, String?) = (nil, nil)
    let entries = journal.entries(newestFirst: true)
    while found == nil, let entry = try entries.next() {
      if entry.metadata[Key.source] == source, let place = entry.metadata[Key.place].flatMap({ Int($0) }) {
        found = (place, entry.metadata[Key.digest] ?? "", entry.revision)
      } else if entry.isAnnotationErased, loss == nil {
        loss = "the metadata of revision \(entry.revision) were erased"
      } else if entry.metadata[GitImport.Key.copy] != nil, loss == nil {
        loss = "the journal was copied without its history"
      }
    }
    if found == nil, loss == nil, let base = journal.base {
      loss = "history up to revision \(base.revision) was pruned"
    }
    guard let loss else {
      if let after, after != found?.place ?? 0 {
        let newest = found.map { "the newest imported line is \($0.place)" } ?? "no line was imported"
        throw Failure.wrongUse("\(newest), so the import can't continue after \(after); leave --after out")
      }
      return found
    }
    if let after { return after == found?.place ? found : after == 0 ? nil : (after, nil, nil) }
    let older = found.map { ", which is \($0.place) or a later one" } ?? ""
    throw Failure.wrongUse(
      "\(loss), so the journal may no longer name the newest line that was imported from this source\(older); give its "
        + "revision or number with --after, or --after 0 if none was imported")
  }

  /// - Throws: ``LineProblem`` at the first line that can't be taken, unless problems are only counted.
  func run(_ lines: EntryLines) throws {
    var known = KnownEntries(journal, source: source)
    try journal.withPipeline { pipeline in
      var next = try lines.next()
      while let line = next {
        next = try lines.next()
        if counts.lines == 0, let next { try checkOrder(line, next) }
        counts.lines = line.line
        do {
          let content = try checked(line)
          if let newest, line.place <= newest.place {
            try skip(line, content, newest, &known)
          } else {
            try make(line, content, &pipeline)
          }
        } catch let error as JournalError where error.isAboutLine {
          let problem = LineProblem(line.line, error.message)
          if stopsAtProblem { throw problem }
          problems.note(problem)
        }
        terminal.progress.show { "importing: \(counts.lines.grouped) lines" }
      }
    }
    if isLog == false, let newest, counts.lines < newest.place {
      throw Failure.wrongUse(
        "the file has \(counts.lines.counted("line")), and line \(newest.place) was imported before"
          + (newest.revision.map { " as entry \($0)" } ?? "") + "; \(Self.otherSource)")
    }
  }

  private static let otherSource =
    "to import from another source, give it a name with --store, or import into another journal"

  /// Checks that a log does not begin with its newest entry, before anything is made of it.
  private func checkOrder(_ line: EntryLine, _ next: EntryLine) throws(Failure) {
    guard case .success(.logged(let first)) = line.content, case .success(.logged(let second)) = next.content,
      second.revision <= first.revision
    else { return }
    throw Failure.wrongUse(
      "line \(next.line) has revision \(second.revision), and the line before it \(first.revision); write the log with "
        + "--reverse, so that its oldest entry comes first")
  }

  private func checked(_ line: EntryLine) throws -> EntryLine.Content {
    let content = try line.content.get()
    let isLogged = if case .logged = content { true } else { false }
    if let isLog, isLog != isLogged {
      throw Self.wrong("it has \(isLogged ? "a" : "no") revision, unlike the lines before it")
    }
    isLog = isLogged
    if case .logged(let entry) = content {
      if let logged, entry.revision <= logged {
        throw Self.wrong(
          "its revision is \(entry.revision), and that of a line before it \(logged); a log is written with --reverse, "
            + "and each entry has one line")
      }
      logged = entry.revision
    }
    return content
  }

  /// Skips a line that an earlier run has imported, except for the names that it gives.
  private func skip(
    _ line: EntryLine, _ content: EntryLine.Content, _ newest: Newest, _ known: inout KnownEntries
  ) throws {
    counts.known += 1
    func check(_ digest: String?, _ revision: Revision?) throws {
      guard let digest, let revision, line.digest != digest else { return }
      throw Failure.wrongUse(
        "line \(line.line) is not the one that entry \(revision) was made of; \(Self.otherSource)")
    }
    if line.place == newest.place { try check(newest.digest, newest.revision) }
    if case .logged(let entry) = content { for event in entry.events { noteLoss(event) } }
    // The bytes of a logged line may differ after an erasure in the source, but not the digest that it names.
    guard line.hasDigest || isLog == false else { return }
    let entry = try known.entry(at: line.place)
    try check(entry?.metadata[Key.digest], entry?.revision)
    guard case .document(let document) = content else { return }
    for (name, entity) in document.named(in: entry?.events ?? []) { names[name] = entity }
  }

  private func make(
    _ line: EntryLine, _ content: EntryLine.Content, _ pipeline: inout CommitPipeline<Catalog>
  ) throws {
    let mark = [Key.source: source, Key.place: "\(line.place)", Key.digest: line.digest]
    let made: Commit<Int>
    switch content {
    case .document(let document):
      var hasRun = false
      made = try pipeline.commit(
        by: document.author ?? author, note: document.note ?? "",
        metadata: document.metadata.merging(mark) { $1 }, date: document.date,
        expecting: document.expectations.map { .entity($0.entity, at: $0.revision) }
      ) { draft in
        // In a shared journal, the body runs again if another node commits first.
        if hasRun { for name in document.names { names[name] = nil } }
        hasRun = true
        try document.apply(to: &draft, naming: &names)
        return document.eventCount
      }
    case .logged(let entry):
      try storeImages(of: entry)
      isMirror = isMirror && entry.revision == last + 1
      // The numbers in these are the source's.
      let metadata = isMirror ? entry.metadata : entry.metadata.filter { !Self.namesRevision($0.key) }
      made = try pipeline.commit(
        by: entry.author ?? "", note: entry.note, metadata: metadata.merging(mark) { $1 }, date: entry.date
      ) { draft in
        var (count, left) = (0, lost)
        for event in entry.events {
          if try apply(event, to: &draft, &left) { count += 1 }
        }
        return count
      }
      counts.leftOut += entry.events.count - made.value
      for event in entry.events { noteLoss(event) }
    }
    if made.isEmpty {
      isMirror = false
      if case .logged(let entry) = content, entry.events.isEmpty {
        terminal.warn(
          "line \(line.line) has no changes, as the record of an erasure or a pruning, and makes no entry; later "
            + "entries have other numbers than in the source")
      }
    } else {
      last = made.revision
      counts.entries += 1
      counts.events += made.value
    }
  }

  private static func wrong(_ message: String) -> JournalError { JournalError(.wrongUse, message) }

  private static func namesRevision(_ key: String) -> Bool {
    ["journal.restores", "journal.reverts", "journal.undoes", "journal.redoes"].contains(key)
  }

  // MARK: Events

  /// Records that an entity is missing from now on, or exists again.
  private func noteLoss(_ event: LoggedEvent) {
    if case .erased = event.change { lost.insert(event.entity) }
    if !lost.isEmpty, case .add = event.change { lost.remove(event.entity) }
  }

  /// Applies an event as it is. Returns false if it was left out, because content was erased in the source.
  private func apply(
    _ event: LoggedEvent, to draft: inout Draft<Catalog>, _ lost: inout Set<EntityKey>
  ) throws -> Bool {
    let entity = event.entity
    let record = draft.state.record(of: entity)
    var name: String { Catalog.name(of: entity) }
    if isMirror, let previous = event.previous, draft.state.revision(of: entity) != previous,
      !lost.contains(entity)
    {
      throw Self.wrong(
        "\(name) was last changed by revision \(draft.state.revision(of: entity)) here, and by \(previous) in the "
          + "source, so this journal is not a copy of it")
    }
    switch event.change {
    case .erased:
      lost.insert(entity)
      return false
    case .add(let added):
      guard record == nil else {
        throw Self.wrong(
          "\(name) exists already; import into a new journal, or leave out the revision and the number, so that it gets "
            + "a new one")
      }
      if !isMirror, entity.kind == .tag {
        throw Self.wrong("\(name) names a revision, and entries have other numbers here; leave it out")
      }
      if entity.kind == .image, let item = added[field: 0]?.integer, lost.contains(.item(item)) {
        lost.insert(entity)
        return false
      }
      try draft.add(entity, Self.withoutCategory(in: lost, entity, added))
      lost.remove(entity)
    case .update, .delete:
      guard let record else {
        if lost.contains(entity) { return false }
        throw Self.wrong(
          "\(name) does not exist: \(problems.first == nil ? "no line before" : "no line that can be taken") adds it"
            + (counts.entries == 0 && isLog == true
              ? "; a log can only be imported from its first entry, so not that of a pruned journal" : ""))
      }
      guard case .update(let changes) = event.change else {
        try draft.delete(entity)
        break
      }
      let changed = Self.withoutCategory(in: lost, entity, record.applying(changes))
      // An event without effect stays one, so that entries keep their numbers.
      if changed == record { try draft.touch(entity) } else { try draft.update(entity, to: changed) }
    }
    return true
  }

  /// The record of an item without its category if that is lost.
  private static func withoutCategory(
    in lost: Set<EntityKey>, _ entity: EntityKey, _ record: EntityRecord
  ) -> EntityRecord {
    guard !lost.isEmpty, entity.kind == .item, let category = record[field: ItemField.category]?.integer,
      lost.contains(.category(category))
    else { return record }
    return record.applying(RecordChanges(removeFields: [ItemField.category]))
  }

  /// Stores the bytes of the images that an entry names.
  private func storeImages(of entry: LoggedEntry) throws {
    for event in entry.events where event.entity.kind == .image {
      guard let blob = event.blob, try !journal.blobs.contains(blob) else { continue }
      guard let images else {
        throw Self.wrong(
          "the bytes of \(Catalog.name(of: event.entity)) are missing; name the folder that has them with --images, "
            + "such as Books.journal/images")
      }
      let url = images.appending(path: blob.digest.hex)
      guard FileManager.default.fileExists(atPath: url.path) else {
        throw Self.wrong(
          "\(images.path) lacks \(blob.digest.hex), the bytes of \(Catalog.name(of: event.entity))")
      }
      guard try journal.blobs.add(contentsOf: url) == blob else {
        throw Self.wrong("\(url.path) has other bytes than \(Catalog.name(of: event.entity))")
      }
    }
  }
}

/// The entries of earlier runs, which are read in their order.
private struct KnownEntries {
  private let source: String
  private let entries: EntryCursor
  private var current: Entry?

  init(_ journal: CatalogJournal, source: String) {
    (self.source, entries) = (source, journal.entries())
  }

  /// The entry that was made of the line at a place; nil if there is none.
  mutating func entry(at place: Int) throws -> Entry? {
    while true {
      if let entry = current, entry.metadata[EntriesImport.Key.source] == source,
        let found = entry.metadata[EntriesImport.Key.place].flatMap({ Int($0) }), found >= place
      {
        return found == place ? entry : nil
      }
      current = try entries.next()
      if current == nil { return nil }
    }
  }
}

extension JournalError {
  /// Whether the error is about what a line says, and not about the journal.
  fileprivate var isAboutLine: Bool {
    [.wrongUse, .rejected, .conflict, .tooLarge, .notFound].contains(code)
  }
}

extension LoggedEvent {
  /// The blob that the event of an image sets; nil if it sets none.
  fileprivate var blob: Blob? {
    var parts: [FieldKey: FieldValue] = [:]
    switch change {
    case .add(let record): record.visit { parts[$0] = $1 }
    case .update(let changes): changes.visit { parts[$0] = $1 }
    case .delete, .erased: break
    }
    guard let digest = parts[.field(ImageField.digest)]?.data.flatMap({ ContentDigest(bytes: Array($0)) }),
      let byteCount = parts[.field(ImageField.byteCount)]?.integer
    else { return nil }
    return Blob(digest: digest, byteCount: byteCount)
  }
}
