import CatalogModel

/// Follows the files that a template names, and finds the records whose image changes.
struct RecordImages {
  struct Change {
    struct Content {
      let name: String
      let mediaType: String
      let blob: PendingBlob
    }

    let key: ExactText
    /// The new image; nil if the record no longer has one.
    let content: Content?
  }

  /// The path of a record's image, and its version in the journal.
  private struct Place {
    var path: ExactText?
    /// The path and the git hash of the imported image; nil if there is none.
    var imported: Source?
  }

  private struct Source: Equatable {
    let path: ExactText
    let hash: String
  }

  private let template: ImageTemplate
  private let contents: GitBlobs
  private let blobs: BlobQueue
  /// The git hash of each file that a record could name.
  private var tree: [ExactText: String] = [:]
  private var places: [ExactText: Place] = [:]
  private var keysByPath: [ExactText: Set<ExactText>] = [:]
  /// The records to check when the commit is read.
  private var affected: Set<ExactText> = []

  /// Starts with the tree of the last commit that was imported, if there was one.
  init(
    _ template: ImageTemplate, _ repository: GitRepository, _ journal: CatalogJournal, _ items: RecordItems,
    after commit: String?
  ) throws {
    self.template = template
    contents = try GitBlobs(repository)
    blobs = BlobQueue(journal.blobs)
    guard let commit else { return }
    var tree: [ExactText: String] = [:]
    try repository.files(at: commit) { path, file in
      if file.hasContent, template.mayName(path) { tree[ExactText(path)] = file.hash }
    }
    self.tree = tree
    for key in items.keys {
      guard let known = items[key], let item = journal.state.item(known.item) else { continue }
      place(key, item.attributes)
      if known.image != nil, let path = places[key]?.path, let hash = tree[path] {
        places[key]?.imported = Source(path: path, hash: hash)
      }
    }
    affected = []
  }

  /// Notes what a commit did to a file.
  mutating func follow(_ change: GitChange) {
    guard template.mayName(change.path) else { return }
    let path = ExactText(change.path)
    tree[path] = change.file.flatMap { $0.hasContent ? $0.hash : nil }
    affected.formUnion(keysByPath[path] ?? [])
  }

  /// Notes the new path of a record's image.
  mutating func place(_ key: ExactText, _ attributes: [String: FieldValue]) {
    let path = template.path(key: key.text, attributes).map { ExactText($0) }
    var place = places[key] ?? Place()
    affected.insert(key)
    if place.path != path {
      if let old = place.path { remove(key, from: old) }
      if let path { keysByPath[path, default: []].insert(key) }
      place.path = path
    }
    places[key] = place
  }

  /// Notes that a record was deleted; its image is deleted with its item.
  mutating func forget(_ key: ExactText) {
    if let path = places.removeValue(forKey: key)?.path { remove(key, from: path) }
    affected.remove(key)
  }

  private mutating func remove(_ key: ExactText, from path: ExactText) {
    keysByPath[path]?.remove(key)
    if keysByPath[path]?.isEmpty == true { keysByPath[path] = nil }
  }

  /// The changes of the commit, with the bytes being stored; in the order of the keys, so that an interrupted run makes
  /// the same images as an uninterrupted one.
  mutating func changes() throws -> [Change] {
    var wanted: [(key: ExactText, source: Source?)] = []
    for key in affected.sorted() {
      let path = places[key]?.path
      let source = path.flatMap { path in tree[path].map { Source(path: path, hash: $0) } }
      if source != places[key]?.imported { wanted.append((key, source)) }
    }
    affected = []
    for (_, source) in wanted {
      if let source { try contents.ask(for: source.hash) }
    }
    return try wanted.map { key, source in
      places[key]?.imported = source
      guard let source else { return Change(key: key, content: nil) }
      let name = GitPath.baseName(of: source.path.text)
      var head: [UInt8] = []
      guard let blob = try blobs.add(next: contents, head: &head) else {
        return Change(key: key, content: nil)
      }
      let content = Change.Content(
        name: EntityName.usable(name), mediaType: MediaType.of(name: name, head: head), blob: blob)
      return Change(key: key, content: content)
    }
  }
}
