import CatalogModel
import JSON

/// The form in which each object of a JSON array is an item.
struct RecordsImporter: CommitImporter {
  /// What to read, as given on the command line.
  struct Form {
    var file: String
    var key: String
    var category: String?
    var images: ImageTemplate?

    /// The name of this form in an entry's metadata.
    var source: String {
      var source = "records \(file) key=\(key)"
      if let category { source += " category=\(category)" }
      if let images { source += " images=\(images.source)" }
      return source
    }

    /// The kind of the items: the file's name without its folder and extension.
    var kind: String {
      let name = GitPath.baseName(of: file)
      let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
      return EntityName.usable(stem.isEmpty ? name : stem)
    }
  }

  /// A longer file is reported and not read, because it must fit into memory twice.
  private static let fileByteLimit = 512 << 20

  let preparedLimit = 1
  private let form: Form
  private let texts: GitBlobs
  private var records = RecordFile()
  private var items: RecordItems
  private var images: RecordImages?

  /// What one commit does.
  struct Change {
    fileprivate var deleted: [ExactText] = []
    fileprivate var changed: [RecordFile.Record] = []
    fileprivate var images: [RecordImages.Change] = []
    fileprivate var isEmpty: Bool { deleted.isEmpty && changed.isEmpty && images.isEmpty }
  }

  /// Starts from the state of earlier commits, the last of which is `commit`.
  init(_ form: Form, _ repository: GitRepository, _ journal: CatalogJournal, after commit: String?) throws {
    self.form = form
    texts = try GitBlobs(repository)
    items = RecordItems(form, journal.state)
    if let template = form.images {
      images = try RecordImages(template, repository, journal, items, after: commit)
    }
  }

  mutating func start(from catalog: Catalog) { items = RecordItems(form, catalog) }

  func willImport(_ commit: GitCommit) throws {
    for change in commit.changes where ExactText(change.path) == ExactText(form.file) {
      if let file = change.file, file.hasContent { try texts.ask(for: file.hash) }
    }
  }

  mutating func prepare(_ commit: GitCommit, _ report: ImportReport) throws -> Change? {
    var change = Change()
    for fileChange in commit.changes {
      images?.follow(fileChange)
      if ExactText(fileChange.path) == ExactText(form.file) {
        try read(fileChange.file, commit, report, &change)
      }
    }
    for key in change.deleted { images?.forget(key) }
    for record in change.changed { images?.place(record.key, record.attributes) }
    change.images = try images?.changes() ?? []
    return change.isEmpty ? nil : change
  }

  /// Compares the file's new version with the previous one.
  private mutating func read(
    _ file: GitFile?, _ commit: GitCommit, _ report: ImportReport, _ change: inout Change
  ) throws {
    guard let file else {
      records = RecordFile()
      change.deleted = items.keys.sorted()
      return
    }
    guard file.hasContent else {
      report.note(commit.hash, "\(form.file) is a submodule; nothing of it is imported")
      return
    }
    var text: [UInt8] = []
    var isTooLong = false
    try texts.read {
      isTooLong = $0 > Self.fileByteLimit
      if !isTooLong { text.reserveCapacity($0) }
    } _: {
      if !isTooLong { text += $0 }
    }
    if isTooLong {
      report.note(commit.hash, "\(form.file) has more than \(Self.fileByteLimit) bytes; it changes nothing")
      return
    }
    let old = records
    do {
      records = try RecordFile(text, after: old, keyedBy: form.key, changed: &change.changed)
    } catch {
      report.note(commit.hash, "\(form.file) is not a valid JSON array, so it changes nothing: \(error)")
      return
    }
    if let skipped = records.skipped, skipped != old.skipped {
      report.note(commit.hash, "\(form.file): \(skipped)")
    }
    if let inexact = records.inexact { report.note(commit.hash, "\(form.file): \(inexact)") }
    let present = Set(records.keys)
    change.deleted = items.keys.filter { !present.contains($0) }.sorted()
  }

  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>, _ report: ImportReport
  ) throws -> Set<EntityKey> {
    var touched: Set<EntityKey> = []
    for key in change.deleted { try items.delete(key, &draft, &touched) }
    for record in change.changed {
      do {
        try items.set(record, &draft, &touched)
      } catch let error as JournalError where error.code == .rejected {
        let name = record.key.text.shortened(to: 40)
        report.note(commit.hash, "the object \"\(name)\" is skipped: \(error)")
        // Its image is looked up again when the record is accepted.
        if items[record.key] == nil { images?.forget(record.key) }
      }
    }
    for image in change.images { try items.setImage(image, &draft, &touched) }
    try items.deleteUnusedCategories(&draft, &touched)
    return touched
  }
}
