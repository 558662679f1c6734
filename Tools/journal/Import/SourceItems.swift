import CBOR
import CatalogModel
import EntitySearch
import SHA256

/// The items that an import makes of a source. What changed in the source since the last import is applied, what people
/// added in the journal stays, and conflicts are reported.
///
/// A conflict is an attribute, category or image that both sides have changed. The source's value is used, and history
/// keeps the other one. An item that the source lost stays if people have changed it. An item that people have deleted
/// comes back if the source changes it.
struct SourceItems {
  struct Version {
    var attributes: [String: FieldValue]
    var category: String?
  }

  /// The image of an item that the source had before.
  struct OldImage {
    let name: String
    let digest: () throws -> ContentDigest
  }

  struct NewImage {
    let name: String
    let mediaType: String
    let blob: PendingBlob
  }

  private let journal: CatalogJournal
  private let kind: String
  private let field: String
  private let report: ImportReport
  private var items: [ItemKey: Catalog.Item.ID] = [:]
  /// For each item that this import has changed, its image, which is then as the source has it; nil for an item without
  /// an image. Other items are missing.
  private var images: [ItemKey: ImageID?] = [:]
  private var categories: CategoryNames
  private var touched: Set<EntityKey> = []
  /// Items that people changed, so that they or their images stay although the source lost them.
  private var staying: Set<EntityKey> = []
  private var commit = ""
  /// The items whose key or kind people have changed, by the source's key; nil until first needed.
  private var renamed: [ItemKey: Catalog.Item.ID]?
  /// Whether an object that returns to the source becomes the same item again.
  private let restoresItems: Bool
  private var deleted: [ItemKey: Catalog.Item.ID] = [:]
  /// For each key, the item that was most recently deleted before this import, and whether people deleted it; nil until
  /// first needed.
  private var deletedBefore: [ItemKey: (item: Catalog.Item.ID, isByPeople: Bool)]?

  init(
    _ journal: CatalogJournal, kind: String, keyedBy field: String, restoresItems: Bool,
    _ report: ImportReport
  ) throws {
    self.journal = journal
    self.kind = kind
    self.field = field
    self.restoresItems = restoresItems
    self.report = report
    categories = CategoryNames(journal)
    try start(from: journal.state)
  }

  /// Looks up the items of a catalog. Called again if another node has changed the journal.
  mutating func start(from catalog: Catalog) throws {
    (items, images, renamed, deleted, deletedBefore) = ([:], [:], nil, [:], nil)
    try categories.start(from: catalog)
    for item in catalog.items(ofKind: kind) {
      guard let key = ItemKey(item[field]) else { continue }
      // If two items have one key, the item that got the key from the source counts.
      if let other = items[key].flatMap({ catalog.item($0) }), try sourceKey(of: other) == key { continue }
      items[key] = item.id
    }
  }

  mutating func begin(_ commit: GitCommit) {
    self.commit = commit.hash
    (touched, staying) = ([], [])
  }

  /// Ends a commit. If the commit has no effect except that items stay, its entry touches these items: without an
  /// entry, the next run would import the commit again.
  /// - Returns: the entities that may have changed.
  mutating func end(_ draft: inout Draft<Catalog>) throws -> Set<EntityKey> {
    try categories.deleteUnused(&draft, &touched)
    if !touched.contains(where: { draft.state.revision(of: $0) == draft.revision }) {
      for item in staying.sorted() { try draft.touch(item) }
      touched.formUnion(staying)
    }
    return touched
  }

  /// The keys of items that came from the source and are missing there now.
  func keys(_ isMissing: (ItemKey) -> Bool) throws -> Set<ItemKey> {
    Set(
      try items.filter { key, id in
        guard isMissing(key), let item = journal.state.item(id) else { return false }
        return try sourceKey(of: item) == key
      }.keys)
  }

  func has(_ key: ItemKey) -> Bool { items[key] != nil }

  /// Whether the text and the image of an item are known to be the source's.
  func isCurrent(_ key: ItemKey) -> Bool { images[key] != nil }

