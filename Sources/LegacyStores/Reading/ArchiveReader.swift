import CatalogModel
import Foundation
import KeyedArchiving

/// Reads one keyed archive: finds its items and categories, and the structure around them.
///
/// Items are the objects of an app's own classes in collections of the archive, or alone at its top. Categories are the
/// objects that items refer to as their category. Everything else belongs to one of them, or to the file.
final class ArchiveReader {
  /// An item or a category that was found and not yet converted.
  private struct Pending {
    let value: ArchivedValue
    let list: String
  }

  private let survey: ClassSurvey
  private let mapping: FieldMapping
  /// The kind of items without a class.
  private let plainKind: String
  private var pendingItems: [Pending] = []
  private var pendingCategories: [Pending] = []
  private var roles: [Int: ObjectRole] = [:]
  private var itemClasses: Set<String> = []
  private var plans: [String: ItemPlan] = [:]
  private var namedCategories: [String: Int] = [:]
  private let archive: KeyedArchive
  private var objects: ObjectReader
  private var contents: SharedContents
  /// How many more collections the search for cycles may enter.
  private var stepsLeft: Int

  private(set) var items: [LegacyItem] = []
  private(set) var categories: [LegacyCategory] = []
  private(set) var lists: Set<String> = []
  /// Lists with an unreadable element.
  private(set) var incompleteLists: Set<String> = []
  private(set) var images: [LegacyImage] = []
  private(set) var problems: [LegacyProblem] = []
  /// For each of `pendingItems`, its index in `items`; nil if it could not be converted.
  private(set) var indexes: [Int?] = []
  private var dictionaries: [String: LegacyClass] = [:]
  private var mappings: [String: (kind: String, mapping: [String: String])] = [:]

  init(_ archive: KeyedArchive, _ survey: ClassSurvey, _ mapping: FieldMapping, plainKind: String) {
    self.archive = archive
    objects = ObjectReader(archive)
    contents = SharedContents(archive)
    stepsLeft = 4 * archive.propertyList.bytes.count + 1 << 12
    self.survey = survey
    self.mapping = mapping
    self.plainKind = plainKind
  }

  /// The classes found, each with the meaning of its fields.
  var classes: [String: LegacyClass] {
    var classes = objects.classes.merging(dictionaries) { first, _ in first }
    for (name, found) in mappings {
      classes[name, default: LegacyClass()].kind = found.kind
      classes[name, default: LegacyClass()].mapping.merge(found.mapping) { first, _ in first }
    }
    return classes
  }

  /// Finds the contents of the archive; called once.
  /// - Parameter name: the name of its lists: that of the file, or the path to the data.
  /// - Returns: the layout of the archive.
  func find(name: String) throws -> FieldValue {
    // In an order that is independent of the writer.
    let fields = try archive.allTopFields().sorted { $0.name < $1.name }
    var top: [String: FieldValue] = [:]
    var whole: ArchivedValue?
    for field in fields {
      let list = fields.count == 1 ? name : "\(name):\(field.name)"
      do {
        let value = try field.value(&contents)
        top[field.name] = try layout(ofTop: value, list: list)
        if fields.count == 1 { whole = value }
      } catch {
        // If this is all it has, the archive is unreadable.
        if fields.count == 1 { throw error }
        problems.append(LegacyProblem(list, "\(error)"))
        incompleteLists.insert(list)
      }
    }
    if lists.isEmpty, fields.count == 1, let whole, !whole.isNull {
      // Nothing in it looks like an item, so the whole archive is one.
      lists.insert(name)
      pendingItems.append(Pending(value: whole, list: name))
      top[fields[0].name] = Layout.element(name)
    }
    return Layout.archive(top, archiver: archive.archiver)
  }

  /// The layout of a value at the top. There, unlike in a collection, nil and `NSNull` differ.
  private func layout(ofTop value: ArchivedValue, list: String) throws -> FieldValue {
    if case .object(let object) = value, object.className == "NSNull" {
      return .dictionary([Reference.objectClass: .string("NSNull")])
    }
    return try layout(of: value, list: list, isTop: true, depth: 0)
  }

  // MARK: Around the items

