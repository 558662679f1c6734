package import CatalogModel
import Foundation
import SHA256

/// The record of earlier imports of a store: the item for each element of the files, digests of what the files had, and
/// their layouts.
///
/// Separate items of the kind ``kind`` hold it, so the app's own items have no extra attributes. Because it is part of
/// the state, it has a history and past states, and a restore restores it too: the next import then sees the files as
/// changed.
struct ImportMemory {
  /// The kind of its items.
  static let kind = "legacyStore"
  /// How many elements one such item has, and how many bytes of them. Further elements are in further items, and an
  /// import rewrites only the items that change. An item has a limit of 16 MiB.
  private static let partLimit = (count: 2_000, bytes: 4 << 20)

  struct Element {
    /// The number of its item, which may be deleted.
    var item: Catalog.Item.ID
    var kind: String
    var list: String
    var key: String?
    var className: String
    /// The number of its category in the file.
    var category: CategoryID?
    var digests = Digests()
    /// Its images in the file.
    var images: [String: Picture] = [:]
    /// The keys in the file where they are not those of the class; see ``LegacyItem/sources``.
    var sources: [String: String] = [:]
    /// Whether people added its item and an export wrote it. An export leaves out or adds values that say nothing.
    var wasExported = false
  }

  struct Picture {
    /// The number of its image, which may be deleted.
    var image: ImageID
    var blob: Blob
  }

  /// A category of the files.
  struct Group: Codable {
    var category: CategoryID
    var list: String
    var className: String
    var name: String
    private var components: [Double]?
    var fields: [String: FieldValue]
    /// Whether it was in the journal before the files had it.
    var isAdopted: Bool

    init(_ found: LegacyCategory, number: CategoryID, list: String, isAdopted: Bool) {
      (category, self.list, className, name) = (number, list, found.className, found.name)
      components = found.color.map { [$0.red, $0.green, $0.blue, $0.alpha] }
      (fields, self.isAdopted) = (found.fields, isAdopted)
    }

    var color: Catalog.Color? {
      guard let components, components.count == 4 else { return nil }
      return Catalog.Color(
        red: components[0], green: components[1], blue: components[2], alpha: components[3])
    }
  }

  let source: LegacyStore.Source
  let name: String
  /// Its items, in the order of its parts. The store's own images belong to the first.
  private(set) var parts: [Catalog.Item.ID] = []
  /// The index of the first row in each part, as it is stored.
  private var starts: [Int] = []
  var rows: [Element] = []
  var groups: [Group] = []
  var files: [String: FieldValue] = [:]
  var classes: [String: LegacyClass] = [:]
  /// The paths of files with parts that the latest import could not read.
  var incomplete: Set<String> = []
  /// Whether another version of this library has written it, in a form that is not read.
  private(set) var isForeign = false

  /// The memory of a store. It is empty if nothing was imported.
  init(_ catalog: Catalog, _ source: LegacyStore.Source, name: String) {
    self.source = source
    self.name = name
    let found = Self.items(catalog, source).filter {
      $0["part"] != nil && Self.name(of: $0).utf8.elementsEqual(name.utf8)
    }
    func decoded<T: Decodable>(_ value: FieldValue) -> T? { try? ValueDecoder().decode(T.self, from: value) }
    var names: Set<[String]> = []
    rows.reserveCapacity(min(found.count * Self.partLimit.count, LegacyStore.itemLimit))
    for item in found.sorted(by: { ($0["part"]?.integer ?? 0, $0.id) < ($1["part"]?.integer ?? 0, $1.id) }) {
      parts.append(item.id)
      starts.append(rows.count)
      for value in item["rows"]?.array ?? [] {
        if let row = Element(value, after: rows.last, &names) { rows.append(row) } else { isForeign = true }
      }
      groups += item["categories"]?.array?.compactMap(decoded) ?? []
      files.merge(item["files"]?.dictionary ?? [:]) { $1 }
      incomplete.formUnion(item["incomplete"]?.array?.compactMap(\.string) ?? [])
      classes.merge((item["classes"]?.dictionary ?? [:]).compactMapValues(decoded)) { $1 }
    }
  }

  /// - Throws: ``LegacyError`` with code `unreadable` if it has a form that is not read.
  func checkForm() throws {
    guard isForeign else { return }
    throw LegacyError(
      .unreadable,
      "another version of this library has made the items of the kind legacyStore; once they are deleted, an import "
        + "recognizes the items that were not changed in the journal, and adds the others again")
  }

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

  /// Updates the items of the memory. Unchanged items get no event.
  /// - Parameter unchanged: how many of the first rows are as they are stored.
  mutating func write(to draft: inout Draft<Catalog>, unchanged: Int = 0) throws {
    // A part ends before a row that does not fit into it. So a part is unchanged if its rows and the next one are.
    let known = starts.prefix { $0 < unchanged }
    starts = []
    var next = 0
    repeat {
      let part = starts.count
      starts.append(next)
      if part + 1 < known.count {
        next = known[part + 1]
        // The first part has more than rows.
        if part == 0 { try write(draft.state.item(parts[0])?["rows"]?.array ?? [], 0, to: &draft) }
      } else {
        next = try write(part, from: next, to: &draft)
      }
    } while next < rows.count
    while parts.count > starts.count { try draft.deleteItem(parts.removeLast()) }
  }

