import CatalogModel

/// Items that are not objects: the dictionaries, texts and numbers of one list.
struct PlainItems {
  /// How the dictionaries of the list become items; nil if there are none.
  private let plan: ItemPlan?
  private let list: String
  private let kind: String

  /// - Parameters:
  ///   - values: all elements of the list, which together determine their kind.
  ///   - kind: the kind of the items if they are not a known one.
  init(_ values: [FieldValue], list: String, kind: String, mapping: FieldMapping) {
    let dictionaries = values.compactMap { value -> [String: FieldValue]? in
      guard case .dictionary(let fields) = value, fields[Reference.objectClass] == nil else { return nil }
      return fields
    }
    func find(_ keys: [String]) -> String? {
      keys.first { key in dictionaries.contains { $0.value(at: key) != nil } }
    }
    let isToDo = ["toDoItems", "doneItems"].contains(kind)
    let thing: KindOfThing? =
      if find(["titleKey"]) != nil || isToDo && find(["title"]) != nil {
        .toDo
      } else if find(["Title", "title"]) != nil, find(["Rating", "rating"]) != nil {
        .bug
      } else if find(KindOfThing.latitudeKeys) != nil, find(KindOfThing.longitudeKeys) != nil {
        .place
      } else if find(["name"]) != nil, find(KindOfThing.person.properties[1].keys) != nil {
        .person
      } else {
        nil
      }
    plan =
      dictionaries.isEmpty
      ? nil : ItemPlan(thing: thing, name: kind, categoryKey: nil, mapping: mapping, find: find)
    self.list = list
    self.kind = mapping.kind ?? (thing == nil ? kind : "\(kind)Value")
  }

  /// The item of an element, and the attribute for each path of its keys; nil if the app would skip it, like a to-do
  /// without a title.
  func item(_ value: FieldValue) -> (item: LegacyItem, mapping: [String: String])? {
    guard let plan, case .dictionary(let fields) = value, fields[Reference.objectClass] == nil else {
      return (LegacyItem(list: list, kind: kind, attributes: ["value": value]), [:])
    }
    let (attributes, mapping) = plan.attributes(fields, className: "")
    if plan.isToDo, attributes["title"] == nil { return nil }
    var item = LegacyItem(
      list: list, kind: plan.kind, className: Self.className(plan.kind), attributes: attributes)
    if plan.isToDo { item.isDone = list.lowercased().hasPrefix("done") }
    return (item, mapping)
  }

  /// A name in place of a class, under which the keys of dictionaries are stored.
  static func className(_ kind: String) -> String { "{\(kind)}" }
}
