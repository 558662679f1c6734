package import CatalogModel
import Foundation

/// The record of earlier imports of a store: the item for each element of the files, and the contents of the files at
/// that time.
///
/// It is stored in separate items of the kind ``kind``, so the app's own items have no extra attributes. Because it is
/// part of the state, it has a history and past states, and a restore restores it too: the next import then sees the
/// files as changed.
struct ImportMemory {
  /// The kind of its items.
  static let kind = "legacyStore"
  /// How many elements one such item has. Further elements are in further items, and an import rewrites only the items
  /// that change.
  static let partSize = 2_000
  /// How many bytes of elements one such item has, unless a single one has more. An item has a limit of 16 MiB.
  private static let partByteLimit = 4 << 20

  /// An element of a list, as of the latest import.
  struct Element: Equatable {
    /// The number of its item, which may be deleted.
    var item: Catalog.Item.ID
    /// As of this revision, the item's attributes are those of the file, except for ``kept``. 0 if the journal has no
    /// such revision, because it is a copy without history.
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
    /// The keys in the file where they are not those of the class; see ``LegacyItem/sources``.
    var sources: [String: String] = [:]

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
    /// Whether it was in the journal before the files had it.
    var isAdopted = false

    static func == (left: Group, right: Group) -> Bool { left.value.isIdentical(to: right.value) }
  }

  let source: LegacyStore.Source
  let name: String
  /// The journal that the revisions belong to. A copy without history has the rows, but other revisions.
  private(set) var journal: String?
  /// Its items, in the order of its parts.
  private(set) var parts: [Catalog.Item.ID] = []
  var rows: [Element] = []
  var groups: [Group] = []
  var files: [String: FieldValue] = [:]
  var classes: [String: LegacyClass] = [:]
  /// The paths of files with parts that the latest import could not read.
  var incomplete: Set<String> = []

  /// The memory of a store. It is empty if nothing was imported.
  init(_ catalog: Catalog, _ source: LegacyStore.Source, name: String) {
    self.source = source
    self.name = name
    let found = Self.items(catalog, source).filter {
      $0["part"] != nil && Self.name(of: $0).utf8.elementsEqual(name.utf8)
    }
    for item in found.sorted(by: { ($0["part"]?.integer ?? 0, $0.id) < ($1["part"]?.integer ?? 0, $1.id) }) {
      parts.append(item.id)
      if let journal = item["journal"]?.string { self.journal = journal }
      rows += item["rows"]?.array?.compactMap(Element.init) ?? []
      groups += item["categories"]?.array?.compactMap(Group.init) ?? []
      files.merge(item["files"]?.dictionary ?? [:]) { $1 }
      incomplete.formUnion(item["incomplete"]?.array?.compactMap(\.string) ?? [])
      classes.merge((item["classes"]?.dictionary ?? [:]).mapValues(LegacyClass.init)) { $1 }
    }
  }

  /// The items of this kind, of all stores of a source.
  private static func items(_ catalog: Catalog, _ source: LegacyStore.Source) -> [Catalog.Item] {
    catalog.items(ofKind: kind).filter { $0["source"]?.string == source.rawValue }
  }

  private static func name(of item: Catalog.Item) -> String { item["name"]?.string ?? "" }

  /// The names of all stores of a source that were imported into a journal.
  static func names(_ catalog: Catalog, _ source: LegacyStore.Source) -> [String] {
    Set(items(catalog, source).map(name)).sorted()
  }

  /// All other stores, whose items and categories an export of this one leaves out. If nothing was imported from this
  /// source, an export converts items of other sources, so only the stores of this source count.
  func otherStores(_ catalog: Catalog) -> [ImportMemory] {
    let sources = files.isEmpty ? [source] : LegacyStore.Source.allCases
    return sources.flatMap { source in
      Self.names(catalog, source).filter { source != self.source || $0 != name }
        .map { ImportMemory(catalog, source, name: $0) }
    }
  }

  /// Forgets the revisions of the rows if they are those of another journal.
  mutating func enter(_ journal: JournalID) {
    if self.journal == journal.description { return }
    for index in rows.indices { rows[index].revision = 0 }
    self.journal = journal.description
  }

