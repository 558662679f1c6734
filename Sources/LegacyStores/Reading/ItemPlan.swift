import CatalogModel

/// How the objects of one class, or the dictionaries of one list, become items: the attribute for each key.
struct ItemPlan {
  let kind: String
  private let thing: KindOfThing?
  /// The key of an item's category, nil if there is none.
  let categoryKey: String?
  /// Each attribute, the path of keys to it, and its type.
  private(set) var moves: [(path: String, attribute: String, sort: KindOfThing.Sort?)] = []
  /// The attribute for each path.
  var mapping: [String: String] { Dictionary(moves.map { ($0.path, $0.attribute) }) { first, _ in first } }

  /// - Parameters:
  ///   - name: the kind of the items if they are not a known one.
  ///   - find: finds the path to the first of some keys that exists.
  init(
    thing: KindOfThing?, name: String, categoryKey: String?, mapping: FieldMapping,
    find: (_ keys: [String]) -> String?
  ) {
    self.thing = thing
    kind = mapping.kind ?? thing?.name ?? name
    self.categoryKey = categoryKey
    var taken: Set<String> = []
    for property in thing?.properties ?? [] {
      let path: String? =
        switch mapping.wish(property.attribute) {
        case .some(let wish): wish
        case nil: find(property.keys.filter { !taken.contains($0) })
        }
      guard let path, taken.insert(path).inserted else { continue }
      moves.append((path, property.attribute, property.sort))
    }
    for (attribute, key) in mapping.others(thing?.properties.map(\.attribute) ?? []) {
      moves.removeAll { $0.path == key }
      moves.append((key, attribute, nil))
    }
    // A place has both or neither.
    let isPlaced =
      moves.contains { $0.attribute == "latitude" } && moves.contains { $0.attribute == "longitude" }
    if !isPlaced { moves.removeAll { $0.attribute == "latitude" || $0.attribute == "longitude" } }
  }

  /// The plan for a class of an archive.
  /// - Parameter others: the classes of other items and of categories, which are not parts of this one.
  init(className name: String, _ survey: ClassSurvey, avoiding others: Set<String>, _ mapping: FieldMapping) {
    func find(_ keys: [String]) -> String? {
      // Only coordinates are searched at greater depth.
      let isDeep = keys.contains {
        KindOfThing.latitudeKeys.contains($0) || KindOfThing.longitudeKeys.contains($0)
      }
      return isDeep ? survey.path(to: keys, from: name, avoiding: others) : survey.key(keys, in: name)
    }
    let categoryKey: String? =
      switch mapping.wish("category") {
      case .some(let wish): wish
      case nil:
        KindOfThing.categoryKeys.first { key in
          survey.classes[name]?.fields[key]?.keys.contains { survey.categories.contains($0) } ?? false
        }
      }
    let isNamed = find(KindOfThing.place.properties[0].keys) != nil || mapping.wish("name") != nil
    let isPlaced =
      find(KindOfThing.latitudeKeys) != nil && find(KindOfThing.longitudeKeys) != nil
      || mapping.wish("latitude") != nil
    let short = ClassSurvey.shortName(name)
    let thing: KindOfThing? =
      if short.hasSuffix("ScaryBugData")
        || find(["Title", "title"]) != nil && find(["Rating", "rating"]) != nil
      {
        .bug
      } else if isPlaced || isNamed && categoryKey != nil {
        .place
      } else if find(["name"]) != nil, find(KindOfThing.person.properties[1].keys) != nil {
        .person
      } else if find(["titleKey"]) != nil
        || find(["title"]) != nil && find(["timestamp", "itemDescription"]) != nil
      {
        .toDo
      } else {
        nil
      }
    // For places, a category that is only a name becomes a category.
    let textKey = thing?.name == "place" ? find(["category", "categoryName", "categoryType"]) : nil
    self.init(
      thing: thing, name: short,
      categoryKey: categoryKey ?? (mapping.wish("category") == nil ? textKey : nil),
      mapping: mapping, find: find)
  }

