import CatalogModel
import Foundation
import KeyedArchiving

/// The contents of a store as of a state: the layouts of its files, and the items and categories of each list.
struct ExportedItems {
  let catalog: Catalog
  let memory: ImportMemory
  /// Whether the files were never imported, so that their layout is unknown.
  let isNew: Bool
  /// In the order of the files.
  private(set) var lists: [String: [Catalog.Item.ID]] = [:]
  private(set) var categoryLists: [String: [CategoryID]] = [:]
  /// The items of each category, in the order of the lists.
  private(set) var itemsByCategory: [CategoryID: [Catalog.Item.ID]] = [:]
  private(set) var rows: [Catalog.Item.ID: ImportMemory.Element] = [:]
  private(set) var groups: [CategoryID: ImportMemory.Group] = [:]
  /// The categories of items in the files.
  private(set) var categoriesInFiles: Set<CategoryID> = []
  private(set) var files: [String: FieldValue]
  private(set) var classes: [String: LegacyClass]
  /// All items, list by list.
  private(set) var items: [Catalog.Item.ID] = []

  init(_ catalog: Catalog, _ memory: ImportMemory) {
    self.catalog = catalog
    self.memory = memory
    files = memory.files
    classes = memory.classes
    isNew = files.isEmpty
    if isNew { files = DefaultLayouts.files(of: memory.source) }
    // The import of an empty list does not show the form of its elements.
    let kinds = Set(classes.values.map(\.kind)).subtracting([""])
    let standard = DefaultLayouts.classes(of: memory.source)
    if kinds.isDisjoint(with: standard.values.map(\.kind)) { classes.merge(standard) { known, _ in known } }
    categoriesInFiles = Set(memory.rows.compactMap(\.category))
    for row in memory.rows where catalog.item(row.item) != nil {
      rows[row.item] = row
      lists[row.list, default: []].append(row.item)
    }
    for group in memory.groups where catalog.category(group.category) != nil {
      groups[group.category] = group
      if !group.list.isEmpty { categoryLists[group.list, default: []].append(group.category) }
    }
    let others = memory.otherStores(catalog)
    addNewItems(except: Set(([memory] + others).flatMap(\.rows).map(\.item)))
    addNewCategories(except: Set(others.flatMap(\.groups).map(\.category)))
    sortToDos()
    items = lists.sorted { $0.key < $1.key }.flatMap(\.value)
    for item in items {
      if let category = catalog.item(item)?.category { itemsByCategory[category, default: []].append(item) }
    }
  }

  /// Items that were added in the journal go to the end of the list of their kind.
  private mutating func addNewItems(except taken: Set<Catalog.Item.ID>) {
    let kinds = Set(classes.values.map(\.kind) + [DefaultLayouts.kind(of: memory.source)])
      .subtracting(["", LegacyClass.categories, ImportMemory.kind])
    let known = Layout.lists(in: files)
    for kind in kinds.sorted() {
      let used = lists.filter { _, items in items.contains { catalog.item($0)?.kind == kind } }.keys
      let list =
        used.filter { known.contains($0) }.min() ?? known.first { !$0.lowercased().contains("categor") }
        ?? known.first
        ?? memory.source.rawValue
      for item in catalog.items(ofKind: kind) where !taken.contains(item.id) {
        lists[list, default: []].append(item.id)
      }
    }
  }

  /// Categories of the journal go to the end of the list of categories; those of another store only if items are in them.
  private mutating func addNewCategories(except others: Set<CategoryID>) {
    guard memory.source == .archive else { return }
    let known = Layout.lists(in: files)
    let list = categoryLists.keys.min() ?? known.first { $0.lowercased().contains("categor") }
    guard let list else { return }
    let ours = Set(memory.groups.map(\.category))
    let used = Set(lists.values.joined().compactMap { catalog.item($0)?.category })
    for category in catalog.categories where !ours.contains(category.id) {
      if others.contains(category.id), !used.contains(category.id) { continue }
      categoryLists[list, default: []].append(category.id)
    }
  }