  private func layout(of value: ArchivedValue, list: String, isTop: Bool, depth: Int) throws -> FieldValue {
    guard depth < 8, !holdsItself(value) else { return try literal(value, list) }
    if case .object(let object) = value, isThing(object) {
      if !isCategory(object), try isContainer(object) { return try layout(ofContainer: object, list, depth) }
      lists.insert(list)
      try register(object, list: list)
      return Layout.element(list)
    }
    let className: String? = if case .object(let object) = value { object.className } else { nil }
    // A list can't represent the counts of a counted set.
    if className == nil || ClassSurvey.isSystem(className ?? "") && className != "NSCountedSet" {
      if let members = try value.array ?? value.set {
        return try layout(ofMembers: members, value, className, list, isTop)
      }
      if let dictionary = try value.dictionary {
        let whole = value
        var found: [String: ArchivedValue] = [:]
        for (key, value) in try dictionary.pairs() {
          guard let key = try key.string, key.utf8.first != UInt8(ascii: "$"), found[key] == nil else {
            return try literal(whole, list)
          }
          found[key] = value
        }
        var members: [String: FieldValue] = [:]
        for (key, value) in found.sorted(by: { $0.key < $1.key }) {
          members[key] = try layout(of: value, list: "\(list):\(key)", isTop: false, depth: depth + 1)
        }
        return .dictionary(members)
      }
    }
    return try literal(value, list)
  }

  private func layout(
    ofMembers members: ArchivedArray, _ value: ArchivedValue, _ className: String?, _ list: String,
    _ isTop: Bool
  ) throws -> FieldValue {
    // An unreadable element must not lose the others.
    let elements = (0..<members.count).map { index in
      Result { () throws(ArchiveError) in try members.value(at: index, &contents) }
    }
    let readable = elements.compactMap { try? $0.get() }
    let hasThings = readable.contains { if case .object(let object) = $0 { isThing(object) } else { false } }
    let isOfDictionaries =
      !readable.isEmpty && readable.allSatisfy { !isThing($0) && (try? $0.dictionary) != nil }
    guard hasThings || isOfDictionaries || isTop else { return try literal(value, list) }
    lists.insert(list)
    for (index, result) in elements.enumerated() {
      let element: ArchivedValue
      switch result {
      case .success(let value): element = value
      case .failure(let error):
        problems.append(LegacyProblem("\(list)[\(index)]", "\(error)"))
        incompleteLists.insert(list)
        continue
      }
      if case .object(let object) = element, isThing(object) {
        try register(object, list: list)
      } else if element.isNull {
        problems.append(
          LegacyProblem("\(list)[\(index)]", "it is nil, so there is nothing to keep", isLoss: false))
      } else {
        pendingItems.append(Pending(value: element, list: list))
      }
    }
    return Layout.list(list, className: className)
  }

  /// An app's object that contains collections of items, such as a singleton that archives itself.
  private func isContainer(_ object: ArchivedObject) throws -> Bool {
    for field in try object.allFields() {
      guard let value = try? field.value(&contents), let members = try? value.array ?? value.set else {
        continue
      }
      for index in 0..<min(members.count, 8) {
        if case .object(let member)? = try? members[index], isThing(member) { return true }
      }
    }
    return false
  }

  /// Whether a collection contains itself, so that it can't be written as nested lists.
  ///
  /// The search does not enter the app's objects. It gives up in an archive that shares collections very often; then
  /// the collection counts as cyclic.
  private func holdsItself(_ value: ArchivedValue) -> Bool {
    guard let start = collection(value), !start.isEmpty else { return false }
    var seen: Set<Int> = []
    var waiting = [start]
    while let next = waiting.popLast() {
      for element in next {
        stepsLeft -= 1
        guard stepsLeft >= 0 else { return true }
        guard let value = try? element.get(), let inner = collection(value), let uid = inner.uid else {
          continue
        }
        if uid == start.uid { return true }
        if seen.insert(uid).inserted { waiting.append(inner) }
      }
    }
    return false
  }

  /// The elements of one of Foundation's collections, or the values of a dictionary.
  private func collection(_ value: ArchivedValue) -> ArchivedArray? {
    if case .object(let object) = value, !ClassSurvey.isSystem(object.className) { return nil }
    if let dictionary = try? value.dictionary { return dictionary.allValues }
    return try? value.array ?? value.set
  }

  private func layout(ofContainer object: ArchivedObject, _ list: String, _ depth: Int) throws -> FieldValue {
    try objects.note(object)
    var fields: [String: FieldValue] = [:]
    for field in try object.allFields().sorted(by: { $0.name < $1.name }) {
      let place = "\(list):\(field.name)"
      do {
        let value = try field.value(&contents)
        if value.isNull { continue }
        fields[field.name] = try layout(of: value, list: place, isTop: false, depth: depth + 1)
      } catch {
        problems.append(LegacyProblem(place, "\(error)"))
        incompleteLists.insert(place)
      }
    }
    return .dictionary([
      Layout.object: .dictionary(fields), Reference.objectClass: .string(object.className),
    ])
  }

  private func literal(_ value: ArchivedValue, _ path: String) throws -> FieldValue {
    objects.begin()
    let value = try objects.attribute(path, value) { try self.role(of: $0) }
    images += objects.images
    problems += objects.problems.map { LegacyProblem($0.path, $0.reason) }
    return value
  }

