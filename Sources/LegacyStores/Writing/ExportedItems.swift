import CatalogModel
import Foundation
import KeyedArchiving

/// The contents of a store as of a state: the layouts of its files, and the items and categories of each list.
struct ExportedItems {
  let catalog: Catalog
  let memory: ImportMemory
  /// Whether the files were never imported, so that their layout is unknown.
  let isNew: Bool
  /// The items of each list, in the order of the files.
  private(set) var lists: [String: [Catalog.Item.ID]] = [:]
  /// The categories of each list.
  private(set) var categoryLists: [String: [CategoryID]] = [:]
  /// The items of each category, in the order of the lists.
  private(set) var itemsByCategory: [CategoryID: [Catalog.Item.ID]] = [:]
  private(set) var rows: [Catalog.Item.ID: ImportMemory.Element] = [:]
  private(set) var groups: [CategoryID: ImportMemory.Group] = [:]
  private(set) var files: [String: FieldValue]
  private(set) var classes: [String: LegacyClass]
  /// All items, those of the lists first.
  private(set) var items: [Catalog.Item.ID] = []

  init(_ catalog: Catalog, _ memory: ImportMemory) {
    self.catalog = catalog
    self.memory = memory
    files = memory.files
    classes = memory.classes
    let standard = DefaultLayouts.layouts(of: memory.source)
    isNew = files.isEmpty
    if isNew { files = standard.files }
    // The import of an empty list does not show the form of its elements.
    let kinds = Set(classes.values.map(\.kind))
    if standard.classes.values.allSatisfy({ $0.kind.isEmpty || !kinds.contains($0.kind) }) {
      classes.merge(standard.classes) { known, _ in known }
    }
    for row in memory.rows where catalog.item(row.item) != nil {
      rows[row.item] = row
      lists[row.list, default: []].append(row.item)
    }
    for group in memory.groups where catalog.category(group.category) != nil {
      groups[group.category] = group
      if !group.list.isEmpty { categoryLists[group.list, default: []].append(group.category) }
    }
    addNewItems()
    addNewCategories()
    sortToDos()
    items = lists.sorted { $0.key < $1.key }.flatMap(\.value)
    for item in items {
      if let category = catalog.item(item)?.category { itemsByCategory[category, default: []].append(item) }
    }
  }

