import CatalogModel
import Foundation

/// The record of earlier imports of a store: the item for each element of the files, and the contents of the files at
/// that time.
///
/// It is stored in separate items of the kind ``kind``, so the app's own items have no extra attributes. As a part of
/// the state it has a history and past states, and a restore also restores it: the next import then sees the files as
/// changed.
struct ImportMemory {
  /// The kind of its items.
  static let kind = "legacyStore"
  /// How many elements one such item has; further elements are in further items. An import rewrites only those that
  /// change.
  static let partSize = 2_000

  /// An element of a list, as of the latest import.
  struct Element: Equatable {
    /// The number of its item, which may be deleted.
    var item: Catalog.Item.ID
    /// The item's attributes as of this revision are those of the file, except for ``kept``.
    var revision: Revision
    /// The fingerprint of the attributes in the file.
    var fingerprint: Data
    var list: String
    var key: String?
    var className: String
    /// The number of its category in the file.
    var category: CategoryID?
    /// Its images in the file.
    var images: [String: Picture] = [:]
    /// The file's values of attributes that differ in the journal; nil if the file has none.
    var kept: [String: FieldValue?] = [:]

    static func == (left: Element, right: Element) -> Bool { left.value.isIdentical(to: right.value) }
  }

  struct Picture: Equatable {
    /// The number of its image, which may be deleted.
    var image: ImageID
    var blob: Blob
  }

  /// A category of the files.
  struct Group: Equatable {
    var category: CategoryID
    var list: String
    var className: String
    var name: String
    var color: Catalog.Color?
    var fields: [String: FieldValue]

    static func == (left: Group, right: Group) -> Bool { left.value.isIdentical(to: right.value) }
  }

  let source: LegacyStore.Source
  let name: String
  /// Its items, in the order of its parts.
  private(set) var parts: [Catalog.Item.ID] = []
  var rows: [Element] = []
  var groups: [Group] = []
  var files: [String: FieldValue] = [:]
  var classes: [String: LegacyClass] = [:]

  /// The memory of a store; empty when nothing was imported.
  init(_ catalog: Catalog, _ source: LegacyStore.Source, name: String) {
    self.source = source
    self.name = name
    var found: [(part: Int64, item: Catalog.Item)] = []
    for item in catalog.items(ofKind: Self.kind) {
      guard let store = Self.store(of: item), store.source == source,
        store.name.utf8.elementsEqual(name.utf8),
        case .integer(let part)? = item["part"]
      else { continue }
      found.append((part, item))
    }
    found.sort { ($0.part, $0.item.id) < ($1.part, $1.item.id) }
    for (_, item) in found {
      parts.append(item.id)
      if case .array(let rows)? = item["rows"] { self.rows += rows.compactMap(Element.init) }
      if case .array(let groups)? = item["categories"] { self.groups += groups.compactMap(Group.init) }
      if case .dictionary(let files)? = item["files"] { self.files.merge(files) { $1 } }
      if case .dictionary(let classes)? = item["classes"] {
        self.classes.merge(classes.mapValues(LegacyClass.init)) { $1 }
      }
    }
  }

  /// The store of an item of this kind.
  private static func store(of item: Catalog.Item) -> (source: LegacyStore.Source, name: String)? {
    guard case .string(let text)? = item["source"], let source = LegacyStore.Source(rawValue: text) else {
      return nil
    }
    if case .string(let name)? = item["name"] { return (source, name) }
    return (source, "")
  }

  /// The names of all stores of a source that were imported into a journal.
  static func names(_ catalog: Catalog, _ source: LegacyStore.Source) -> [String] {
    var names: Set<String> = []
    for item in catalog.items(ofKind: kind) {
      if let found = store(of: item), found.source == source { names.insert(found.name) }
    }
    return names.sorted()
  }