  /// Applies a change in the source to an item, or adds the item.
  /// - Parameters:
  ///   - wasThere: whether the source had the item before.
  ///   - old: the version that the source had before; nil if there was none.
  /// - Returns: whether the item was added.
  mutating func set(
    _ key: ItemKey, wasThere: Bool, from old: (Catalog.Item) throws -> Version?, to new: Version,
    in draft: inout Draft<Catalog>
  ) throws -> Bool {
    guard let item = try find(key, wasThere: wasThere, in: draft.state) else {
      try add(key, new, wasThere: wasThere, in: &draft)
      return true
    }
    let old = try old(item)
    var conflicts: [String] = []
    var category = item.category
    if old == nil || old?.category.map({ ExactText($0) }) != new.category.map({ ExactText($0) }) {
      let wanted = try self.category(named: new.category, in: &draft)
      if category != wanted, category != categories.known(old?.category) { conflicts.append("category") }
      category = wanted
    }
    var (set, removed): ([String: FieldValue], [String]) = ([:], [])
    let (before, after) = (EntityRecord(old?.attributes ?? [:]), EntityRecord(new.attributes))
    // Records that are nested too deeply can't be compared. Setting their attributes throws the reason.
    if (try? after.checkEncoding()) == nil {
      try draft.replaceAttributes(ofItem: item.id, with: new.attributes)
    }
    before.changes(to: after)?.visit { part, value in
      guard case .attribute(let name) = part else { return }
      if let value { set[name] = value } else { removed.append(name) }
      let current = item.record[name]
      if !Self.areSame(current, value), !Self.areSame(current, before[name]) {
        conflicts.append(name)
      }
    }
    try draft.updateItem(item.id, set: set, remove: removed)
    if category != item.category {
      categories.leave(item.category)
      try draft.setCategory(ofItem: item.id, to: category)
    }
    touched.insert(item.id.entity)
    if !conflicts.isEmpty {
      let isOne = conflicts.count == 1
      reportConflict(
        "\(name(item.id, key)): \(conflicts.sorted().joined(separator: " and ")) \(isOne ? "was" : "were") changed in "
          + "the journal too; the source's \(isOne ? "value is" : "values are") used, and the history has the "
          + "\(isOne ? "other" : "others")")
    }
    return false
  }

  private mutating func add(
    _ key: ItemKey, _ new: Version, wasThere: Bool, in draft: inout Draft<Catalog>
  ) throws {
    let category = try category(named: new.category, in: &draft)
    let item: Catalog.Item.ID
    if restoresItems || wasThere, let (former, isByPeople) = try deletedItem(key, in: draft.state) {
      item = former
      var fields = [ItemField.kind: FieldValue.string(kind)]
      fields[ItemField.category] = category?.value
      try draft.add(item.entity, EntityRecord(new.attributes, fields: fields))
      if isByPeople {
        reportConflict(
          "\(name(item, key)) was deleted in the journal, and is back, because the source has changed it")
      }
    } else {
      item = try draft.addItem(kind: kind, category: category, attributes: new.attributes)
    }
    items[key] = item
    images[key] = .some(nil)
    touched.insert(item.entity)
  }

  /// Deletes an item that the source lost, unless people have changed it.
  /// - Returns: whether the journal no longer has the item.
  mutating func delete(
    _ key: ItemKey, _ old: (Catalog.Item) throws -> Version, image: OldImage?, in draft: inout Draft<Catalog>
  ) throws -> Bool {
    guard let item = try find(key, wasThere: true, in: draft.state) else { return true }
    let old = try old(item)
    let (picture, isOurs) = try self.image(of: item.id, key, image, in: draft.state)
    let pictures = draft.state.images(of: item.id).map(\.id)
    guard EntityRecord(item.attributes) == EntityRecord(old.attributes), item.kind == kind,
      item.category == categories.known(old.category), try !isAddedByPeople(item),
      pictures.allSatisfy({ isOurs && $0 == picture?.id })
    else {
      staying.insert(item.id.entity)
      reportConflict(
        "\(name(item.id, key)) is no longer in the source, but was changed in the journal, so it stays")
      return false
    }
    categories.leave(item.category)
    touched.formUnion(pictures.map(\.entity) + [item.id.entity])
    try draft.deleteItem(item.id)
    (items[key], images[key]) = (nil, nil)
    deleted[key] = item.id
    return true
  }

  mutating func setImage(
    _ key: ItemKey, from old: OldImage?, to new: NewImage?, in draft: inout Draft<Catalog>
  ) throws {
    // The catalog's rules may have rejected the item.
    guard let item = items[key], draft.state.item(item) != nil else { return }
    var (image, isOurs) = try image(of: item, key, old, named: new?.name, in: draft.state)
    var conflict: String?
    if let new {
      let blob = try new.blob.wait()
      if let image {
        if !isOurs, image.blob != blob {
          conflict =
            "\(Catalog.name(of: image.id.entity)) was changed in the journal too; the source's is used, and the history "
            + "has the other"
        }
        // People may have renamed the image, so its name is set only if the name in the source has changed.
        let name = old?.name == new.name ? nil : new.name
        try draft.updateImage(image.id, name: name, mediaType: new.mediaType, blob: blob)
      } else {
        if !isOurs, old != nil {
          conflict = "the image was deleted in the journal, and is back, because the source has changed it"
        }
        let added = try draft.addImage(to: item, name: new.name, mediaType: new.mediaType, blob: blob)
        image = draft.state.image(added)
      }
    } else if let old = image {
      if isOurs {
        try draft.deleteImage(old.id)
        touched.insert(old.id.entity)
      } else {
        staying.insert(item.entity)
        conflict =
          "\(Catalog.name(of: old.id.entity)) is no longer in the source, but was changed in the journal, so it stays"
      }
      image = nil
    }
    if let image { touched.insert(image.id.entity) }
    images[key] = .some(image?.id)
    if let conflict { reportConflict("\(name(item, key)): \(conflict)") }
  }

