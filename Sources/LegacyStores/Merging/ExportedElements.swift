import CatalogModel
import Foundation
import SHA256

/// Finds the elements that an export wrote for items that were added in the journal.
///
/// No import has read such an element, so the memory has no row for it. It is recognized by its contents, up to what an
/// export changes: the types of numbers, and values that say nothing. Equal elements are matched with equal items in
/// order, so each of them is matched once.
struct ExportedElements {
  private let store: LegacyStore
  private let blobs: [[Blob?]]
  private let catalog: Catalog
  /// The items that no import knows, by contents; the first one is last.
  private var waiting: [[UInt8]: [Catalog.Item]] = [:]

  /// The item of each of these elements that an export wrote.
  /// - Complexity: O(n) in the contents of the items that no import knows, if there are any elements.
  static func items(
    of indexes: [Int], in store: LegacyStore, _ blobs: [[Blob?]], _ catalog: Catalog, _ memory: ImportMemory
  ) -> [Int: Catalog.Item.ID] {
    if indexes.isEmpty { return [:] }
    let kinds = Set(indexes.map { store.items[$0].kind }).subtracting([ImportMemory.kind])
    let known = Set(([memory] + memory.otherStores(catalog)).flatMap(\.rows).map(\.item))
    let added = kinds.sorted().flatMap { kind in
      catalog.items(ofKind: kind).filter { !known.contains($0.id) }
    }
    if added.isEmpty { return [:] }
    var elements = ExportedElements(store: store, blobs: blobs, catalog: catalog)
    for item in added.reversed() { elements.waiting[elements.contents(of: item), default: []].append(item) }
    return elements.match(indexes)
  }

  private init(store: LegacyStore, blobs: [[Blob?]], catalog: Catalog) {
    self.store = store
    self.blobs = blobs
    self.catalog = catalog
  }

  private mutating func match(_ indexes: [Int]) -> [Int: Catalog.Item.ID] {
    let contents = Dictionary(uniqueKeysWithValues: indexes.map { ($0, self.contents(ofElement: $0)) })
    var matches: [Int: Catalog.Item.ID] = [:]
    // First in the item's own category and list. The app may have moved the element since the export.
    for isAtItsPlace in [true, false] {
      for index in indexes where matches[index] == nil {
        guard let key = contents[index], let items = waiting[key],
          let place = items.lastIndex(where: { !isAtItsPlace || isPlaced($0, like: store.items[index]) })
        else { continue }
        matches[index] = waiting[key]?.remove(at: place).id
      }
    }
    return matches
  }

  private func isPlaced(_ item: Catalog.Item, like element: LegacyItem) -> Bool {
    let name = element.category.map { store.categories[$0].name.usableName }
    return item.category.flatMap { catalog.category($0) }?.name == name
      && (element.isDone == nil || item.isDone == element.isDone)
  }

  private func contents(ofElement index: Int) -> [UInt8] {
    let element = store.items[index]
    var images: [String: Blob] = [:]
    for (image, blob) in zip(element.images, blobs[index]) { images[image.name] = blob }
    return contents(element.kind, element.attributes, images) { key, target in
      key == Reference.category
        ? store.categories[target].name : store.items[target].label ?? store.items[target].kind
    }
  }

  private func contents(of item: Catalog.Item) -> [UInt8] {
    let images = Dictionary(catalog.images(of: item.id).map { ($0.name, $0.blob) }) { first, _ in first }
    return contents(item.kind, item.attributes, images) { catalog.name(ofTarget: $1, $0) }
  }

  /// - Parameter name: the name of an item or a category that a value refers to.
  private func contents(
    _ kind: String, _ attributes: [String: FieldValue], _ images: [String: Blob],
    name: (_ key: String, _ target: Int) -> String
  ) -> [UInt8] {
    var values: [String: FieldValue] = [:]
    // An export writes these as the list and the place of an element.
    let placing = kind == KnownKind.toDo.name ? KnownKind.toDo.others : []
    // The objects of an export have no field of that name.
    for (attribute, value) in attributes
    where !placing.contains(attribute) && attribute != Reference.objectClass {
      let named = value.resolvingReferences { .dictionary([$0: .string(name($0, $1))]) }.sortingSets
      let content = named.content(images)
      if content != .null { values[attribute] = content }
    }
    // All pictures of a bug are files. Other sources have only pictures that an attribute refers to.
    let files = store.source == .scarybugs ? images.values.map { Data($0.digest.bytes) } : []
    return EntityRecord([
      "kind": .string(kind), "attributes": .dictionary(values),
      "files": .array(files.sorted { $0.lexicographicallyPrecedes($1) }.map { .data($0) }),
    ]).bytes
  }
}

extension Catalog.Item {
  /// Whether a to-do is done.
  var isDone: Bool { self["done"] == .bool(true) }
}

extension FieldValue {
  /// The value without what an export may change: the type of a number, the name of an image, whether data are an
  /// image, and how a value without content is written.
  /// - Parameter images: the images that the value may refer to.
  func content(_ images: [String: Blob] = [:]) -> FieldValue {
    replacing { value in
      if let name = value.imageName { return .data(images[name].map { Data($0.digest.bytes) } ?? Data()) }
      switch value {
      case .string(""), .integer(0), .double(0): return .null
      case .dictionary where value.objectClass == "NSNull": return .null
      case .integer(let integer): return .double(Double(integer))
      case .unsigned(let integer): return .double(Double(integer))
      case .data(let data): return .data(Data(SHA256Hash.digest([UInt8](data)).bytes))
      default: return nil
      }
    }
  }
}
