import CatalogModel

/// Items that are not objects: the dictionaries, texts and numbers of one list.
struct PlainItems {
  /// How the dictionaries of the list become items. Nil if there are none.
  private let plan: ItemPlan?
  private let list: String
  private let kind: String

  /// - Parameters:
  ///   - values: all elements of the list, which together determine their kind.
  ///   - kind: the kind of the items if they are not a known one.
  init(_ values: [FieldValue], list: String, kind: String, mapping: FieldMapping) {
    let dictionaries = values.compactMap(Self.fields)
    // The dictionaries are searched only for paths whose first key one of them has.
    let names = dictionaries.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    func find(_ keys: [String]) -> String? {
      keys.first { key in
        (names.contains(key) || names.contains(String(key.prefix { $0 != "." })))
          && dictionaries.contains { $0.value(at: key) != nil }
      }
    }
    func has(_ keys: [String]) -> Bool { find(keys) != nil }
    let isToDo = LegacyStore.toDoFiles.contains("\(kind).plist")
    let known: KnownKind? =
      has(["titleKey"]) || isToDo && has(["title"]) ? KnownKind.toDo : KnownKind.guess(has)
    plan =
      dictionaries.isEmpty
      ? nil : ItemPlan(known, name: kind, categoryKey: nil, mapping: mapping, find: find)
    self.list = list
    self.kind = mapping.kind ?? (known == nil ? kind : "\(kind)Value")
  }

  /// The item for an element, or nil if the app would skip it, as it does with a to-do without a title.
  /// - Parameter classes: records the keys of dictionaries, under a name in place of a class.
  func item(_ value: FieldValue, noting classes: inout [String: LegacyClass]) -> LegacyItem? {
    guard let plan, let fields = Self.fields(value) else {
      return LegacyItem(list: list, kind: kind, attributes: ["value": value])
    }
    let (attributes, sources) = plan.attributes(fields, className: "")
    if plan.isToDo, attributes["title"] == nil { return nil }
    var item = LegacyItem(list: list, kind: plan.kind, className: "{\(plan.kind)}", attributes: attributes)
    item.sources = sources
    if plan.isToDo { item.isDone = list.lowercased().hasPrefix("done") }
    classes.note(item, plan)
    classes[item.className]?.note(fields)
    return item
  }

  /// The members of a dictionary that is neither the explicit form of an object nor a reference to an image.
  private static func fields(_ value: FieldValue) -> [String: FieldValue]? {
    value.objectClass == nil && !value.isReference ? value.dictionary : nil
  }
}
