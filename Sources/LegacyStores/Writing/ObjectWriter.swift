import CatalogModel
import Foundation
import KeyedArchiving

/// Makes the objects of an archive from items and categories, with the classes and keys that the app's decoders read.
/// References by number become references between objects.
final class ObjectWriter {
  private let store: ExportedItems
  /// The bytes of an image, nil if they are missing.
  private let bytes: (Blob) -> Data?
  private var itemNodes: [Catalog.Item.ID: ArchiveNode] = [:]
  private var categoryNodes: [CategoryID: ArchiveNode] = [:]
  /// The images of the most recent item.
  private var images: (item: Catalog.Item.ID, byName: [String: Catalog.Image])?
  /// Closures that fill the nodes without fields.
  private var waiting: [() -> Void] = []
  /// All nodes with fields, whose cycles are broken at the end so that they are freed.
  private var made: [(node: ArchiveNode, keys: [String])] = []

  /// The context of a value.
  private struct Context {
    /// The item of the images.
    var item: Catalog.Item.ID?
    /// The objects of the item made so far, by number.
    var objects: [Int: ArchiveNode] = [:]
    /// The definitions of numbered objects, because a reference may come before its definition.
    var definitions: [Int: [String: FieldValue]] = [:]

    init(item: Catalog.Item.ID?, of values: some Sequence<FieldValue> = []) {
      self.item = item
      for value in values { value.collectObjects(&definitions) }
    }
  }

  init(_ store: ExportedItems, bytes: @escaping (Blob) -> Data?) {
    self.store = store
    self.bytes = bytes
  }

  /// An archive with the top values of a layout.
  /// - Parameter only: the item, if each item has a separate archive.
  func archive(
    _ top: [String: FieldValue], archiver: String = KeyedArchiveWriter.standardArchiver,
    only: Catalog.Item.ID? = nil
  ) throws(ArchiveError) -> [UInt8] {
    var members: [(key: String, value: ArchiveNode.Value)] = []
    var context = Context(item: store.memory.firstPart, of: top.values)
    for (key, value) in top.sorted(by: { $0.key < $1.key }) {
      // Nil at the top was nil; an `NSNull` is marked as such.
      members.append((key, value == .null ? .null : content(value, &context, only: only)))
    }
    while let next = waiting.popLast() { next() }
    defer { letGo() }
    return try ArchiveNode.archive(members, archiver: archiver)
  }

  private func letGo() {
    for (node, keys) in made {
      for key in keys { node.set(key, .null) }
      node.set(unkeyed: [])
    }
    made = []
    itemNodes = [:]
    categoryNodes = [:]
  }

  // MARK: Layouts

  private func content(_ layout: FieldValue, _ context: inout Context, only: Catalog.Item.ID?)
    -> ArchiveNode.Value
  {
    guard case .dictionary(let members) = layout else { return value(layout, nil, &context) }
    let className: String? = if case .string(let name)? = members[Reference.objectClass] { name } else { nil }
    if case .string(let list)? = members[Layout.element] {
      if let only { return element(only) }
      if let item = store.lists[list]?.first { return element(item) }
      return store.categoryLists[list]?.first.map { .node(node(ofCategory: $0)) } ?? .null
    }
    if case .string(let list)? = members[Layout.list] {
      let items = (store.lists[list] ?? []).map { element($0) }
      let categories = (store.categoryLists[list] ?? []).map { ArchiveNode.Value.node(node(ofCategory: $0)) }
      return .node(collection(categories + items, className ?? "NSMutableArray"))
    }
    if case .dictionary(let fields)? = members[Layout.object], let className {
      let node = ArchiveNode(archivedClass(className))
      for key in order(of: className, fields) {
        if let field = fields[key] {
          node.set(key, content(field, &context, only: only))
        } else if hasNil(key, of: className) {
          node.set(key, .null)
        }
      }
      made.append((node, Array(fields.keys)))
      return .node(node)
    }
    if className != nil { return value(layout, nil, &context) }
    var pairs: [(key: ArchiveNode.Value, value: ArchiveNode.Value)] = []
    for (key, member) in members.sorted(by: { $0.key < $1.key }) {
      pairs.append((.string(key), content(member, &context, only: only)))
    }
    return .node(.dictionary(pairs, as: .mutableDictionary))
  }