  /// The attributes of a to-do determine its list and its order, wherever it came from.
  private mutating func sortToDos() {
    func name(_ isDone: Bool) -> String {
      let known = Layout.lists(in: files)
      return known.first { $0.lowercased().hasPrefix("done") == isDone }
        ?? LegacyStore.toDoFiles[isDone ? 1 : 0]
    }
    let kind = KnownKind.toDo.name
    var sorted: [String: [(order: Int, item: Catalog.Item.ID)]] = [:]
    for (list, items) in lists where items.contains(where: { catalog.item($0)?.kind == kind }) {
      for id in items {
        guard let item = catalog.item(id), item.kind == kind else { continue }
        let isRight = list.lowercased().hasPrefix("done") == item.isDone
        sorted[isRight ? list : name(item.isDone), default: []].append((item["order"]?.integer ?? .max, id))
      }
      lists[list]?.removeAll { catalog.item($0)?.kind == kind }
    }
    for (list, items) in sorted {
      lists[list, default: []] += items.sorted { ($0.order, $0.item) < ($1.order, $1.item) }.map(\.item)
      // The app has no file for an empty list, so the import found none.
      if files[list] == nil, let file = DefaultLayouts.files(of: .plist)[list] { files[list] = file }
    }
  }

  /// The elements of a list: its items and, where they were in the file, the elements that are not items.
  /// - Parameter layout: the layout of the list.
  func elements(
    of list: String, _ layout: FieldValue, item: (Catalog.Item.ID) -> FieldValue
  ) -> [FieldValue] {
    let items = lists[list] ?? []
    var skipped: [Int: [FieldValue]] = [:]
    for (element, place) in zip(layout[Layout.skipped]?.array ?? [], layout[Layout.places]?.array ?? []) {
      skipped[place.integer ?? 0, default: []].append(element)
    }
    if skipped.isEmpty { return items.map(item) }
    // What followed an item that is not in the list any more follows the one before.
    let present = Set(items)
    var last: Catalog.Item.ID?
    var after = [last: skipped.removeValue(forKey: 0) ?? []]
    for (index, row) in memory.rows.filter({ $0.list == list }).enumerated() {
      if present.contains(row.item) { last = row.item }
      after[last, default: []] += skipped.removeValue(forKey: index + 1) ?? []
    }
    // The catalog's rules may have rejected the items before the rest.
    let rest = skipped.sorted { $0.key < $1.key }.flatMap(\.value)
    return after[nil, default: []] + items.flatMap { [item($0)] + after[$0, default: []] } + rest
  }

  /// The class of an item's object. Empty for a dictionary or a plain value.
  func className(of item: Catalog.Item) -> String {
    if let row = rows[item.id] { return row.className }
    let named = classes.filter { $0.value.kind == item.kind }.keys.sorted()
    return named.first { !$0.hasPrefix("{") } ?? named.first ?? ""
  }

  /// The path of keys for each attribute of a class. If an attribute has several, the most likely path comes first,
  /// then the shortest.
  /// - Parameter sources: the paths of one item where they are not those of the class.
  private func mapping(
    _ className: String, _ known: KnownKind?, _ sources: [String: String]
  ) -> [(path: String, attribute: String)] {
    var mapping = classes[className]?.mapping ?? [:]
    // An attribute that no object has had gets the most likely key.
    if let known, classes[className]?.chain.isEmpty ?? true {
      let mapped = Set(mapping.values)
      for property in known.properties where !mapped.contains(property.attribute) {
        mapping[property.keys[0]] = property.attribute
      }
    }
    for (attribute, path) in sources where !path.isEmpty {
      mapping = mapping.filter { $0.value != attribute }
      mapping[path] = attribute
    }
    func rank(_ path: String) -> Int {
      known?.properties.compactMap { $0.keys.firstIndex(of: path) }.first ?? .max
    }
    return mapping.filter { !$0.value.hasPrefix("$") }
      .map { (path: $0.key, attribute: $0.value, rank: rank($0.key)) }
      .sorted { ($0.rank, $0.path.utf8.count, $0.path) < ($1.rank, $1.path.utf8.count, $1.path) }
      .map { (path: $0.path, attribute: $0.attribute) }
  }