  /// The image that an item has from the source, if any, and whether that image is still as the source had it.
  private func image(
    of item: Catalog.Item.ID, _ key: ItemKey, _ old: OldImage?, named name: String? = nil, in catalog: Catalog
  ) throws -> (Catalog.Image?, isOurs: Bool) {
    if let known = images[key] { return (known.flatMap { catalog.image($0) }, true) }
    let images = Array(catalog.images(of: item))
    if images.isEmpty && old == nil { return (nil, true) }
    if let digest = try old?.digest(), let image = images.first(where: { $0.blob.digest == digest }) {
      return (image, true)
    }
    return (images.first { ($0.name == old?.name) || $0.name == name }, false)
  }

  private mutating func category(named name: String?, in draft: inout Draft<Catalog>) throws -> CategoryID? {
    let category = try name.map { try categories.category(of: $0, &draft, &touched) }
    // If the catalog rejects the item, the category may be left without items.
    categories.leave(category)
    return category
  }

  private func reportConflict(_ message: String) { report.note(commit, message, isLoss: false) }

  private func name(_ item: Catalog.Item.ID, _ key: ItemKey) -> String {
    "\(Catalog.name(of: item.entity)) (\(key.text.shortened(to: 40)))"
  }

  private static func areSame(_ left: FieldValue?, _ right: FieldValue?) -> Bool {
    left.map { EntityRecord(["": $0]) } == right.map { EntityRecord(["": $0]) }
  }
}

extension SourceItems {
  private mutating func find(_ key: ItemKey, wasThere: Bool, in catalog: Catalog) throws -> Catalog.Item? {
    if let item = items[key].flatMap({ catalog.item($0) }) { return item }
    guard wasThere || restoresItems else { return nil }
    let renamed = try renamed ?? renamedItems()
    self.renamed = renamed
    guard let item = renamed[key].flatMap({ catalog.item($0) }) else { return nil }
    items[key] = item.id
    return item
  }

  private func renamedItems() throws -> [ItemKey: Catalog.Item.ID] {
    var found: [ItemKey: Catalog.Item.ID] = [:]
    for item in journal.state.items where item.modified > item.created {
      if let key = try sourceKey(of: item), key != ItemKey(item[field]) || item.kind != kind {
        found[key] = found[key] ?? item.id
      }
    }
    return found
  }

  /// The key with which an item was imported; nil if people added it, or if its origin was pruned or erased.
  private func sourceKey(of item: Catalog.Item) throws -> ItemKey? {
    guard try journal.isImported(item.created),
      let record = try journal.entity(item.id.entity, asOf: .revision(item.created))?.record,
      record[field: ItemField.kind] == .string(kind)
    else { return nil }
    return ItemKey(record[field])
  }

  /// Whether people added an item. False if its origin was pruned or erased.
  private func isAddedByPeople(_ item: Catalog.Item) throws -> Bool {
    if let base = journal.base, item.created <= base.revision { return false }
    guard item.created <= journal.head.revision else { return false }
    let entry = try journal.entry(at: item.created)
    return !entry.isAnnotationErased && entry.metadata[GitImport.Key.commit] == nil
      && entry.metadata[GitImport.Key.copy] == nil
  }

  private mutating func deletedItem(
    _ key: ItemKey, in catalog: Catalog
  ) throws -> (item: Catalog.Item.ID, isByPeople: Bool)? {
    if let item = deleted[key], catalog.item(item) == nil { return (item, false) }
    let known = try deletedBefore ?? deletedItems()
    deletedBefore = known
    guard let found = known[key], catalog.item(found.item) == nil, !catalog.isErased(found.item.entity) else {
      return nil
    }
    return found
  }

  private func deletedItems() throws -> [ItemKey: (item: Catalog.Item.ID, isByPeople: Bool)] {
    var newest: [ItemKey: (item: Catalog.Item.ID, revision: Revision)] = [:]
    try journal.find(EntityQuery(kind: kind), deleted: true) { found in
      if found.entity.kind == .item, let key = ItemKey(found.record[field]), let revision = found.deleted,
        newest[key].map({ $0.revision <= revision }) ?? true
      {
        newest[key] = (Catalog.Item.ID(found.entity.number), revision)
      }
      return true
    }
    return try newest.mapValues { ($0.item, isByPeople: try !journal.isImported($0.revision)) }
  }
}

extension Journal where State == Catalog {
  /// Whether an entry was made of a commit. False if the entry was pruned or its metadata were erased.
  func isImported(_ revision: Revision) throws -> Bool {
    // An entry after the head is one of this import, which does not wait until its entries are stored.
    if revision > head.revision { return true }
    if let base, revision <= base.revision { return false }
    return try entry(at: revision).metadata[GitImport.Key.commit] != nil
  }
}
