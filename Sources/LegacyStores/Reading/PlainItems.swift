import CatalogModel

/// Things that are no objects: dictionaries, texts, numbers.
enum PlainItems {
  /// The thing that a dictionary is, told by its keys.
  private static func plan(_ fields: [String: Value], kind: String, _ mapping: FieldMapping) -> ItemPlan {
    func find(_ keys: [String]) -> String? { keys.first { fields.value(at: $0) != nil } }
    let hasTitle = find(["titleKey"]) != nil
    let thing: KindOfThing? =
      if hasTitle || isToDo(kind) {
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
    return ItemPlan(thing: thing, name: kind, categoryKey: nil, mapping: mapping, find: find)
  }

  private static func isToDo(_ kind: String) -> Bool { ["toDoItems", "doneItems", "toDo"].contains(kind) }

  /// - Parameter kind: what it is called if it is nothing that is known.
  static func item(_ value: Value, list: String, kind: String, mapping: FieldMapping) -> LegacyItem {
    guard case .dictionary(let fields) = value, fields[Reference.objectClass] == nil else {
      return LegacyItem(
        list: list, kind: mapping.kind ?? (isToDo(kind) ? "\(kind)Value" : kind), attributes: ["value": value]
      )
    }
    let plan = plan(fields, kind: kind, mapping)
    return LegacyItem(
      list: list, kind: plan.kind, className: className(plan.kind),
      attributes: plan.attributes(fields, className: "").attributes)
  }

  /// Which path of keys is which attribute in a dictionary.
  static func mapping(of value: Value, kind: String, _ mapping: FieldMapping) -> [String: String] {
    guard case .dictionary(let fields) = value else { return [:] }
    return plan(fields, kind: kind, mapping).attributes(fields, className: "").mapping
  }

  /// What stands in for the class of dictionaries, under which their keys are remembered.
  static func className(_ kind: String) -> String { "{\(kind)}" }
}