  /// Updates the items of the memory; unchanged items get no event.
  mutating func write(to draft: inout Draft<Catalog>) throws {
    let chunks = stride(from: 0, to: max(rows.count, 1), by: Self.partSize).map {
      rows[$0..<min($0 + Self.partSize, rows.count)]
    }
    for (part, chunk) in chunks.enumerated() {
      var attributes: [String: FieldValue] = [
        "source": .string(source.rawValue), "part": .integer(Int64(part)),
        "rows": .array(chunk.map(\.value)),
      ]
      if !name.isEmpty { attributes["name"] = .string(name) }
      if part == 0 {
        attributes["categories"] = .array(groups.map(\.value))
        attributes["files"] = .dictionary(files)
        attributes["classes"] = .dictionary(classes.mapValues(\.value))
      }
      if part < parts.count {
        try draft.replaceAttributes(ofItem: parts[part], with: attributes)
      } else {
        parts.append(try draft.addItem(kind: Self.kind, attributes: attributes))
      }
    }
    while parts.count > chunks.count { try draft.deleteItem(parts.removeLast()) }
  }

  /// The item of the first part, to which the store's own images belong.
  var firstPart: Catalog.Item.ID? { parts.first }
}

extension ImportMemory.Element {
  var value: FieldValue {
    var parts: [FieldValue] = [
      item.value, .integer(Int64(revision)), .data(fingerprint), .string(list),
      key.map { .string($0) } ?? .null, .string(className),
      category?.value ?? .null,
    ]
    if !images.isEmpty || !kept.isEmpty {
      parts.append(
        .dictionary(
          images.mapValues {
            .array([
              $0.image.value, .data(Data($0.blob.digest.bytes)),
              .integer(Int64($0.blob.byteCount)),
            ])
          }))
    }
    if !kept.isEmpty { parts.append(.dictionary(kept.mapValues { .array($0.map { [$0] } ?? []) })) }
    return .array(parts)
  }

  /// Reads the form of ``value``, nil for anything else.
  init?(_ value: FieldValue) {
    guard case .array(let parts) = value, parts.count >= 7, case .integer(let item) = parts[0],
      case .integer(let revision) = parts[1], case .data(let fingerprint) = parts[2],
      case .string(let list) = parts[3], case .string(let className) = parts[5]
    else { return nil }
    self.item = Catalog.Item.ID(Int(item))
    self.revision = Revision(revision)
    self.fingerprint = fingerprint
    self.list = list
    self.className = className
    if case .string(let key) = parts[4] { self.key = key }
    if case .integer(let category) = parts[6] { self.category = CategoryID(Int(category)) }
    if parts.count > 7, case .dictionary(let images) = parts[7] {
      self.images = images.compactMapValues(ImportMemory.Picture.init)
    }
    if parts.count > 8, case .dictionary(let kept) = parts[8] {
      for case (let name, .array(let value)) in kept { self.kept[name] = .some(value.first) }
    }
  }
}

extension ImportMemory.Picture {
  init?(_ value: FieldValue) {
    guard case .array(let parts) = value, parts.count == 3, case .integer(let image) = parts[0],
      case .data(let bytes) = parts[1], case .integer(let byteCount) = parts[2], byteCount >= 0,
      let digest = ContentDigest(bytes: Array(bytes))
    else { return nil }
    self.image = ImageID(Int(image))
    blob = Blob(digest: digest, byteCount: Int(byteCount))
  }
}

extension ImportMemory.Group {
  var value: FieldValue {
    .array([
      category.value, .string(list), .string(className), .string(name),
      color.map { .array([.double($0.red), .double($0.green), .double($0.blue), .double($0.alpha)]) }
        ?? .null,
      .dictionary(fields),
    ])
  }

  init?(_ value: FieldValue) {
    guard case .array(let parts) = value, parts.count == 6, case .integer(let category) = parts[0],
      case .string(let list) = parts[1], case .string(let className) = parts[2],
      case .string(let name) = parts[3],
      case .dictionary(let fields) = parts[5]
    else { return nil }
    self.category = CategoryID(Int(category))
    self.list = list
    self.className = className
    self.name = name
    self.fields = fields
    if case .array(let components) = parts[4], components.count == 4,
      case .double(let red) = components[0], case .double(let green) = components[1],
      case .double(let blue) = components[2], case .double(let alpha) = components[3]
    {
      color = Catalog.Color(red: red, green: green, blue: blue, alpha: alpha)
    }
  }
}
