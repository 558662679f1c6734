import CatalogModel
import Foundation
import KeyedArchiving

/// Reads one keyed archive: finds its items and categories, and the structure around them.
///
/// Items are the objects of an app's own classes in collections of the archive, or alone at its top. Categories are the
/// objects that items refer to as their category. Everything else belongs to one of them, or to the file.
final class ArchiveReader {
  /// An item or a category that was found but not yet converted.
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
  /// The classes of items and categories.
  private var separateClasses: Set<String>
  private var plans: [String: ItemPlan] = [:]
  private var namedCategories: [String: Int] = [:]
  /// The first category whose list has an object, by the object's UID.
  private var owners: [Int: Int] = [:]
  /// The UIDs of the categories' lists whose items were met.
  private var metLists: Set<Int> = []
  /// The category of all items in such a list, by its UID.
  private var listCategories: [Int: Int?] = [:]
  private let archive: KeyedArchive
  private var objects: ObjectReader
  private var contents: SharedContents
  /// How many more collections the search for cycles may enter.
  private var stepsLeft: Int

  private(set) var layout = FieldValue.null
  /// The items; nil for one that could not be converted.
  private(set) var items: [LegacyItem?] = []
  private(set) var categories: [LegacyCategory] = []
  private(set) var lists: Set<String> = []
  /// The names of lists that are taken. Different keys can lead to one name, because a key may contain the separator.
  private(set) var listNames: UniqueNames
  private(set) var incompleteLists: Set<String> = []
  private(set) var images: [LegacyImage] = []
  private(set) var problems: [LegacyProblem] = []
  var isIncomplete: Bool { problems.contains(where: \.isLoss) }
  var classes: [String: LegacyClass] { objects.classes }

  /// - Parameters:
  ///   - name: the name of its lists: that of the file, or the path to the data.
  ///   - listNames: the names of lists that other archives have taken.
  ///   - plainKind: the kind of items without a class.
  init(
    _ archive: KeyedArchive, _ survey: ClassSurvey, _ mapping: FieldMapping, name: String,
    listNames: UniqueNames = UniqueNames(), plainKind: String
  ) throws {
    self.archive = archive
    objects = ObjectReader(archive, survey)
    contents = SharedContents(archive)
    stepsLeft = 4 * archive.propertyList.bytes.count + 1 << 12
    self.survey = survey
    separateClasses = survey.categories
    self.mapping = mapping
    self.plainKind = plainKind
    self.listNames = listNames
    objects.role = { [unowned self] in try role(of: $0) }
    try find(name)
    try convert()
  }

  private func find(_ name: String) throws {
    // Sorted, so that the result does not depend on the order in the file.
    let fields = try archive.allTopFields().sorted { $0.name < $1.name }
    let isSingle = fields.count == 1
    var top: [String: FieldValue] = [:]
    objects.begin()
    objects.layout = { [unowned self] in try part(of: $0, list: $1, depth: $2) }
    objects.noteLoss = { [unowned self] in noteLoss(of: listNames.unused($0), at: $0, $1) }
    for field in fields {
      let (key, list) = (ObjectReader.key(of: field.name), isSingle ? name : "\(name):\(field.name)")
      do {
        let value = try field.value(&contents)
        let form = value.form(isReference: try field.isReference)
        top[key] = try objects.part(list, value).marked(form)
        if case .object(let object) = value, object.className == "NSNull" {
          // At the top, an `NSNull` differs from nil.
          top[key] = [Reference.objectClass: "NSNull"]
        }
        if isSingle, lists.isEmpty, !value.isNull {
          // Nothing in it looks like an item, so the whole archive is one.
          let name = listNames.unused(name)
          lists.insert(name)
          pendingItems.append(Pending(value: value, list: name))
          top[key] = Layout.element(name, form: form)
          objects.begin()
        }
      } catch {
        // If this is the only value, the archive is unreadable.
        if isSingle { throw error }
        noteLoss(of: listNames.unused(list), at: list, error)
      }
    }
    layout = Layout.archive(objects.finished(top), archiver: archive.archiver)
    images = objects.images
    problems += objects.problems.map { LegacyProblem($0.path, $0.reason) }
    objects.layout = nil
  }

