import CatalogModel

/// Imports each file as an item of kind `file`, and its folder as a category.
struct FilesImporter: CommitImporter {
  private static let kind = "file"
  /// This form of import, as the metadata of entries name it.
  static let source = "files"
  let preparedLimit = 16

  private let repository: GitRepository
  private let contents: GitBlobs
  private let past: PastContents
  private let blobs: BlobQueue
  private var items: SourceItems

  init(_ repository: GitRepository, _ journal: CatalogJournal, _ report: ImportReport) throws {
    self.repository = repository
    contents = try GitBlobs(repository)
    past = PastContents(repository)
    blobs = BlobQueue(journal.blobs)
    items = try SourceItems(journal, kind: Self.kind, keyedBy: "path", restoresItems: false, report)
  }

  mutating func start(from catalog: Catalog) throws { try items.start(from: catalog) }

  func willImport(_ commit: GitCommit) throws {
    for change in commit.changes {
      if let file = change.file, file.hasContent { try contents.ask(for: file.hash) }
    }
  }

  func prepare(_ commit: GitCommit) throws -> [(GitChange, FileContent)]? {
    guard !commit.changes.isEmpty else { return nil }
    return try commit.changes.map { change in
      guard let file = change.file, file.hasContent else { return (change, .none) }
      let name = GitPath.baseName(of: change.path)
      return (change, try blobs.read(next: contents, name: name, keepsTexts: true))
    }
  }

  mutating func apply(
    _ changes: [(GitChange, FileContent)], of commit: GitCommit, to draft: inout Draft<Catalog>
  ) throws -> Set<EntityKey> {
    items.begin(commit)
    for (change, content) in changes { try apply(change, content, commit, &draft) }
    return try items.end(&draft)
  }

  private mutating func apply(
    _ change: GitChange, _ content: FileContent, _ commit: GitCommit, _ draft: inout Draft<Catalog>
  ) throws {
    let key = ItemKey(path: change.path)
    let name = EntityName.usable(GitPath.baseName(of: change.path))
    // If a deleted file is back and its item stayed, the version before the deletion counts as the old one.
    let before =
      try change.old ?? (items.has(key) ? repository.lastVersion(of: change.path, before: commit.hash) : nil)
    // The old text is read only if neither the item nor the new content is known to have it.
    let isCurrent = items.isCurrent(key)
    let isOldRead = !isCurrent && before?.hash != change.file?.hash
    let old = try isOldRead ? before.flatMap { try $0.hasContent ? past.read($0.hash) : nil } : nil
    func version(_ file: GitFile, _ text: String?) -> SourceItems.Version {
      var attributes = ["path": change.path, "mode": file.mode, "blob": file.hash]
      attributes["text"] = text
      return SourceItems.Version(
        attributes: attributes.mapValues { .string($0) }, category: GitPath.folder(of: change.path))
    }
    func oldText(of item: Catalog.Item) -> String? {
      isOldRead ? old?.text : isCurrent ? item["text"]?.string : content.text
    }
    var oldImage: SourceItems.OldImage?
    if let before, before.hasContent, old?.text == nil {
      oldImage = SourceItems.OldImage(name: name) { [past] in try old?.digest ?? past.read(before.hash).digest
      }
    }
    guard let file = change.file else {
      if let before {
        _ = try items.delete(key, { version(before, oldText(of: $0)) }, image: oldImage, in: &draft)
      }
      return
    }
    let isAdded = try items.set(
      key, wasThere: before != nil, from: { item in before.map { version($0, oldText(of: item)) } },
      to: version(file, content.text), in: &draft)
    guard isAdded || before?.hash != file.hash else { return }
    var image: SourceItems.NewImage?
    if case .image(let blob, let mediaType) = content {
      image = SourceItems.NewImage(name: name, mediaType: mediaType, blob: blob)
    }
    try items.setImage(key, from: oldImage, to: image, in: &draft)
  }
}