  /// An item as an element of a list.
  private func element(_ id: Catalog.Item.ID) -> ArchiveNode.Value {
    guard let item = store.catalog.item(id) else { return .null }
    let className = store.className(of: item)
    if className.isEmpty, let plain = item["value"] {
      var context = Context(item: id, of: [plain])
      return value(plain, nil, &context)
    }
    return .node(node(ofItem: id))
  }

  // MARK: Items and categories

  private func node(ofItem id: Catalog.Item.ID) -> ArchiveNode {
    if let node = itemNodes[id] { return node }
    guard let item = store.catalog.item(id) else { return .null() }
    let className = store.className(of: item)
    var context = Context(item: id, of: item.attributes.values)
    if className.isEmpty || className.hasPrefix("{") {
      let node = dictionary(store.fields(of: item), &context, ArchivedClass.mutableDictionary)
      itemNodes[id] = node
      return node
    }
    let node = ArchiveNode(archivedClass(className))
    itemNodes[id] = node
    waiting.append { [self] in
      var fields = store.fields(of: item)
      if case .integer(let number)? = fields.removeValue(forKey: Reference.id) {
        context.objects[Int(number)] = node
      }
      let categoryKey = store.classes[className]?.mapping.first { $0.value == "$category" }?.key
      if let categoryKey { fields[categoryKey] = nil }
      fill(node, className, fields, &context) { key in
        guard key == categoryKey else { return nil }
        return self.category(of: item, form: self.store.classes[className]?.fields[key])
      }
    }
    return node
  }

  private func category(of item: Catalog.Item, form: String?) -> ArchiveNode.Value {
    guard let id = item.category, let category = store.catalog.category(id) else { return .null }
    let isText = store.groups[id].map { $0.className.isEmpty } ?? (form == "NSString")
    return isText ? .string(category.name) : .node(node(ofCategory: id))
  }

  private func node(ofCategory id: CategoryID) -> ArchiveNode {
    if let node = categoryNodes[id] { return node }
    guard let category = store.catalog.category(id) else { return .null() }
    let group = store.groups[id]
    let className =
      group.flatMap { $0.className.isEmpty ? nil : $0.className }
      ?? store.classes.filter { $0.value.kind == LegacyClass.categories }.keys.min() ?? "Categories"
    let node = ArchiveNode(archivedClass(className))
    categoryNodes[id] = node
    waiting.append { [self] in
      var keys: [String: String] = [:]
      for (key, part) in store.classes[className]?.mapping ?? [:] { keys[part] = key }
      let (nameKey, colorKey) = (keys["$name"] ?? "name", keys["$color"] ?? "color")
      var context = Context(item: store.memory.firstPart, of: (group?.fields ?? [:]).values)
      fill(node, className, group?.fields ?? [:], &context, extra: [nameKey, colorKey]) { key in
        if key == nameKey { return .string(category.name) }
        if key == keys["$items"] {
          let items = self.store.itemsByCategory[id] ?? []
          let form = self.store.classes[className]?.fields[key] ?? ""
          return .node(
            self.collection(items.map { self.element($0) }, form.hasPrefix("NS") ? form : "NSMutableArray"))
        }
        guard key == colorKey else { return nil }
        guard let color = category.color else { return .null }
        // As the app encoded it, unless it has changed.
        if group?.color == color, group?.fields[key] != nil { return nil }
        return .node(self.color(color, like: group?.fields[key]))
      }
    }
    return node
  }