  /// - Parameter list: the name of the list that is incomplete: for an unreadable value, the name that its list would
  ///   have, so that an import keeps the items of that list and the later lists keep their names.
  private func noteLoss(of list: String, at place: String, _ error: any Error) {
    problems.append(LegacyProblem(place, "\(error)"))
    incompleteLists.insert(list)
  }

  // MARK: Around the items

  /// What a value around the items is. Its items are registered.
  /// - Parameters:
  ///   - list: the name of the list that it may be.
  ///   - depth: 0 for a value at the top.
  private func part(of value: ArchivedValue, list: String, depth: Int) throws -> LayoutPart {
    guard depth < 8, !containsItself(value) else { return .literal }
    if let object = appObject(value) {
      if !isCategory(object), roles[object.uid] == nil, try isContainer(object) { return .container }
      let name = listNames.unused(list)
      lists.insert(name)
      register(object, list: name)
      return .item(Layout.element(name))
    }
    var className: String?
    if case .object(let object) = value {
      // A list can't represent the counts of a counted set.
      guard ClassSurvey.isSystem(object.className), object.className != "NSCountedSet" else {
        return .literal
      }
      className = object.className
    }
    if let members = try value.array ?? value.set {
      return try part(ofMembers: members, className, list, isTop: depth == 0)
    }
    guard let pairs = try value.dictionary?.pairs() else { return .literal }
    var keys: Set<String> = []
    for (key, _) in pairs {
      guard let key = try key.string, key.utf8.first != UInt8(ascii: "$"), keys.insert(key).inserted else {
        return .literal
      }
    }
    return .container
  }

  private func part(
    ofMembers members: ArchivedArray, _ className: String?, _ path: String, isTop: Bool
  ) throws -> LayoutPart {
    // If an element is unreadable, the others are still read.
    let elements = (0..<members.count).map { index in
      Result { () throws(ArchiveError) in try members.value(at: index, &contents) }
    }
    let readable = elements.compactMap { try? $0.get() }
    let hasAppObjects = readable.contains { appObject($0) != nil }
    let isOfDictionaries =
      !readable.isEmpty && readable.allSatisfy { appObject($0) == nil && (try? $0.dictionary) != nil }
    guard hasAppObjects || isOfDictionaries || isTop else { return .literal }
    let list = listNames.unused(path)
    lists.insert(list)
    for (index, element) in elements.enumerated() {
      let place = "\(list)[\(index)]"
      switch element {
      case .failure(let error): noteLoss(of: list, at: place, error)
      case .success(let element) where element.isNull:
        problems.append(LegacyProblem(place, "it is nil, so there is nothing to keep", isLoss: false))
      case .success(let element):
        if let object = appObject(element) {
          register(object, list: list)
        } else {
          pendingItems.append(Pending(value: element, list: list))
        }
      }
    }
    return .list(Layout.list(list, className: className))
  }

  /// Whether an object contains collections of items, as a singleton that archives itself does.
  private func isContainer(_ object: ArchivedObject) throws -> Bool {
    try object.allFields().contains { field in
      guard let value = try? field.value(&contents), let members = try? value.array ?? value.set else {
        return false
      }
      return (0..<min(members.count, 8)).contains { appObject(try? members[$0]) != nil }
    }
  }