  /// - Returns: the first row of the next part.
  private mutating func write(_ part: Int, from first: Int, to draft: inout Draft<Catalog>) throws -> Int {
    // Encoded, an element takes a kilobyte of memory, so only those of one part are.
    var chunk: [FieldValue] = []
    var bytes = 0
    for row in rows[first...] {
      let value = row.value
      let count = EntityRecord(["": value]).bytes.count
      if bytes > 0, chunk.count == Self.partLimit.count || bytes + count > Self.partLimit.bytes { break }
      chunk.append(value)
      bytes += count
    }
    try write(chunk, part, to: &draft)
    return first + chunk.count
  }

  private mutating func write(
    _ elements: [FieldValue], _ part: Int, to draft: inout Draft<Catalog>
  ) throws {
    let encoder = ValueEncoder()
    var attributes: [String: FieldValue] = [
      "source": .string(source.rawValue), "part": .integer(Int64(part)), "rows": .array(elements),
    ]
    if !name.isEmpty { attributes["name"] = .string(name) }
    if part == 0 {
      attributes["categories"] = try encoder.encode(groups)
      attributes["files"] = .dictionary(files)
      if !incomplete.isEmpty { attributes["incomplete"] = try encoder.encode(incomplete.sorted()) }
      attributes["classes"] = try encoder.encode(classes.mapValues(\.settled))
    }
    if part < parts.count {
      try draft.replaceAttributes(ofItem: parts[part], with: attributes)
    } else {
      parts.append(try draft.addItem(kind: Self.kind, attributes: attributes))
    }
  }
}

extension Catalog {
  /// The items in which imports remember what the files had of some entities.
  package func importMemories(of entities: [EntityKey]) -> [Catalog.Item.ID] {
    let numbers = Set(entities.filter { $0.kind == .item }.map(\.number))
    return items(ofKind: ImportMemory.kind).filter { memory in
      memory["rows"]?.array?.contains { row in
        (row["item"] ?? row[0])?.integer.map(numbers.contains) ?? false
      } ?? false
    }.map(\.id)
  }
}

// Elements as the memory stores them. There can be a million, for which `Codable` takes too long.
extension ImportMemory.Element {
  /// Nil if the value has another form.
  /// - Parameters:
  ///   - previous: the element before it, which mostly has the same texts. They then share memory.
  ///   - names: the lists of names of attributes that it may share.
  fileprivate init?(_ value: FieldValue, after previous: Self?, _ names: inout Set<[String]>) {
    guard let members = value.dictionary, let item = members["item"]?.integer,
      let kind = members["kind"]?.string, let list = members["list"]?.string,
      let className = members["className"]?.string, let digests = members["digests"]?.dictionary,
      let images = members["images"]?.dictionary, let sources = members["sources"]?.dictionary,
      let wasExported = members["wasExported"]?.bool
    else { return nil }
    func shared(_ text: String, _ other: String?) -> String {
      other.flatMap { $0.utf8.elementsEqual(text.utf8) ? $0 : nil } ?? text
    }
    self.item = Catalog.Item.ID(item)
    self.kind = shared(kind, previous?.kind)
    self.list = shared(list, previous?.list)
    self.className = shared(className, previous?.className)
    key = members["key"]?.string
    category = members["category"]?.integer.map { CategoryID($0) }
    self.digests = Digests(digests.compactMapValues(\.data), sharing: &names)
    self.images = images.compactMapValues(ImportMemory.Picture.init)
    self.sources = sources.compactMapValues(\.string)
    self.wasExported = wasExported
    guard self.digests.names.count == digests.count, self.images.count == images.count,
      self.sources.count == sources.count, (key == nil) == (members["key"]?.isNull ?? true),
      (category == nil) == (members["category"]?.isNull ?? true)
    else { return nil }
  }

  var value: FieldValue {
    var members: [String: FieldValue] = [
      "item": item.value, "kind": .string(kind), "list": .string(list), "className": .string(className),
      "digests": digests.value, "images": .dictionary(images.mapValues(\.value)),
      "sources": .dictionary(sources.mapValues { .string($0) }), "wasExported": .bool(wasExported),
    ]
    if let key { members["key"] = .string(key) }
    if let category { members["category"] = category.value }
    return .dictionary(members)
  }
}

extension ImportMemory.Picture {
  fileprivate init?(_ value: FieldValue) {
    guard let image = value["image"]?.integer, let byteCount = value["byteCount"]?.integer,
      let digest = value["digest"]?.data.flatMap({ ContentDigest(bytes: [UInt8]($0)) })
    else { return nil }
    (self.image, blob) = (ImageID(image), Blob(digest: digest, byteCount: byteCount))
  }

  fileprivate var value: FieldValue {
    [
      "image": image.value, "digest": .data(Data(blob.digest.bytes)),
      "byteCount": .integer(Int64(blob.byteCount)),
    ]
  }
}