  private func color(_ color: Catalog.Color, like old: FieldValue?) -> ArchiveNode {
    if case .dictionary(let members)? = old, members[Reference.objectClass] == .string("NSColor") {
      return .nsColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
    }
    return .uiColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
  }

  /// Fills the fields of an object: first those that its class had in the files, nil where there is no value.
  private func fill(
    _ node: ArchiveNode, _ className: String, _ fields: [String: FieldValue], _ context: inout Context,
    extra: [String] = [], special: (String) -> ArchiveNode.Value? = { _ in nil }
  ) {
    let known = store.classes[className]
    var written: [String] = []
    var seen: Set<String> = []
    var unkeyed: [Int: ArchiveNode.Value] = [:]
    for key in order(of: className, fields) + extra where seen.insert(key).inserted {
      let form = known?.fields[key]
      let content: ArchiveNode.Value
      if let value = special(key) {
        content = value
      } else if let field = fields[key] {
        // If a field was nil in every file, an empty text is the default of the models.
        let isStandIn = form == LegacyClass.Form.null && field == .string("")
        content = isStandIn ? .null : value(field, form, &context)
      } else if hasNil(key, of: className) {
        content = .null
      } else {
        continue
      }
      if let position = Self.position(key) {
        unkeyed[position] = content
      } else {
        node.set(Self.name(key), content)
        written.append(Self.name(key))
      }
    }
    // Values without keys are encoded without keys again, if there is no gap.
    let values = (0..<unkeyed.count).compactMap { unkeyed[$0] }
    if values.count == unkeyed.count {
      node.set(unkeyed: values)
    } else {
      for (position, value) in unkeyed.sorted(by: { $0.key < $1.key }) { node.set("$\(position)", value) }
    }
    made.append((node, written + unkeyed.keys.map { "$\($0)" }))
  }

  /// The index of a value without a key, from the key that it was read under.
  private static func position(_ key: String) -> Int? {
    guard key.hasPrefix("$"), let position = Int(key.dropFirst()), position >= 0 else { return nil }
    return key == "$\(position)" ? position : nil
  }

  /// Whether an object of a class encodes nil under a key without a value. An app's decoder may require all keys of its
  /// class; Foundation's classes have different keys for different kinds of content.
  private func hasNil(_ key: String, of className: String) -> Bool {
    guard let known = store.classes[className], let form = known.fields[key], !isInline(form) else {
      return false
    }
    return !(ClassSurvey.isSystem(className) && known.isOptional(key))
  }

  /// A leading `$` was doubled when the name was read.
  private static func name(_ key: String) -> String { key.hasPrefix("$$") ? String(key.dropFirst()) : key }

  private func order(of className: String, _ fields: [String: FieldValue]) -> [String] {
    let known = store.classes[className]?.order ?? []
    return known
      + fields.keys.filter { !known.contains($0) && $0 != Reference.objectClass && $0 != Reference.id }
      .sorted()
  }

  private func isInline(_ form: String) -> Bool {
    [
      LegacyClass.Form.bool, LegacyClass.Form.integer, LegacyClass.Form.real, LegacyClass.Form.bytes,
      LegacyClass.Form.text, LegacyClass.Form.list,
    ].contains(form)
  }

  private func archivedClass(_ name: String) -> ArchivedClass {
    store.classes[name]?.archived(name) ?? ArchivedClass(name)
  }

  // MARK: Values

