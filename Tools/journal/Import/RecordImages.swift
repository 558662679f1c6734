import CatalogModel

/// Finds the records whose image a commit changes.
struct RecordImages {
  typealias Change = (key: ItemKey, old: SourceItems.OldImage?, new: SourceItems.NewImage?)

  private struct Place {
    var path: ExactText?
    /// The image that the source had before the commit; nil if it had none.
    var imported: Source?
  }

  private struct Source: Equatable {
    let path: ExactText
    let hash: String
  }

  private let template: ImageTemplate
  /// The field that identifies a record.
  private let field: String
  private let contents: GitBlobs
  private let past: PastContents
  private let blobs: BlobQueue
  /// The git hash of each file that a template may name.
  private var tree: [ExactText: String] = [:]
  private var places: [ItemKey: Place] = [:]
  private var keysByPath: [ExactText: Set<ItemKey>] = [:]
  /// The records whose image the commit may have changed.
  private var affected: Set<ItemKey> = []

  init(
    _ template: ImageTemplate, keyedBy field: String, _ repository: GitRepository, _ journal: CatalogJournal,
    _ records: RecordFile, away: [(record: RecordFile.Record, commit: String)], after commit: String?
  ) throws {
    self.template = template
    self.field = field
    contents = try GitBlobs(repository)
    past = PastContents(repository)
    blobs = BlobQueue(journal.blobs)
    guard let commit else { return }
    var tree: [ExactText: String] = [:]
    try repository.files(at: commit) { path, file in
      if file.hasContent, template.mayName(path) { tree[ExactText(path)] = file.hash }
    }
    self.tree = tree
    for key in records.keys {
      guard let attributes = records.attributes(of: key) else { continue }
      place(key, attributes)
      let imported = source(of: key)
      places[key]?.imported = imported
    }
    for (record, commit) in away {
      guard let path = self.path(of: record.key, record.attributes) else { continue }
      try repository.files(at: commit, only: path.text) { _, file in
        if file.hasContent { places[record.key] = Place(imported: Source(path: path, hash: file.hash)) }
      }
    }
    affected = []
  }

  private func path(of key: ItemKey, _ attributes: [String: FieldValue]) -> ExactText? {
    template.path(key: attributes[field]?.keyText ?? key.text, attributes).map { ExactText($0) }
  }

  private func source(of key: ItemKey) -> Source? {
    places[key]?.path.flatMap { path in tree[path].map { Source(path: path, hash: $0) } }
  }

  mutating func follow(_ change: GitChange) {
    guard template.mayName(change.path) else { return }
    let path = ExactText(change.path)
    tree[path] = change.file.flatMap { $0.hasContent ? $0.hash : nil }
    affected.formUnion(keysByPath[path] ?? [])
  }

  mutating func place(_ key: ItemKey, _ attributes: [String: FieldValue]) {
    move(key, to: path(of: key, attributes))
    affected.insert(key)
  }

  /// Called when a record was deleted. Its item may stay, so the image that the source had is remembered.
  mutating func leave(_ key: ItemKey) {
    move(key, to: nil)
    affected.remove(key)
  }

  /// Called when the item of a record was deleted together with its image.
  mutating func forget(_ key: ItemKey) {
    leave(key)
    places[key] = nil
  }

  private mutating func move(_ key: ItemKey, to path: ExactText?) {
    let old = places[key]?.path
    if old == path, places[key] != nil { return }
    if let old { keysByPath[old]?.remove(key) }
    if let path { keysByPath[path, default: []].insert(key) }
    places[key, default: Place()].path = path
  }

  /// The image that a record had before the commit; nil if it had none.
  func old(_ key: ItemKey) -> SourceItems.OldImage? {
    places[key]?.imported.map { source in
      SourceItems.OldImage(name: EntityName.usable(GitPath.baseName(of: source.path.text))) { [past] in
        try past.read(source.hash).digest
      }
    }
  }

  /// The changes that the commit makes to images, in the order of the keys, so that an interrupted import that is
  /// continued makes the same images as an uninterrupted one.
  mutating func changes() throws -> [Change] {
    let wanted = affected.sorted().map { (key: $0, source: source(of: $0)) }
      .filter { $0.source != places[$0.key]?.imported }
    affected = []
    for (_, source) in wanted {
      if let source { try contents.ask(for: source.hash) }
    }
    return try wanted.map { key, source in
      let old = old(key)
      places[key]?.imported = source
      guard let source else { return (key, old, nil) }
      let name = GitPath.baseName(of: source.path.text)
      let content = try blobs.read(next: contents, name: name, keepsTexts: false)
      guard case .image(let blob, let mediaType) = content else { return (key, old, nil) }
      return (key, old, SourceItems.NewImage(name: EntityName.usable(name), mediaType: mediaType, blob: blob))
    }
  }
}
