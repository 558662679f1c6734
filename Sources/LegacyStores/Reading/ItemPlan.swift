import CatalogModel
import KeyedArchiving

/// How the objects of one class, or the dictionaries of one list, become items: the attribute for each key.
struct ItemPlan {
  /// An attribute, its type, and the paths of keys to it: first the one that the class uses, then those of objects of
  /// other versions of the app.
  private struct Move {
    let path: String
    let attribute: String
    let type: KnownKind.ValueType?
    var otherPaths: [String] = []

    var paths: [String] { [path] + otherPaths }

    /// The first of the paths under which an object has a value.
    func path(in fields: [String: FieldValue]) -> String? { paths.first { fields.value(at: $0) != nil } }
  }

  let kind: String
  /// The attribute for each path of keys that the class uses.
  private(set) var mapping: [String: String] = [:]
  private let known: KnownKind?
  /// The key of an item's category, or nil if there is none.
  let categoryKey: String?
  private var moves: [Move] = []

  /// - Parameters:
  ///   - name: the kind of the items if they are not a known one.
  ///   - find: finds the path to the first of the given keys that exists.
  init(
    _ known: KnownKind?, name: String, categoryKey: String?, mapping: FieldMapping,
    find: (_ keys: [String]) -> String?
  ) {
    self.known = known
    kind = mapping.kind ?? known?.name ?? name
    self.categoryKey = categoryKey
    let properties = known?.properties ?? []
    var taken: Set<String> = []
    for property in properties {
      let path = mapping.keys[property.attribute] ?? find(property.keys.filter { !taken.contains($0) })
      guard let path, taken.insert(path).inserted else { continue }
      moves.append(Move(path: path, attribute: property.attribute, type: property.type))
    }
    for (attribute, key) in mapping.keys.sorted(by: { $0.key < $1.key })
    where !attribute.hasPrefix("category") && !properties.contains(where: { $0.attribute == attribute }) {
      moves.removeAll { $0.path == key }
      moves.append(Move(path: key, attribute: attribute, type: nil))
    }
    taken = Set(moves.map(\.path))
    for index in moves.indices where mapping.keys[moves[index].attribute] == nil {
      let property = properties.first { $0.attribute == moves[index].attribute }
      moves[index].otherPaths = property?.keys.filter { !taken.contains($0) && find([$0]) == $0 } ?? []
    }
    // A place has both coordinates or neither.
    let coordinates = ["latitude", "longitude"]
    if !coordinates.allSatisfy({ name in moves.contains { $0.attribute == name } }) {
      moves.removeAll { coordinates.contains($0.attribute) }
    }
    // Another path is noted for the class when an item uses it (``LegacyItem/sources``).
    for move in moves where self.mapping[move.path] == nil { self.mapping[move.path] = move.attribute }
  }

  /// The plan for a class of an archive.
  /// - Parameter others: the classes of other items and of categories, which are not parts of this one.
  init(className name: String, _ survey: ClassSurvey, avoiding others: Set<String>, _ mapping: FieldMapping) {
    func find(_ keys: [String]) -> String? {
      // Only coordinates are searched at greater depth.
      let isDeep = keys.contains {
        KnownKind.latitudeKeys.contains($0) || KnownKind.longitudeKeys.contains($0)
      }
      return isDeep ? survey.path(to: keys, from: name, avoiding: others) : survey.key(keys, in: name)
    }
    func has(_ keys: [String]) -> Bool { find(keys) != nil }
    let objectKey = KnownKind.categoryKeys.first { key in
      !survey.categories.isDisjoint(with: survey.classes[name]?[key] ?? [])
    }
    let categoryKey = mapping.keys["category"] ?? objectKey
    let isNamed = has(KnownKind.placeNameKeys) || mapping.keys["name"] != nil
    let short = ClassSurvey.shortName(name)
    let isPlace = isNamed && categoryKey != nil || mapping.keys["latitude"] != nil
    let isToDo = has(["titleKey"]) || has(["title"]) && has(["timestamp", "itemDescription"])
    let known: KnownKind? =
      short.hasSuffix("ScaryBugData")
      ? .bug : KnownKind.guess(has, isPlace: isPlace) ?? (isToDo ? .toDo : nil)
    // For places, a category that is only a name becomes a category.
    let textKey = known?.name == "place" ? find(["category", "categoryName", "categoryType"]) : nil
    self.init(
      known, name: short, categoryKey: categoryKey ?? textKey, mapping: mapping, find: find)
  }

  /// The item that an object becomes.
  /// - Parameter prepare: may change the fields before they become attributes.
  func item(
    of object: ArchivedObject, list: String, _ objects: inout ObjectReader,
    prepare: (inout [String: FieldValue]) -> Void = { _ in }
  ) throws -> LegacyItem {
    let className = ClassSurvey.shortName(object.className)
    var fields = try objects.attributes(of: object)
    let nils = fields.filter { $0.value == .null }.keys
    for key in nils { fields[key] = nil }
    prepare(&fields)
    let (attributes, sources) = attributes(fields, className: className)
    var item = LegacyItem(list: list, kind: kind, className: object.className, attributes: attributes)
    (item.sources, item.images) = (sources, objects.images)
    for key in nils {
      let attribute = moves.first { $0.path == key }?.attribute ?? key
      if attributes[attribute] == nil { item.attributes[attribute] = .null }
    }
    for key in objects.unreadable {
      item.unreadable.formUnion(self.attributes(from: key, className: className))
    }
    return item
  }