  private func value(_ value: FieldValue, _ form: String?, _ context: inout Context) -> ArchiveNode.Value {
    let isBoxed = form == "NSNumber"
    switch value {
    case .null: return form == nil ? .node(.null()) : .null
    case .bool(let flag): return isBoxed ? .node(.number(flag)) : .bool(flag)
    case .integer(let integer):
      if form == LegacyClass.Form.real { return .real(Double(integer)) }
      return isBoxed ? .node(.number(integer)) : .integer(integer)
    case .unsigned(let integer): return isBoxed ? .node(.number(integer)) : .unsigned(integer)
    case .double(let real): return isBoxed ? .node(.number(real)) : .real(real)
    case .string(let text):
      switch form {
      case "NSURL"?: return .node(ArchiveNode(.url, ["NS.base": .null, "NS.relative": .string(text)]))
      case "NSUUID"?: return UUID(uuidString: text).map { .uuid($0) } ?? .string(text)
      case "NSMutableString"?: return .node(.mutableString(text))
      case LegacyClass.Form.text?: return .text(text)
      default: return .string(text)
      }
    case .data(let data): return self.data(data, form)
    case .date(let date): return .date(date)
    case .array(let elements):
      let values = elements.map { self.value($0, nil, &context) }
      return form == LegacyClass.Form.list ? .list(values.map(boxed)) : .node(collection(values, form ?? ""))
    case .dictionary(let members): return object(members, form, &context)
    }
  }

  private func data(_ data: Data, _ form: String?) -> ArchiveNode.Value {
    switch form {
    case LegacyClass.Form.bytes?: .bytes([UInt8](data))
    case "NSMutableData"?: .node(.mutableData(data))
    default: .data(data)
    }
  }

  /// Numbers and texts as objects, as the elements of collections are.
  private func boxed(_ value: ArchiveNode.Value) -> ArchiveNode.Value {
    switch value {
    case .bool(let flag): .node(.number(flag))
    case .integer(let integer): .node(.number(integer))
    case .unsigned(let integer): .node(.number(integer))
    case .real(let real): .node(.number(real))
    case .text(let text): .string(text)
    case .bytes(let bytes): .data(Data(bytes))
    default: value
    }
  }

  /// A collection of a class; without a known class a mutable array, which any decoder accepts as an array.
  private func collection(_ values: [ArchiveNode.Value], _ className: String) -> ArchiveNode {
    switch className {
    case "NSArray": .array(values)
    case "NSSet": .array(values, as: .set)
    case "NSMutableSet": .array(values, as: .mutableSet)
    case "NSOrderedSet": .orderedSet(values)
    case "NSMutableOrderedSet": .orderedSet(values, as: .mutableOrderedSet)
    case "", "NSMutableArray": .array(values, as: .mutableArray)
    default:
      // A subclass defined by an app.
      store.classes[className] == nil
        ? .array(values, as: .mutableArray) : .array(values, as: archivedClass(className))
    }
  }

  private func object(
    _ members: [String: FieldValue], _ form: String?, _ context: inout Context
  ) -> ArchiveNode.Value {
    let whole = FieldValue.dictionary(members)
    if let target = Reference.target(Reference.item, of: whole) { return element(EntityID(target)) }
    if let target = Reference.target(Reference.category, of: whole) {
      return .node(node(ofCategory: EntityID(target)))
    }
    if let target = Reference.target(Reference.ref, of: whole) {
      if let node = context.objects[target] { return .node(node) }
      // Without an object of that number it is an ordinary dictionary.
      if let definition = context.definitions[target] { return object(definition, form, &context) }
    }
    if case .integer(let number)? = members[Reference.id], let node = context.objects[Int(number)] {
      return .node(node)
    }
    if members.count == 1, case .string(let name)? = members[Reference.image] {
      let image = context.item.flatMap { self.image(name, of: $0) }
      return image.flatMap { bytes($0.blob) }.map { data($0, form) } ?? .null
    }
    guard case .string(let className)? = members[Reference.objectClass] ?? form.flatMap(customClass) else {
      let kind: ArchivedClass = form == "NSDictionary" ? .dictionary : .mutableDictionary
      guard case .integer(let number)? = members[Reference.id] else {
        return .node(dictionary(members, &context, kind))
      }
      // A dictionary that may contain itself must exist before its members.
      let node = ArchiveNode.dictionary([(key: ArchiveNode.Value, value: ArchiveNode.Value)](), as: kind)
      context.objects[Int(number)] = node
      fill(node, pairs(members, &context).map { ($0.key, $0.value) })
      return .node(node)
    }
    if case .array(let elements)? = members["NS.objects"],
      let node = knownCollection(
        className, members, elements, &context)
    {
      return .node(node)
    }
    let node = ArchiveNode(archivedClass(className))
    if case .integer(let number)? = members[Reference.id] { context.objects[Int(number)] = node }
    fill(node, className, members, &context)
    return .node(node)
  }

