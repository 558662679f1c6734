import CBOR
import CatalogModel
import JSON

/// Imports each object of a JSON array as an item.
struct RecordsImporter: CommitImporter {
  struct Form {
    var file: String
    var key: String
    var category: String?
    var images: ImageTemplate?

    /// This form of import, as the metadata of entries name it.
    var source: String {
      var source = "records \(file) key=\(key)"
      if let category { source += " category=\(category)" }
      if let images { source += " images=\(images.source)" }
      return source
    }

    /// The kind of the items: the file's name without folder and extension.
    var kind: String {
      let name = GitPath.baseName(of: file)
      let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
      return EntityName.usable(stem.isEmpty ? name : stem)
    }

    fileprivate func version(_ attributes: [String: FieldValue]) -> SourceItems.Version {
      let name = category.flatMap { attributes[$0]?.string }
      return SourceItems.Version(
        attributes: attributes, category: name.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 })
    }
  }

  /// The most bytes of a file that is read, because it must fit into memory twice. A longer file is reported.
  private static let fileByteLimit = 512 << 20

  let preparedLimit = 1
  private let form: Form
  private let report: ImportReport
  private let texts: GitBlobs
  private var records = RecordFile()
  /// The last imported version of each record whose newest version or deletion was not imported; nil if none was. A
  /// version is not imported if it can't be kept; a deletion is not imported if people had changed the item.
  private var bases: [ItemKey: [String: FieldValue]?] = [:]
  private var items: SourceItems
  private var images: RecordImages?

  struct Change {
    fileprivate var deleted: [(key: ItemKey, old: [String: FieldValue], image: SourceItems.OldImage?)] = []
    fileprivate var changed: [(old: [String: FieldValue]?, new: RecordFile.Record)] = []
    fileprivate var images: [RecordImages.Change] = []
    fileprivate var isEmpty: Bool { deleted.isEmpty && changed.isEmpty && images.isEmpty }
  }

  /// Makes an importer that continues after a commit, or begins with the first one if `commit` is nil.
  init(
    _ form: Form, _ repository: GitRepository, _ journal: CatalogJournal, after commit: String?,
    _ report: ImportReport
  ) throws {
    self.form = form
    self.report = report
    texts = try GitBlobs(repository)
    items = try SourceItems(journal, kind: form.kind, keyedBy: form.key, restoresItems: true, report)
    let away = try commit.map { try readLastVersions(repository, upTo: $0) } ?? []
    images = try form.images.map { template in
      try RecordImages(template, keyedBy: form.key, repository, journal, records, away: away, after: commit)
    }
  }

  /// Reads the newest valid version of the file, and older ones for objects whose newest version could not be imported,
  /// and for objects whose items stayed when the source lost them.
  /// - Returns: the last version of each object that the source lost, and the last commit that has it.
  private mutating func readLastVersions(
    _ repository: GitRepository, upTo commit: String
  ) throws -> [(record: RecordFile.Record, commit: String)] {
    var isNewest = true
    // The commit that was read before, which is the next newer one.
    var newer = commit
    // Objects whose newest version could not be imported.
    var missing: Set<ItemKey> = []
    var away: Set<ItemKey> = []
    var lastVersions: [(record: RecordFile.Record, commit: String)] = []
    for commit in try repository.commits(changing: form.file, upTo: commit)
    where isNewest || !missing.isEmpty || !away.isEmpty {
      var file: GitFile?
      try repository.files(at: commit, only: form.file) { file = $1 }
      var version = RecordFile()
      var found: [RecordFile.Record] = []
      if let file {
        guard file.hasContent else { continue }
        try texts.ask(for: file.hash)
        guard let text = try readText(),
          let read = try? RecordFile(text, after: version, keyedBy: form.key, changed: &found)
        else { continue }
        version = read
      }
      let kept = Dictionary(
        found.filter { EntityRecord($0.attributes).canBeKept }.map { ($0.key, $0.attributes) }
      ) { $1 }
      if isNewest {
        records = version
        missing = Set(version.keys).subtracting(kept.keys)
        away = try items.keys { !version.has($0) }
        (isNewest, newer) = (false, commit)
        continue
      }
      for key in away where kept[key] != nil {
        lastVersions.append((RecordFile.Record(key: key, attributes: kept[key] ?? [:]), newer + "^"))
        bases[key] = kept[key]
        away.remove(key)
      }
      for key in missing where !version.has(key) || kept[key] != nil {
        bases[key] = .some(kept[key])
        missing.remove(key)
      }
      newer = commit
    }
    for key in missing { bases[key] = .some(nil) }
    return lastVersions
  }

  /// Reads the next requested version; nil if it is too long.
  private func readText() throws -> [UInt8]? {
    var text: [UInt8] = []
    var isTooLong = false
    try texts.read {
      isTooLong = $0 > Self.fileByteLimit
      if !isTooLong { text.reserveCapacity($0) }
    } _: {
      if !isTooLong { text += $0 }
    }
    return isTooLong ? nil : text
  }

  mutating func start(from catalog: Catalog) throws { try items.start(from: catalog) }

  func willImport(_ commit: GitCommit) throws {
    for change in commit.changes where ExactText(change.path) == ExactText(form.file) {
      if let file = change.file, file.hasContent { try texts.ask(for: file.hash) }
    }
  }

  mutating func prepare(_ commit: GitCommit) throws -> Change? {
    var change = Change()
    for fileChange in commit.changes {
      images?.follow(fileChange)
      if ExactText(fileChange.path) == ExactText(form.file) {
        try read(fileChange.file, commit, &change)
      }
    }
    for deletion in change.deleted { images?.leave(deletion.key) }
    for (old, record) in change.changed {
      // A deleted item that comes back has no image yet.
      if old != nil, !items.has(record.key) { images?.forget(record.key) }
      images?.place(record.key, record.attributes)
    }
    change.images = try images?.changes() ?? []
    return change.isEmpty ? nil : change
  }

  private mutating func read(_ file: GitFile?, _ commit: GitCommit, _ change: inout Change) throws {
    let old = records
    var changed: [RecordFile.Record] = []
    if let file {
      guard file.hasContent else {
        report.note(commit.hash, "\(form.file) is a submodule; nothing of it is imported")
        return
      }
      guard let text = try readText() else {
        report.note(commit.hash, "\(form.file) has more than \(Self.fileByteLimit) bytes; it changes nothing")
        return
      }
      do {
        records = try RecordFile(text, after: old, keyedBy: form.key, changed: &changed)
      } catch {
        report.note(commit.hash, "\(form.file) is not a valid JSON array, so it changes nothing: \(error)")
        return
      }
    } else {
      records = RecordFile()
    }
    if let skipped = records.skipped, skipped != old.skipped {
      report.note(commit.hash, "\(form.file): \(skipped)")
    }
    if let inexact = records.inexact { report.note(commit.hash, "\(form.file): \(inexact)") }
    func base(of key: ItemKey) -> [String: FieldValue]? { bases[key] ?? old.attributes(of: key) }
    for key in records.unreadable { bases[key] = .some(base(of: key)) }
    for record in changed {
      let base = base(of: record.key)
      bases[record.key] = nil
      // An object that only moved within the file has not changed.
      if base.map({ EntityRecord($0) }) != EntityRecord(record.attributes) {
        change.changed.append((base, record))
      }
    }
    for key in old.keys.sorted() where !records.has(key) {
      if let base = base(of: key) {
        change.deleted.append((key, base, images?.old(key)))
      }
      bases[key] = nil
    }
  }

  mutating func apply(
    _ change: Change, of commit: GitCommit, to draft: inout Draft<Catalog>
  ) throws -> Set<EntityKey> {
    items.begin(commit)
    for deletion in change.deleted {
      let isDeleted = try items.delete(
        deletion.key, { [form] _ in form.version(deletion.old) }, image: deletion.image, in: &draft)
      if isDeleted { images?.forget(deletion.key) } else { bases[deletion.key] = deletion.old }
    }
    for (old, record) in change.changed {
      do {
        _ = try items.set(
          record.key, wasThere: old != nil, from: { [form] _ in old.map { form.version($0) } },
          to: form.version(record.attributes), in: &draft)
      } catch let error as JournalError where error.code == .rejected {
        let name = record.key.text.shortened(to: 40)
        report.note(commit.hash, "the object \"\(name)\" is skipped: \(error)")
        bases[record.key] = .some(old)
        // Forgotten, so that the image is imported when a version of the record is accepted.
        if !items.has(record.key) { images?.forget(record.key) }
      }
    }
    for image in change.images { try items.setImage(image.key, from: image.old, to: image.new, in: &draft) }
    return try items.end(&draft)
  }
}

extension EntityRecord {
  fileprivate var canBeKept: Bool { bytes.count <= Self.byteLimit && (try? checkEncoding()) != nil }
}