  /// Updates the items of the memory. Unchanged items get no event.
  mutating func write(to draft: inout Draft<Catalog>) throws {
    let chunks = stride(from: 0, to: max(rows.count, 1), by: Self.partSize).flatMap {
      Self.split(rows[$0..<min($0 + Self.partSize, rows.count)])
    }
    for (part, chunk) in chunks.enumerated() {
      var attributes: [String: FieldValue] = [
        "source": .string(source.rawValue), "part": .integer(Int64(part)),
        "rows": .array(chunk.map(\.value)),
      ]
      if !name.isEmpty { attributes["name"] = .string(name) }
      if part == 0 {
        if let journal { attributes["journal"] = .string(journal) }
        attributes["categories"] = .array(groups.map(\.value))
        attributes["files"] = .dictionary(files)
        if !incomplete.isEmpty {
          attributes["incomplete"] = .array(incomplete.sorted().map { .string($0) })
        }
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

  /// The elements in parts that are not too large. Only values that differ between the file and the journal make an
  /// element large.
  private static func split(_ rows: ArraySlice<Element>) -> [ArraySlice<Element>] {
    guard rows.count > 1, rows.contains(where: { !$0.kept.isEmpty }),
      EntityRecord(["rows": .array(rows.map(\.value))]).bytes.count > partByteLimit
    else { return [rows] }
    let middle = rows.startIndex + rows.count / 2
    return split(rows[..<middle]) + split(rows[middle...])
  }

  /// The item of the first part, to which the store's own images belong.
  var firstPart: Catalog.Item.ID? { parts.first }
}

extension Catalog {
  /// The items in which imports remember what the files had of some entities.
  package func importMemories(of entities: [EntityKey]) -> [Catalog.Item.ID] {
    let numbers = Set(entities.filter { $0.kind == .item }.map(\.number))
    return items(ofKind: ImportMemory.kind).filter { memory in
      memory["rows"]?.array?.contains { row in row[0]?.integer.map(numbers.contains) ?? false } ?? false
    }.map(\.id)
  }
}

extension ImportMemory.Element {
  var value: FieldValue {
    var parts: [FieldValue] = [
      item.value, .integer(Int64(revision)), .data(fingerprint), .string(list),
      key.map { .string($0) } ?? .null,
      .string(className), category?.value ?? .null,
    ]
    if !images.isEmpty || !kept.isEmpty || !sources.isEmpty {
      parts.append(.dictionary(images.mapValues(\.value)))
    }
    if !kept.isEmpty || !sources.isEmpty {
      parts.append(.dictionary(kept.mapValues { .array($0.map { [$0] } ?? []) }))
    }
    if !sources.isEmpty { parts.append(.dictionary(sources.mapValues { .string($0) })) }
    return .array(parts)
  }

  /// Reads the form of ``value``. Nil for any other value.
  init?(_ value: FieldValue) {
    guard let item = value[0]?.integer, let revision = value[1]?.integer, let fingerprint = value[2]?.data,
      let list = value[3]?.string, let className = value[5]?.string
    else { return nil }
    self.item = Catalog.Item.ID(item)
    self.revision = Revision(revision)
    self.fingerprint = fingerprint
    self.list = list
    self.className = className
    key = value[4]?.string
    category = value[6]?.integer.map { CategoryID($0) }
    images = value[7]?.dictionary?.compactMapValues(ImportMemory.Picture.init) ?? [:]
    for (name, kept) in value[8]?.dictionary ?? [:] {
      if let kept = kept.array { self.kept[name] = .some(kept.first) }
    }
    sources = value[9]?.dictionary?.compactMapValues(\.string) ?? [:]
  }
}

extension ImportMemory.Picture {
  var value: FieldValue {
    [image.value, .data(Data(blob.digest.bytes)), .integer(Int64(blob.byteCount))]
  }

  init?(_ value: FieldValue) {
    guard let image = value[0]?.integer, let bytes = value[1]?.data, let byteCount = value[2]?.integer,
      byteCount >= 0, let digest = ContentDigest(bytes: Array(bytes))
    else { return nil }
    self.image = ImageID(image)
    blob = Blob(digest: digest, byteCount: byteCount)
  }
}

extension ImportMemory.Group {
  init(_ found: LegacyCategory, number: CategoryID, list: String, isAdopted: Bool) {
    self.init(
      category: number, list: list, className: found.className, name: found.name, color: found.color,
      fields: found.fields, isAdopted: isAdopted)
  }

  var value: FieldValue {
    let components = color.map { [$0.red, $0.green, $0.blue, $0.alpha] }
    return .array(
      [
        category.value, .string(list), .string(className), .string(name),
        components.map { .array($0.map { .double($0) }) } ?? .null, .dictionary(fields),
      ] + (isAdopted ? [true] : []))
  }

  init?(_ value: FieldValue) {
    guard let category = value[0]?.integer, let list = value[1]?.string, let className = value[2]?.string,
      let name = value[3]?.string, let fields = value[5]?.dictionary
    else { return nil }
    self.category = CategoryID(category)
    self.list = list
    self.className = className
    self.name = name
    self.fields = fields
    isAdopted = value[6] == true
    if let color = value[4]?.array?.compactMap(\.double), color.count == 4 {
      self.color = Catalog.Color(red: color[0], green: color[1], blue: color[2], alpha: color[3])
    }
  }
}
