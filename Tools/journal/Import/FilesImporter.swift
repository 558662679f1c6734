import CatalogModel

/// The form in which each file is an item of kind `file`, and its folder a category.
struct FilesImporter: CommitImporter {
  private static let kind = "file"
  /// The name of this form in an entry's metadata.
  static let source = "files"
  let preparedLimit = 16

  /// A file in the journal.
  private struct File {
    var item: Catalog.Item.ID
    var image: ImageID?
  }

  private let contents: GitBlobs
  private let blobs: BlobQueue
  private var files: [ExactText: File] = [:]
  private var folders = CategoryNames()

  /// Starts from the state of earlier commits.
  init(_ repository: GitRepository, _ journal: CatalogJournal) throws {
    contents = try GitBlobs(repository)
    blobs = BlobQueue(journal.blobs)
    start(from: journal.state)
  }

  mutating func start(from catalog: Catalog) {
    folders = CategoryNames(catalog)
    files = [:]
    for item in catalog.items(ofKind: Self.kind) {
      guard case .string(let path) = item["path"] else { continue }
      let image = catalog.images(of: item.id).first { _ in true }?.id
      files[ExactText(path)] = File(item: item.id, image: image)
    }
  }

  func willImport(_ commit: GitCommit) throws {
    for change in commit.changes {
      if let file = change.file, file.hasContent { try contents.ask(for: file.hash) }
    }
  }

  func prepare(_ commit: GitCommit, _ report: ImportReport) throws -> [(GitChange, FileContent)]? {
    guard !commit.changes.isEmpty else { return nil }
    return try commit.changes.map { change in
      guard let file = change.file, file.hasContent else { return (change, .none) }
      return (change, try FileContent(next: contents, name: GitPath.baseName(of: change.path), blobs))
    }
  }

  mutating func apply(
    _ changes: [(GitChange, FileContent)], of commit: GitCommit, to draft: inout Draft<Catalog>,
    _ report: ImportReport
  ) throws -> Set<EntityKey> {
    var touched: Set<EntityKey> = []
    for (change, content) in changes {
      if let file = change.file {
        try set(change.path, file, content, &draft, &touched)
      } else {
        try delete(change.path, &draft, &touched)
      }
    }
    try folders.deleteUnused(&draft, &touched)
    return touched
  }

  private mutating func delete(_ path: String, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>)
    throws
  {
    guard let file = files.removeValue(forKey: ExactText(path)) else { return }
    folders.leave(draft.state.item(file.item)?.category)
    if let image = file.image { touched.insert(.image(image)) }
    touched.insert(.item(file.item))
    try draft.deleteItem(file.item)
  }

  private mutating func set(
    _ path: String, _ gitFile: GitFile, _ content: FileContent, _ draft: inout Draft<Catalog>,
    _ touched: inout Set<EntityKey>
  ) throws {
    var attributes: [String: FieldValue] = [
      "path": .string(path), "mode": .string(gitFile.mode), "blob": .string(gitFile.hash),
    ]
    if case .text(let text) = content { attributes["text"] = .string(text) }
    var file: File
    if let known = files[ExactText(path)] {
      file = known
      try draft.replaceAttributes(ofItem: file.item, with: attributes)
    } else {
      let folder = try GitPath.folder(of: path).map { try folders.category(of: $0, &draft, &touched) }
      let item = try draft.addItem(kind: Self.kind, category: folder, attributes: attributes)
      file = File(item: item, image: nil)
    }
    touched.insert(.item(file.item))
    try setImage(of: &file, named: GitPath.baseName(of: path), content, &draft, &touched)
    files[ExactText(path)] = file
  }

  private func setImage(
    of file: inout File, named name: String, _ content: FileContent, _ draft: inout Draft<Catalog>,
    _ touched: inout Set<EntityKey>
  ) throws {
    if let image = file.image { touched.insert(.image(image)) }
    switch (content, file.image) {
    case (.image(let blob, let mediaType), let image?):
      try draft.updateImage(image, mediaType: mediaType, blob: blob.wait())
    case (.image(let blob, let mediaType), nil):
      let image = try draft.addImage(
        to: file.item, name: EntityName.usable(name), mediaType: mediaType, blob: blob.wait())
      file.image = image
      touched.insert(.image(image))
    case (_, let image?):
      try draft.deleteImage(image)
      file.image = nil
    case (_, nil):
      break
    }
  }
}