  /// Whether a collection contains itself, so that it can't be written as nested lists.
  ///
  /// The search does not enter the app's objects. It gives up in an archive that shares collections very often. The
  /// collection then counts as cyclic.
  private func containsItself(_ value: ArchivedValue) -> Bool {
    guard let start = collection(value), !start.isEmpty else { return false }
    var seen: Set<Int> = []
    var waiting = [start]
    while let next = waiting.popLast() {
      for index in 0..<next.count {
        stepsLeft -= 1
        guard stepsLeft >= 0 else { return true }
        guard let value = try? next[index], let inner = collection(value), let uid = inner.uid else {
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

  // MARK: Items and categories

  /// The object that a value is, if it is one of the app's and not one of Foundation's.
  private func appObject(_ value: ArchivedValue?) -> ArchivedObject? {
    guard case .object(let object)? = value, survey.isCustom(object.className) || isCategory(object) else {
      return nil
    }
    return object
  }

  private func isCategory(_ object: ArchivedObject) -> Bool { survey.categories.contains(object.className) }

  /// Registers an item or a category. The list in which it was found takes precedence over a reference to it.
  private func register(_ object: ArchivedObject, list: String) {
    let pending = Pending(value: .object(object), list: list)
    separateClasses.insert(object.className)
    switch roles[object.uid] {
    case .category(let index)?:
      if pendingCategories[index].list.isEmpty { pendingCategories[index] = pending }
    case .item(let index)? where pendingItems[index].list.isEmpty && !list.isEmpty:
      pendingItems[index] = pending
    case .item?:
      pendingItems.append(pending)
    case nil where isCategory(object):
      roles[object.uid] = .category(pendingCategories.count)
      pendingCategories.append(pending)
    case nil:
      roles[object.uid] = .item(pendingItems.count)
      pendingItems.append(pending)
    }
  }

  /// The role of an object that another one refers to.
  private func role(of object: ArchivedObject) throws -> ObjectRole? {
    if let role = roles[object.uid] { return role }
    guard separateClasses.contains(object.className) else { return nil }
    register(object, list: "")
    return roles[object.uid]
  }

  private func convert() throws {
    var (nextItem, nextCategory) = (0, 0)
    while nextItem < pendingItems.count || nextCategory < pendingCategories.count {
      if nextCategory < pendingCategories.count {
        meetItems(of: nextCategory)
        nextCategory += 1
      } else {
        try meetCategory(of: pendingItems[nextItem])
        nextItem += 1
      }
    }
    // Items and categories may refer to further ones.
    while items.count < pendingItems.count || categories.count < pendingCategories.count {
      try LegacyStore.checkItemCount(pendingItems.count)
      if categories.count < pendingCategories.count {
        categories.append(try category(categories.count))
      } else {
        convertItem(pendingItems[items.count])
      }
    }
  }

  private func meetCategory(of pending: Pending) throws {
    guard case .object(let object) = pending.value, let key = plan(object.className).categoryKey,
      case .object(let category)? = try? object[key], isCategory(category)
    else { return }
    _ = try role(of: category)
  }

  private func meetItems(of category: Int) {
    guard case .object(let object) = pendingCategories[category].value,
      let key = itemsKey(object.className),
      let value = try? object[key], let members = try? value.array ?? value.set
    else { return }
    // Many categories can share one list.
    if let uid = members.uid, !metLists.insert(uid).inserted { return }
    for index in 0..<members.count {
      guard let item = appObject(try? members[index]), !isCategory(item) else { continue }
      if owners[item.uid] == nil { owners[item.uid] = category }
      if roles[item.uid] == nil { register(item, list: "") }
    }
  }

  /// Whether a value is a list of only a category's own items. Such a list is not kept, because an export makes it again
  /// from the items. An empty list is kept: items may refer to the category without being in its list.
  private func isList(_ value: ArchivedValue?, ofItemsIn category: Int) -> Bool {
    guard let value, let members = try? value.array ?? value.set else { return false }
    guard let uid = members.uid else { return self.category(ofItemsIn: members) == category }
    if let known = listCategories[uid] { return known == category }
    let found = self.category(ofItemsIn: members)
    listCategories[uid] = .some(found)
    return found == category
  }

  /// The category of all elements of a list. Nil if there are none, or if they do not all have the same one.
  private func category(ofItemsIn members: ArchivedArray) -> Int? {
    var common: Int?
    for index in 0..<members.count {
      guard let next = category(ofElement: try? members[index]), next == common ?? next else { return nil }
      common = next
    }
    return common
  }

  private func category(ofElement element: ArchivedValue?) -> Int? {
    guard case .object(let object)? = element, case .item? = roles[object.uid] else { return nil }
    let key = plan(object.className).categoryKey
    guard let key, let own = try? object[key], !own.isNull else { return owners[object.uid] }
    guard case .object(let other) = own, case .category(let category)? = roles[other.uid] else { return nil }
    return category
  }

  private func itemsKey(_ className: String) -> String? {
    mapping.keys["category.items"] ?? survey.key(KnownKind.categoryItemKeys, in: className)
  }

  private func category(_ index: Int) throws -> LegacyCategory {
    let pending = pendingCategories[index]
    guard case .object(let object) = pending.value else {
      return LegacyCategory(list: "", name: try pending.value.string ?? "")
    }
    let name = object.className
    let nameKey = mapping.keys["category.name"] ?? survey.key(KnownKind.categoryNameKeys, in: name)
    let colorKey = mapping.keys["category.color"] ?? survey.key(KnownKind.categoryColorKeys, in: name)
    let itemsKey = itemsKey(name)
    var category = LegacyCategory(list: pending.list, name: "")
    category.className = name
    var skipped: Set<String> = []
    do {
      if let nameKey, let text = try object[nameKey]?.string, !text.allSatisfy(\.isWhitespace) {
        category.name = text
        skipped.insert(nameKey)
      }
      if let colorKey, let color = try object[colorKey]?.color {
        let (red, green, blue, alpha) = color.rgba
        category.color = Catalog.Color(red: red, green: green, blue: blue, alpha: alpha)
      }
    } catch {
      problems.append(LegacyProblem("a category in \(plainKind)", "\(error)"))
    }
    let place = "the category \"\(category.name)\""
    do {
      if let itemsKey, isList(try? object[itemsKey], ofItemsIn: index) { skipped.insert(itemsKey) }
      category.fields = try objects.attributes(of: object, skipping: skipped)
      category.images = objects.images
      problems += objects.problems.map { LegacyProblem("\(place), \($0.path)", $0.reason) }
    } catch {
      problems.append(LegacyProblem(place, "\(error)"))
    }
    objects.classes[name]?.kind = LegacyClass.categories
    for (key, part) in [(nameKey, "$name"), (colorKey, "$color"), (itemsKey, "$items")] {
      if let key { objects.classes[name]?.mapping[key] = part }
    }
    if category.name.isEmpty { category.name = "(unnamed)" }
    return category
  }

  private func convertItem(_ pending: Pending) {
    do {
      items.append(try item(pending))
    } catch {
      noteLoss(of: pending.list, at: place(of: pending), error)
      items.append(nil)
    }
  }

  private func place(of pending: Pending) -> String {
    pending.list.isEmpty ? plainKind : "\(pending.list)[\(items.count)]"
  }

  private func noteProblems(of pending: Pending) {
    problems += objects.problems.map { LegacyProblem("\(place(of: pending)).\($0.path)", $0.reason) }
  }

  private func item(_ pending: Pending) throws -> LegacyItem {
    guard case .object(let object) = pending.value, !isPlain(object) else { return try plainItem(pending) }
    let plan = plan(object.className)
    var category: Int?
    var item = try plan.item(of: object, list: pending.list, &objects) { fields in
      guard let key = plan.categoryKey, let value = fields[key] else { return }
      if let index = value.target(Reference.category) {
        category = index
      } else if let text = value.string, !text.allSatisfy(\.isWhitespace) {
        category = namedCategory(text)
      }
      if category != nil { fields[key] = nil }
    }
    item.category = category ?? owners[object.uid]
    noteProblems(of: pending)
    objects.classes.note(item, plan)
    if let key = plan.categoryKey { objects.classes[object.className]?.mapping[key] = "$category" }
    return item
  }

  /// The index of a category that items refer to only by name.
  private func namedCategory(_ text: String) -> Int {
    if let index = namedCategories[text] { return index }
    namedCategories[text] = pendingCategories.count
    pendingCategories.append(Pending(value: .string(text), list: ""))
    return pendingCategories.count - 1
  }

  private func isPlain(_ object: ArchivedObject) -> Bool {
    ObjectReader.isScalar(object.className)
      || ["NSArray", "NSDictionary", "NSSet", "NSString", "NSData", "NSDate", "NSNull"].contains {
        object.className == $0 || object.className == $0.replacing("NS", with: "NSMutable")
      }
  }

  /// An item that is not an object: a dictionary, a text, a number.
  private func plainItem(_ pending: Pending) throws -> LegacyItem {
    objects.begin()
    let (value, form) = try objects.element("value", pending.value)
    let items = PlainItems([value], list: pending.list, kind: plainKind, mapping: mapping)
    guard var item = items.item(value, noting: &objects.classes) else {
      throw LegacyError(.unreadable, "it has no title, so it is not an item")
    }
    if let form { item.attributes[Reference.forms] = ["value": form] }
    (item.images, item.unreadable) = (objects.images, objects.unreadable)
    noteProblems(of: pending)
    return item
  }

  private func plan(_ name: String) -> ItemPlan {
    if let plan = plans[name] { return plan }
    let plan = ItemPlan(className: name, survey, avoiding: separateClasses, mapping)
    plans[name] = plan
    return plan
  }
}