  /// The attributes of an item, under the keys of the file.
  func fields(of item: Catalog.Item) -> [String: FieldValue] {
    let known = KnownKind.named(item.kind)
    let className = className(of: item)
    let sources = rows[item.id]?.sources ?? [:]
    let mapping = mapping(className, known, sources)
    var rest = item.attributes
    rest[Reference.top] = nil
    if item.kind == KnownKind.toDo.name { for name in KnownKind.toDo.others { rest[name] = nil } }
    let mapped = Set(mapping.map(\.attribute))
    // Default values that the import added for the models are not exported.
    for property in known?.properties ?? [] {
      let attribute = property.attribute
      guard let standard = property.standard, let value = rest[attribute] else { continue }
      let isField = mapped.contains(attribute) || classes[className]?.fields[attribute] != nil
      let isDefault = sources[attribute] == "" ? value.content() == .null : value == standard && !isField
      if isDefault { rest[attribute] = nil }
    }
    var moved: [(path: String, attribute: String, value: FieldValue)] = []
    for (path, attribute) in mapping {
      guard let value = rest.value(at: attribute) else { continue }
      rest.remove(at: attribute)
      moved.append((path, attribute, value))
    }
    // A field comes before fields of the object in it.
    for (path, attribute, value) in moved.sorted(by: { $0.path.utf8.count < $1.path.utf8.count }) {
      // The item may hold a value of another type under that key, which stays.
      if rest.hasRoom(at: path) {
        rest.set(value, at: path)
      } else if value.content() != .null {
        rest.set(value, at: attribute)
      }
    }
    return rest
  }
}

/// The files that the apps would have written, for items that were not imported.
enum DefaultLayouts {
  /// The kind of the items of a source.
  static func kind(of source: LegacyStore.Source) -> String {
    switch source {
    case .archive: KnownKind.place.name
    case .defaults: KnownKind.person.name
    case .plist: KnownKind.toDo.name
    case .scarybugs: KnownKind.bug.name
    }
  }

  static func files(of source: LegacyStore.Source) -> [String: FieldValue] {
    func archive(_ list: String) -> FieldValue {
      Layout.archive(["root": Layout.list(list, className: "NSMutableArray")])
    }
    let contents: [String: FieldValue] =
      switch source {
      case .archive: ["annotations": archive("annotations"), "categories": archive("categories")]
      case .defaults: ["Preferences.plist": ["personsArray": archive("personsArray")]]
      case .plist:
        Dictionary(
          uniqueKeysWithValues: LegacyStore.toDoFiles.map { ($0, Layout.list($0, className: nil)) })
      case .scarybugs:
        [ScaryBugReader.dataFile: Layout.archive(["Data": Layout.element(ScaryBugReader.list)])]
      }
    return contents.mapValues { Layout.file($0, isXML: source == .plist) }
  }

  static func classes(of source: LegacyStore.Source) -> [String: LegacyClass] {
    let (null, real) = (LegacyClass.Form.null, LegacyClass.Form.real)
    switch source {
    case .archive:
      return [
        "POI": described(
          "POI", kind: kind(of: source),
          ["locationName": null, "note": null, "category": null, "annotation": "Annotation"],
          [
            "locationName": "name", "annotation.latitude": "latitude", "annotation.longitude": "longitude",
            "category": "$category",
          ]),
        "Categories": described(
          "Categories", kind: LegacyClass.categories,
          ["categoryName": null, "color": null, "pointsOfInterest": null, "categoryImage": null],
          ["categoryName": "$name", "color": "$color", "pointsOfInterest": "$items"]),
        "Annotation": described("Annotation", kind: "", ["latitude": real, "longitude": real]),
      ]
    case .defaults:
      return ["JSPerson": described("JSPerson", kind: kind(of: source), ["name": null, "number": null])]
    case .plist: return [:]
    case .scarybugs:
      return [
        "ScaryBugData": described(
          "ScaryBugData", kind: kind(of: source), ["Title": null, "Rating": real],
          ["Title": "title", "Rating": "rating"])
      ]
    }
  }

  private static func described(
    _ name: String, kind: String, _ fields: KeyValuePairs<String, String>, _ mapping: [String: String] = [:]
  ) -> LegacyClass {
    var described = LegacyClass()
    described.chain = [name, "NSObject"]
    (described.kind, described.mapping) = (kind, mapping)
    for (field, form) in fields { described.note(field, form) }
    return described
  }
}
