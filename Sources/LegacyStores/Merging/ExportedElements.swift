import CatalogModel
import Foundation
import SHA256

/// Finds the elements that an export wrote for items that were added in the journal.
///
/// No import has read such an element, so the memory has no row for it. It is recognized by its contents, up to what an
/// export changes: the types of numbers, and values that say nothing. Equal elements are matched with equal items in
/// order, so each of them is matched once.
enum ExportedElements {
  /// The item of each of these elements that an export wrote.
  /// - Complexity: O(n) in the contents of the items that no import knows, if there are any elements.
  static func items(
    of indexes: [Int], in store: LegacyStore, _ blobs: [[Blob?]], _ catalog: Catalog, _ memory: ImportMemory
  ) -> [Int: Catalog.Item.ID] {
    let kinds = Set(indexes.map { store.items[$0].kind }).subtracting([ImportMemory.kind])
    let known = Set(([memory] + memory.otherStores(catalog)).flatMap(\.rows).map(\.item))
    // The items that no import knows, by contents; the first one is last.
    var waiting: [Data: [Catalog.Item]] = [:]
    for item in kinds.sorted().flatMap({ catalog.items(ofKind: $0) }).reversed()
    where !known.contains(item.id) {
      let images = Dictionary(catalog.images(of: item.id).map { ($0.name, $0.blob) }) { first, _ in first }
      let contents = contents(store.source, item.kind, item.attributes, images) {
        catalog.name(ofTarget: $1, $0)
      }
      waiting[contents, default: []].append(item)
    }
    if waiting.isEmpty { return [:] }
    let keys = indexes.map { index in
      let element = store.items[index]
      let images = zip(element.images, blobs[index]).compactMap { image, blob in blob.map { (image.name, $0) }
      }
      return contents(
        store.source, element.kind, element.attributes, Dictionary(images) { first, _ in first },
        name: store.name(ofTarget:_:))
    }
    var matches: [Int: Catalog.Item.ID] = [:]
    // First in the item's own category and list. The app may have moved the element since the export.
    for isAtItsPlace in [true, false] {
      for (index, key) in zip(indexes, keys) where matches[index] == nil {
        let element = store.items[index]
        let category = element.category.map { store.categories[$0].name.usableName }
        let place = waiting[key]?.lastIndex { item in
          !isAtItsPlace
            || item.category.flatMap { catalog.category($0) }?.name == category
              && (element.isDone == nil || item.isDone == element.isDone)
        }
        if let place { matches[index] = waiting[key]?.remove(at: place).id }
      }
    }
    return matches
  }

  /// - Parameter name: the name of an item or a category that a value refers to.
  private static func contents(
    _ source: LegacyStore.Source, _ kind: String, _ attributes: [String: FieldValue],
    _ images: [String: Blob],
    name: (_ key: String, _ target: Int) -> String
  ) -> Data {
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
    let files = source == .scarybugs ? images.values.map { $0.digest.hex }.sorted() : []
    return ["kind": .string(kind), "values": .dictionary(values), "files": .array(files.map { .string($0) })]
      .fingerprint
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