  /// The attributes that come from a field.
  private func attributes(from key: String, className: String) -> Set<String> {
    var attributes: Set<String> = [key, "\(className.isEmpty ? kind : className).\(key)"]
    for move in moves where move.paths.contains(where: { $0 == key || $0.hasPrefix(key + ".") }) {
      attributes.insert(String(move.attribute.prefix { $0 != "." }))
    }
    return attributes
  }

  /// Whether the items are to-dos.
  var isToDo: Bool { known?.name == KnownKind.toDo.name }

  /// The fields of an object as attributes of an item.
  /// - Parameter className: the prefix for a field whose name is taken by another attribute.
  /// - Returns: the attributes, and what ``LegacyItem/sources`` is.
  func attributes(
    _ fields: [String: FieldValue], className: String
  ) -> (attributes: [String: FieldValue], sources: [String: String]) {
    if moves.isEmpty, known == nil { return (fields, [:]) }
    var rest = fields
    var result: [String: FieldValue] = [:]
    var sources: [String: String] = [:]
    for move in moves where isUsable(move, fields) {
      // A field with a value of another type keeps its name.
      guard let path = move.path(in: fields), let value = rest.value(at: path)?.as(move.type)
      else { continue }
      rest.remove(at: path)
      result.set(value, at: move.attribute)
      // Other lists, and other imports, may have other keys for the class. An export prefers the property's first key.
      let first = known?.properties.first { $0.attribute == move.attribute }?.keys.first
      if path != move.path || path != first { sources[move.attribute] = path }
    }
    for (key, value) in rest {
      var attribute = key
      if known?.reserves(key) ?? false || result[key] != nil {
        // Another field of the object may have that name, too.
        repeat {
          attribute = "\(className.isEmpty ? kind : className)." + attribute
        } while rest[attribute] != nil
        sources[attribute] = key
      }
      result[attribute] = value
    }
    for property in known?.properties ?? [] {
      if let standard = property.standard, result[property.attribute] == nil {
        result[property.attribute] = standard
        sources[property.attribute] = ""
      }
    }
    return (result, sources)
  }

  /// Whether a value is moved to its attribute. The app ignores a to-do's place without a name, so the values of such a
  /// place are kept unchanged.
  private func isUsable(_ move: Move, _ fields: [String: FieldValue]) -> Bool {
    guard let dot = move.attribute.firstIndex(of: "."),
      let name = moves.first(where: { $0.attribute == "\(move.attribute[..<dot]).name" })
    else { return true }
    return name.path(in: fields).flatMap { fields.value(at: $0)?.as(.text) } != nil
  }
}

extension FieldValue {
  /// The value, or nil if it has another type. An integer becomes a double if needed, because writers store either.
  fileprivate func `as`(_ type: KnownKind.ValueType?) -> FieldValue? {
    switch type {
    case nil: self
    case .text?: string.map { .string($0) }
    case .number?: double.map { .double($0) }
    }
  }
}

extension [String: FieldValue] {
  /// The value at the end of a path of keys. A key may itself contain dots, so the whole text is tried first.
  func value(at path: String) -> FieldValue? {
    if let value = self[path] { return value }
    guard let (first, rest) = Self.step(path) else { return nil }
    return self[first]?.dictionary?.value(at: rest)
  }

  /// Removes the value at the end of a path, and objects of which only the class is left.
  mutating func remove(at path: String) {
    guard removeValue(forKey: path) == nil, let (first, rest) = Self.step(path),
      var members = self[first]?.dictionary
    else { return }
    members.remove(at: rest)
    let isEmpty = members.keys.allSatisfy { $0 == Reference.objectClass }
    self[first] = isEmpty ? nil : .dictionary(members)
  }

  /// Sets the value at the end of a path, and creates missing dictionaries along it.
  mutating func set(_ value: FieldValue, at path: String) {
    guard let (first, rest) = Self.step(path) else {
      self[path] = value
      return
    }
    var members = self[first]?.dictionary ?? [:]
    members.set(value, at: rest)
    self[first] = .dictionary(members)
  }

  /// Whether a value can be set at the end of a path without replacing another one, except null.
  func hasRoom(at path: String) -> Bool {
    if let value = self[path] { return value == .null }
    guard let (first, rest) = Self.step(path), let value = self[first], value != .null else { return true }
    return !value.isReference && value.dictionary?.hasRoom(at: rest) ?? false
  }

  /// The first key of a path and the rest of the path. Nil for a single key.
  private static func step(_ path: String) -> (first: String, rest: String)? {
    guard let dot = path.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
    return (String(path[..<dot]), String(path[path.utf8.index(after: dot)...]))
  }
}