  // MARK: Items and categories

  private func isThing(_ object: ArchivedObject) -> Bool {
    survey.isCustom(object.className) || survey.categories.contains(object.className)
  }

  private func isThing(_ value: ArchivedValue) -> Bool {
    if case .object(let object) = value { isThing(object) } else { false }
  }

  private func isCategory(_ object: ArchivedObject) -> Bool { survey.categories.contains(object.className) }

  private func register(_ object: ArchivedObject, list: String) throws {
    if isCategory(object) {
      if case .category(let index)? = roles[object.uid] {
        // It was found through an item before; its own list has more information.
        if pendingCategories[index].list.isEmpty {
          pendingCategories[index] = Pending(value: .object(object), list: list)
        }
        return
      }
      roles[object.uid] = .category(pendingCategories.count)
      pendingCategories.append(Pending(value: .object(object), list: list))
      return
    }
    itemClasses.insert(object.className)
    if case .item(let index)? = roles[object.uid], pendingItems[index].list.isEmpty, !list.isEmpty {
      pendingItems[index] = Pending(value: .object(object), list: list)
      return
    }
    if roles[object.uid] == nil { roles[object.uid] = .item(pendingItems.count) }
    pendingItems.append(Pending(value: .object(object), list: list))
  }

  /// The role of an object that another one refers to.
  private func role(of object: ArchivedObject) throws -> ObjectRole? {
    if let role = roles[object.uid] { return role }
    guard isCategory(object) || itemClasses.contains(object.className) else { return nil }
    try register(object, list: "")
    return roles[object.uid]
  }

  /// Converts everything found in the archive, including objects found on the way.
  func convert() throws {
    var (nextItem, nextCategory) = (0, 0)
    while true {
      if nextCategory < pendingCategories.count {
        try meetItems(of: pendingCategories[nextCategory])
        nextCategory += 1
      } else if nextItem < pendingItems.count {
        try meetCategory(of: pendingItems[nextItem])
        nextItem += 1
      } else {
        break
      }
    }
    // Items and categories may refer to further ones.
    while indexes.count < pendingItems.count || categories.count < pendingCategories.count {
      if categories.count < pendingCategories.count {
        categories.append(try category(pendingCategories[categories.count]))
      } else {
        convertItem(pendingItems[indexes.count])
      }
    }
  }

  private func meetCategory(of pending: Pending) throws {
    guard case .object(let object) = pending.value, let key = plan(object.className).categoryKey,
      case .object(let category)? = try? object[key], isCategory(category)
    else { return }
    _ = try role(of: category)
  }

  private func meetItems(of pending: Pending) throws {
    guard case .object(let object) = pending.value, let key = itemsKey(object.className),
      let value = try? object[key], let members = try? value.array ?? value.set
    else { return }
    for index in 0..<members.count {
      guard case .object(let item)? = try? members[index], isThing(item), !isCategory(item) else { continue }
      if roles[item.uid] == nil { try register(item, list: "") }
    }
  }

  private func itemsKey(_ className: String) -> String? {
    switch mapping.wish("category.items") {
    case .some(let wish): wish
    case nil: survey.key(KindOfThing.categoryItemKeys, in: className)
    }
  }

  private func category(_ pending: Pending) throws -> LegacyCategory {
    guard case .object(let object) = pending.value else {
      return LegacyCategory(list: "", name: try pending.value.string ?? "")
    }
    let name = object.className
    func key(_ part: String, _ keys: [String]) -> String? {
      switch mapping.wish("category.\(part)") {
      case .some(let wish): wish
      case nil: survey.key(keys, in: name)
      }
    }
    let nameKey = key("name", KindOfThing.categoryNameKeys)
    let colorKey = key("color", KindOfThing.categoryColorKeys)
    var found: [String: String] = [:]
    if let nameKey { found[nameKey] = "$name" }
    if let colorKey { found[colorKey] = "$color" }
    let itemsKey = itemsKey(name)
    if let itemsKey { found[itemsKey] = "$items" }
    mappings[name] = (LegacyClass.categories, found)
    var category = LegacyCategory(list: pending.list, name: "")
    category.className = name
    do {
      if let nameKey, let text = try object[nameKey]?.string { category.name = text }
      if let colorKey, let color = try object[colorKey]?.color {
        let (red, green, blue, alpha) = color.rgba
        category.color = Catalog.Color(red: red, green: green, blue: blue, alpha: alpha)
      }
    } catch {
      problems.append(LegacyProblem("a category in \(plainKind)", "\(error)"))
    }
    do {
      category.fields = try objects.attributes(
        of: object, skipping: Set([nameKey, itemsKey].compactMap(\.self))
      ) {
        try self.role(of: $0)
      }
      problems += objects.problems.map {
        LegacyProblem("the category \"\(category.name)\", \($0.path)", $0.reason)
      }
      for var image in objects.images {
        let name = "category.\(category.name).\(image.name)".usableName
        category.fields = category.fields.mapValues { $0.renamingImage(image.name, to: name) }
        image.name = name
        images.append(image)
      }
    } catch {
      problems.append(LegacyProblem("the category \"\(category.name)\"", "\(error)"))
    }
    if category.name.allSatisfy(\.isWhitespace) { category.name = "(unnamed)" }
    return category
  }

