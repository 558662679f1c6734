// Every listing reads a table or a part of an index lazily. It takes O(log n) to begin, and at most O(log n) for each
// element.
extension Catalog {
  /// All items, in the order of their numbers.
  public var items: Items { Items(rows: .all(itemTable)) }

  /// All categories, in the order of their numbers.
  public var categories: Categories { Categories(rows: .all(categoryTable)) }

  /// All images, in the order of their numbers.
  public var images: Images { Images(rows: .all(imageTable)) }

  /// The items of a category, in the order of their numbers.
  /// - Complexity: grows with the result, not with the catalog.
  public func items(in category: CategoryID) -> Items {
    reads?.note(ItemsRead(nil, [.category(category.number)]))
    return Items(rows: .listed(contents.itemsByCategory.members(of: category.number), in: contents.itemTable))
  }

  /// The items of a kind, in the order of their numbers. Kinds are compared byte by byte.
  /// - Complexity: grows with the result, not with the catalog.
  public func items(ofKind kind: String) -> Items {
    reads?.note(ItemsRead(ItemKind(kind), []))
    return Items(rows: .listed(contents.numbers(ofKind: kind), in: contents.itemTable))
  }

  /// The images of an item, in the order of their numbers.
  /// - Complexity: grows with the result, not with the catalog.
  public func images(of item: Catalog.Item.ID) -> Images {
    reads?.note(imagesOf: item.number)
    return Images(rows: .listed(contents.imagesByItem.members(of: item.number), in: contents.imageTable))
  }

  /// The kinds that at least one item has, in the order of their bytes.
  /// - Complexity: grows with the number of kinds that ever existed.
  public var kinds: [String] {
    let present = itemKindNumbers.texts.enumerated().filter { number, _ in
      itemsByKind.members(of: number).contains { _ in true }
    }
    return present.map(\.element).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