  /// The class of a field whose object has lost its class.
  private func customClass(_ form: String) -> FieldValue? {
    store.classes[form] != nil && form != "NSDictionary" && form != "NSMutableDictionary"
      ? .string(form) : nil
  }

  private func knownCollection(
    _ className: String, _ members: [String: FieldValue], _ elements: [FieldValue], _ context: inout Context
  ) -> ArchiveNode? {
    guard
      [
        "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet",
        "NSDictionary", "NSMutableDictionary",
      ].contains(className)
    else { return nil }
    var keys: [FieldValue] = []
    let isDictionary = className.hasSuffix("Dictionary")
    if isDictionary {
      guard case .array(let found)? = members["NS.keys"], found.count == elements.count else { return nil }
      keys = found
    }
    // A collection that contains itself must exist before its elements.
    let node =
      if isDictionary {
        ArchiveNode.dictionary(
          [(key: ArchiveNode.Value, value: ArchiveNode.Value)](),
          as: className == "NSDictionary" ? .dictionary : .mutableDictionary)
      } else {
        collection([], className)
      }
    if case .integer(let number)? = members[Reference.id] { context.objects[Int(number)] = node }
    let values = elements.map { boxed(value($0, nil, &context)) }
    if isDictionary {
      fill(node, Array(zip(keys.map { value($0, nil, &context) }, values)))
    } else if className.contains("Ordered") {
      for (index, value) in values.enumerated() { node.set("NS.object.\(index)", value) }
      made.append((node, values.indices.map { "NS.object.\($0)" }))
    } else {
      node.set("NS.objects", .list(values))
      made.append((node, ["NS.objects"]))
    }
    return node
  }

  /// Fills an existing dictionary with its pairs.
  private func fill(_ node: ArchiveNode, _ pairs: [(ArchiveNode.Value, ArchiveNode.Value)]) {
    node.set("NS.keys", .list(pairs.map { boxed($0.0) }))
    node.set("NS.objects", .list(pairs.map { boxed($0.1) }))
    made.append((node, ["NS.keys", "NS.objects"]))
  }

  private func dictionary(
    _ members: [String: FieldValue], _ context: inout Context, _ archivedClass: ArchivedClass
  ) -> ArchiveNode {
    .dictionary(pairs(members, &context), as: archivedClass)
  }

  private func pairs(
    _ members: [String: FieldValue], _ context: inout Context
  ) -> [(key: ArchiveNode.Value, value: ArchiveNode.Value)] {
    members.sorted { $0.key < $1.key }.map { (.string($0.key), value($0.value, nil, &context)) }
  }

  /// An image of an item. An item may have thousands, so they are looked up once for each item.
  private func image(_ name: String, of item: Catalog.Item.ID) -> Catalog.Image? {
    if images?.item != item {
      images = (
        item, Dictionary(store.catalog.images(of: item).map { ($0.name, $0) }) { first, _ in first }
      )
    }
    return images?.byName[name]
  }
}

extension FieldValue {
  /// The objects with a number below this value.
  fileprivate func collectObjects(_ objects: inout [Int: [String: Value]]) {
    switch self {
    case .array(let elements): for element in elements { element.collectObjects(&objects) }
    case .dictionary(let members):
      if case .integer(let number)? = members[Reference.id] { objects[Int(number)] = members }
      for member in members.values { member.collectObjects(&objects) }
    default: break
    }
  }
}