  private func convertItem(_ pending: Pending) {
    do {
      let item = try item(pending)
      indexes.append(items.count)
      items.append(item)
    } catch {
      problems.append(LegacyProblem(place(of: pending), "\(error)"))
      incompleteLists.insert(pending.list)
      indexes.append(nil)
    }
  }

  private func place(of pending: Pending) -> String {
    pending.list.isEmpty ? plainKind : "\(pending.list)[\(indexes.count)]"
  }

  /// Notes the unreadable parts of an item.
  private func noteProblems(of item: inout LegacyItem, _ pending: Pending, _ plan: ItemPlan?) {
    problems += objects.problems.map { LegacyProblem("\(place(of: pending)).\($0.path)", $0.reason) }
    let className = ClassSurvey.shortName(item.className)
    for key in objects.unreadable {
      item.unreadable.formUnion(plan?.attributes(from: key, className: className) ?? [key])
    }
  }

  private func item(_ pending: Pending) throws -> LegacyItem {
    guard case .object(let object) = pending.value, !isPlain(object) else { return try plainItem(pending) }
    let name = object.className
    let plan = plan(name)
    var fields = try objects.attributes(of: object) { try self.role(of: $0) }
    var category: Int?
    if let key = plan.categoryKey, let value = fields[key] {
      if let index = Reference.target(Reference.category, of: value) {
        category = index
        fields[key] = nil
      } else if case .string(let text) = value, !text.allSatisfy(\.isWhitespace) {
        category = namedCategory(text)
        fields[key] = nil
      }
    }
    let (attributes, found) = plan.attributes(fields, className: ClassSurvey.shortName(name))
    var known = mappings[name] ?? (plan.kind, [:])
    known.mapping.merge(found) { first, _ in first }
    if let key = plan.categoryKey { known.mapping[key] = "$category" }
    mappings[name] = known
    var item = LegacyItem(list: pending.list, kind: plan.kind, className: name, attributes: attributes)
    item.category = category
    item.images = objects.images
    noteProblems(of: &item, pending, plan)
    return item
  }

  /// A category that items refer to only by name.
  private func namedCategory(_ text: String) -> Int {
    if let index = namedCategories[text] { return index }
    namedCategories[text] = pendingCategories.count
    pendingCategories.append(Pending(value: .string(text), list: ""))
    return pendingCategories.count - 1
  }

  private func isPlain(_ object: ArchivedObject) -> Bool {
    ["NSArray", "NSDictionary", "NSSet", "NSString", "NSData", "NSDate", "NSNull"].contains {
      object.className == $0 || object.className == $0.replacing("NS", with: "NSMutable")
    }
  }

  /// An item that is not an object: a dictionary, a text, a number.
  private func plainItem(_ pending: Pending) throws -> LegacyItem {
    objects.begin()
    let value = try objects.attribute("value", pending.value) { try self.role(of: $0) }
    let items = PlainItems([value], list: pending.list, kind: plainKind, mapping: mapping)
    guard let (made, found) = items.item(value) else {
      throw LegacyError(.unreadable, "it has no title, so it is no item")
    }
    var item = made
    item.images = objects.images
    noteProblems(of: &item, pending, nil)
    if !item.className.isEmpty {
      var known = mappings[item.className] ?? (item.kind, [:])
      known.mapping.merge(found) { first, _ in first }
      mappings[item.className] = known
      if case .dictionary(let fields) = value {
        dictionaries[item.className, default: LegacyClass()].note(fields)
      }
    }
    return item
  }

  private func plan(_ name: String) -> ItemPlan {
    if let plan = plans[name] { return plan }
    let others = survey.categories.union(itemClasses).subtracting([name])
    let plan = ItemPlan(className: name, survey, avoiding: others, mapping)
    plans[name] = plan
    return plan
  }
}

extension FieldValue {
  func renamingImage(_ name: String, to newName: String) -> Value {
    switch self {
    case .array(let elements): return .array(elements.map { $0.renamingImage(name, to: newName) })
    case .dictionary(let members):
      if members.count == 1, members[Reference.image] == .string(name) {
        return .dictionary([Reference.image: .string(newName)])
      }
      return .dictionary(members.mapValues { $0.renamingImage(name, to: newName) })
    default: return self
    }
  }
}