  /// Items that were added in the journal go to the end of the list of their kind.
  private mutating func addNewItems() {
    var kinds = Set(classes.values.map(\.kind)).union(DefaultLayouts.kinds(of: memory.source))
    kinds.subtract(["", LegacyClass.categories, ImportMemory.kind])
    var taken = Set(memory.rows.map(\.item))
    for name in ImportMemory.names(catalog, memory.source) where name != memory.name {
      taken.formUnion(ImportMemory(catalog, memory.source, name: name).rows.map(\.item))
    }
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

  private mutating func addNewCategories() {
    guard memory.source == .archive else { return }
    let known = Layout.lists(in: files)
    let list = categoryLists.keys.min() ?? known.first { $0.lowercased().contains("categor") }
    guard let list else { return }
    let ours = Set(memory.groups.map(\.category))
    for category in catalog.categories where !ours.contains(category.id) {
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
    let kind = KindOfThing.toDo.name
    var sorted: [String: [(order: Int64, item: Catalog.Item.ID)]] = [:]
    for (list, items) in lists where items.contains(where: { catalog.item($0)?.kind == kind }) {
      for id in items {
        guard let item = catalog.item(id), item.kind == kind else { continue }
        let isDone = item["done"] == .bool(true)
        let order: Int64 = if case .integer(let order)? = item["order"] { order } else { -1 }
        let isRight = list.lowercased().hasPrefix("done") == isDone
        sorted[isRight ? list : name(isDone), default: []].append((order, id))
      }
      lists[list]?.removeAll { catalog.item($0)?.kind == kind }
    }
    for (list, items) in sorted {
      lists[list, default: []] += items.sorted { ($0.order, $0.item) < ($1.order, $1.item) }.map(\.item)
    }
  }

  /// The class of an item's object; empty for a dictionary or a plain value.
  func className(of item: Catalog.Item) -> String {
    if let row = rows[item.id] { return row.className }
    let named = classes.filter { $0.value.kind == item.kind }.keys.sorted()
    return named.first { !$0.hasPrefix("{") } ?? named.first ?? ""
  }

  /// The path of keys for each attribute of a class, longest attributes first.
  func mapping(_ className: String, kind: String) -> [(path: String, attribute: String)] {
    var mapping = classes[className]?.mapping ?? [:]
    // An attribute that no object had yet gets the most likely key.
    let mapped = Set(mapping.values)
    if classes[className]?.chain.isEmpty ?? true,
      let thing = KindOfThing.all.first(where: { $0.name == kind })
    {
      for property in thing.properties where !mapped.contains(property.attribute) {
        mapping[property.keys[0]] = property.attribute
      }
    }
    return mapping.filter { !$0.value.hasPrefix("$") }.map { (path: $0.key, attribute: $0.value) }
      .sorted { ($0.path.utf8.count, $0.path) < ($1.path.utf8.count, $1.path) }
  }

  /// The attributes of an item, under the keys of the file.
  func fields(of item: Catalog.Item) -> [String: FieldValue] {
    var rest = item.attributes
    if item.kind == KindOfThing.toDo.name {
      rest["done"] = nil
      rest["order"] = nil
    }
    let className = className(of: item)
    let mapping = mapping(className, kind: item.kind)
    // Default values that the import added for the models are not exported.
    let mapped = Set(mapping.map(\.attribute))
    for property in KindOfThing.all.first(where: { $0.name == item.kind })?.properties ?? [] {
      guard let standard = property.standard, rest[property.attribute] == standard,
        !mapped.contains(property.attribute), classes[className]?.fields[property.attribute] == nil
      else { continue }
      rest[property.attribute] = nil
    }
    var moved: [(path: String, value: FieldValue)] = []
    for (path, attribute) in mapping {
      guard let value = rest.value(at: attribute) else { continue }
      rest.remove(at: attribute)
      moved.append((path, value))
    }
    for (path, value) in moved { rest.set(value, at: path) }
    return rest
  }
}

/// The files that the apps would have written, for items that were not imported.
enum DefaultLayouts {
  static func kinds(of source: LegacyStore.Source) -> [String] {
    switch source {
    case .archive: [KindOfThing.place.name]
    case .defaults: [KindOfThing.person.name]
    case .plist: [KindOfThing.toDo.name]
    case .scarybugs: [KindOfThing.bug.name]
    }
  }

  static func layouts(of source: LegacyStore.Source) -> (
    files: [String: FieldValue], classes: [String: LegacyClass]
  ) {
    var layouts = files(of: source)
    for name in layouts.classes.keys { layouts.classes[name]?.chain = [name, "NSObject"] }
    return layouts
  }

  private static func files(of source: LegacyStore.Source) -> (
    files: [String: FieldValue], classes: [String: LegacyClass]
  ) {
    func archived(_ list: String) -> FieldValue {
      Layout.archive(["root": Layout.list(list, className: "NSMutableArray")])
    }
    switch source {
    case .archive:
      var place = LegacyClass(
        kind: KindOfThing.place.name, ["locationName", "note", "category", "annotation"])
      place.mapping = [
        "locationName": "name", "annotation.latitude": "latitude", "annotation.longitude": "longitude",
        "category": "$category",
      ]
      place.note("annotation", as: "Annotation")
      var category = LegacyClass(
        kind: LegacyClass.categories, ["categoryName", "color", "pointsOfInterest", "categoryImage"])
      category.mapping = ["categoryName": "$name", "color": "$color", "pointsOfInterest": "$items"]
      return (
        Dictionary(
          uniqueKeysWithValues: ["annotations", "categories"].map {
            ($0, Layout.file(archived($0), isXML: false))
          }),
        [
          "POI": place, "Categories": category,
          "Annotation": LegacyClass(kind: "", ["latitude", "longitude"], form: LegacyClass.Form.real),
        ]
      )
    case .defaults:
      return (
        [
          "Preferences.plist": Layout.file(
            .dictionary(["personsArray": archived("personsArray")]), isXML: false)
        ], ["JSPerson": LegacyClass(kind: KindOfThing.person.name, ["name", "number"])]
      )
    case .plist:
      return (
        Dictionary(
          uniqueKeysWithValues: LegacyStore.toDoFiles.map {
            ($0, Layout.file(Layout.list($0, className: nil), isXML: true))
          }), [:]
      )
    case .scarybugs:
      var bug = LegacyClass(kind: KindOfThing.bug.name, ["Title", "Rating"])
      bug.mapping = ["Title": "title", "Rating": "rating"]
      return (
        [
          ScaryBugReader.dataFile: Layout.file(
            Layout.archive(["Data": Layout.element(ScaryBugReader.list)]), isXML: false)
        ], ["ScaryBugData": bug]
      )
    }
  }
}

extension LegacyClass {
  /// A class that is not described by any file.
  fileprivate init(kind: String, _ fields: [String], form: String = Form.null) {
    self.init()
    self.kind = kind
    for field in fields { note(field, form) }
  }

  fileprivate mutating func note(_ key: String, as form: String) { fields[key] = form }
}

extension Layout {
  /// The names of all lists in files, sorted by the files' names.
  static func lists(in files: [String: FieldValue]) -> [String] {
    files.sorted { $0.key < $1.key }.flatMap { lists(in: $0.value) }
  }

  private static func lists(in value: FieldValue) -> [String] {
    switch value {
    case .array(let elements): return elements.flatMap { lists(in: $0) }
    case .dictionary(let members):
      for key in [list, element, each] {
        if case .string(let name)? = members[key] { return [name] }
      }
      return members.sorted { $0.key < $1.key }.flatMap { lists(in: $0.value) }
    default: return []
    }
  }
}