  /// The attributes that come from a field.
  func attributes(from key: String, className: String) -> Set<String> {
    var attributes: Set<String> = [key, "\(className.isEmpty ? kind : className).\(key)"]
    for move in moves where move.path == key || move.path.hasPrefix(key + ".") {
      attributes.insert(String(move.attribute.prefix { $0 != "." }))
    }
    return attributes
  }

  /// Whether the items are to-dos.
  var isToDo: Bool { thing?.name == KindOfThing.toDo.name }

  /// The fields of an object as attributes of an item.
  /// - Parameter className: the prefix of a field whose name another attribute has.
  /// - Returns: the attributes, and the field for each attribute with another name.
  func attributes(
    _ fields: [String: FieldValue], className: String
  ) -> (attributes: [String: FieldValue], mapping: [String: String]) {
    var rest = fields
    var result: [String: FieldValue] = [:]
    var mapping = mapping
    for move in moves where isUsable(move, fields) {
      guard let value = rest.value(at: move.path)?.as(move.sort) else { continue }
      rest.remove(at: move.path)
      result.set(value, at: move.attribute)
    }
    for (key, value) in rest {
      var attribute = key
      let isReserved =
        thing.map {
          $0.others.contains(key)
            || $0.properties.contains { $0.attribute == key || $0.attribute.hasPrefix(key + ".") }
        } ?? false
      if isReserved || result[key] != nil { attribute = "\(className.isEmpty ? kind : className).\(key)" }
      if attribute != key { mapping[key] = attribute }
      result[attribute] = value
    }
    for property in thing?.properties ?? [] {
      if let standard = property.standard, result[property.attribute] == nil {
        result[property.attribute] = standard
      }
    }
    return (result, mapping)
  }

  /// The app ignores a to-do's place without a name; then the value is kept unchanged.
  private func isUsable(
    _ move: (path: String, attribute: String, sort: KindOfThing.Sort?), _ fields: [String: FieldValue]
  ) -> Bool {
    guard let dot = move.attribute.firstIndex(of: "."),
      let name = moves.first(where: { $0.attribute == "\(move.attribute[..<dot]).name" })
    else { return true }
    return fields.value(at: name.path)?.as(.text) != nil
  }
}

extension FieldValue {
  /// The value if it has the type; an integer becomes a double if needed, because writers store either.
  func `as`(_ sort: KindOfThing.Sort?) -> Value? {
    switch (sort, self) {
    case (nil, _): self
    case (.text?, .string): self
    case (.number?, .double): self
    case (.number?, .integer(let integer)): .double(Double(integer))
    case (.number?, .unsigned(let integer)): .double(Double(integer))
    default: nil
    }
  }
}

extension [String: FieldValue] {
  /// The value at the end of a path of keys. A key may hold dots itself: the whole text is tried first.
  func value(at path: String) -> Value? {
    if let value = self[path] { return value }
    guard let dot = path.firstIndex(of: "."), case .dictionary(let members)? = self[String(path[..<dot])]
    else {
      return nil
    }
    return members.value(at: String(path[path.index(after: dot)...]))
  }

  /// Removes the value at the end of a path, and objects with nothing left but their class.
  mutating func remove(at path: String) {
    if removeValue(forKey: path) != nil { return }
    guard let dot = path.firstIndex(of: ".") else { return }
    let first = String(path[..<dot])
    guard case .dictionary(var members)? = self[first] else { return }
    members.remove(at: String(path[path.index(after: dot)...]))
    let isEmpty = members.keys.allSatisfy { $0 == Reference.objectClass }
    self[first] = isEmpty ? nil : .dictionary(members)
  }

  /// Sets the value at the end of a path, creating the dictionaries on the way.
  mutating func set(_ value: Value, at path: String) {
    guard let dot = path.firstIndex(of: ".") else {
      self[path] = value
      return
    }
    let first = String(path[..<dot])
    var members: [String: Value] = [:]
    if case .dictionary(let there)? = self[first] { members = there }
    members.set(value, at: String(path[path.index(after: dot)...]))
    self[first] = .dictionary(members)
  }
}
