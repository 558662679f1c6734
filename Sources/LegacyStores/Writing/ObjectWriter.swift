import CatalogModel
import Foundation
import KeyedArchiving

/// Makes the objects of an archive from items and categories, with the classes and keys that the app's decoders read.
/// References by number become references between objects.
final class ObjectWriter {
  private let store: ExportedItems
  private let contents: ExportContents
  private let only: Catalog.Item.ID?
  private var itemNodes: [Catalog.Item.ID: ArchiveNode] = [:]
  private var plainValues: [Catalog.Item.ID: ArchiveNode.Value] = [:]
  private var categoryNodes: [CategoryID: ArchiveNode] = [:]
  /// Objects that can't be changed, so that all items share them: by the bytes of a long text, the digest of an image, or
  /// the fingerprint of one of Apple's objects around a picture, such as a `UIImage`.
  private var shared: [Data: ArchiveNode] = [:]
  private var pictures: [Blob: [UInt8]] = [:]
  private var knownFields: [String: (places: [String: Int], required: [String])] = [:]
  /// Closures that fill the nodes that have no fields yet.
  private var waiting: [() -> Void] = []
  /// All nodes with fields, whose cycles are broken at the end so that they are freed.
  private var made: [ArchiveNode] = []

  private struct Context {
    /// The item whose images the value refers to.
    var item: Catalog.Item.ID?
    var isLayout = false
    /// The objects of the item made so far, by number.
    var objects: [Int: ArchiveNode] = [:]
    /// The definitions of numbered objects, because a reference may come before its definition.
    var definitions: [Int: FieldValue] = [:]

    init(item: Catalog.Item.ID?, of values: some Sequence<FieldValue> = [], isLayout: Bool = false) {
      (self.item, self.isLayout) = (item, isLayout)
      for value in values {
        value.forEachValue { if let number = $0[Reference.id]?.integer { definitions[number] = $0 } }
      }
    }
  }

  /// - Parameter only: the item, if each item has a separate archive.
  init(_ store: ExportedItems, _ contents: ExportContents, only: Catalog.Item.ID?) {
    (self.store, self.contents, self.only) = (store, contents, only)
  }

  /// An archive with the top values of a layout.
  func archive(
    _ top: [String: FieldValue], archiver: String = KeyedArchiveWriter.standardArchiver
  ) throws(ArchiveError) -> [UInt8] {
    var context = Context(item: store.memory.parts.first, of: top.values, isLayout: true)
    let values = top.sorted { $0.key < $1.key }.map { key, value in
      // A null at the top was nil; an `NSNull` there is marked as such.
      (key: key, value: value == .null ? .null : self.value(value, nil, &context))
    }
    let (keyed, unkeyed) = Self.separated(values)
    while let next = waiting.popLast() { next() }
    defer { for node in made { node.replaceFields([]) } }
    return try ArchiveNode.archive(keyed, unkeyed: unkeyed, archiver: archiver)
  }

  // MARK: Layouts

  /// The items or categories in a gap of a layout. Nil for any other value.
  private func gap(_ members: [String: FieldValue], _ context: inout Context) -> ArchiveNode.Value? {
    if let list = members[Layout.element]?.string {
      if let item = only ?? store.lists[list]?.first {
        return element(item, form: members[Layout.form]?.string)
      }
      return store.categoryLists[list]?.first.map { .node(node(ofCategory: $0)) } ?? .null
    }
    guard let list = members[Layout.list]?.string else { return nil }
    let items = (store.lists[list] ?? []).map { element($0) }
    let categories = (store.categoryLists[list] ?? []).map { ArchiveNode.Value.node(node(ofCategory: $0)) }
    let className = members[Reference.objectClass]?.string
    let elements = collection(categories + items, className ?? "NSMutableArray")
    if let number = members[Reference.id]?.integer { context.objects[number] = elements }
    return .node(elements)
  }

  /// An item as an element of a list.
  /// - Parameter form: how an item that is not an object is encoded; nil if it is boxed.
  private func element(_ id: Catalog.Item.ID, form: String? = nil) -> ArchiveNode.Value {
    guard let item = store.catalog.item(id) else { return .null }
    contents.items.insert(id)
    let className = store.className(of: item)
    if className.isEmpty, let plain = item["value"] {
      if let value = plainValues[id] { return value }
      // A value that refers to its own item has nil there, because a file can't express that.
      plainValues[id] = .null
      var context = Context(item: id, of: [plain])
      let own = item[Reference.forms]?["value"]
      let value = encoded(plain, as: own, form ?? own?.string ?? own?.objectClass, &context)
      plainValues[id] = form == nil ? value.boxed : value
      return plainValues[id] ?? .null
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
      let node = ArchiveNode(.mutableDictionary)
      itemNodes[id] = node
      waiting.append { [self] in fill(node, pairs(store.fields(of: item), &context)) }
      return node
    }
    let node = ArchiveNode(archivedClass(className))
    itemNodes[id] = node
    waiting.append { [self] in
      var fields = store.fields(of: item)
      if let number = fields.removeValue(forKey: Reference.id)?.integer { context.objects[number] = node }
      var fixed: [String: ArchiveNode.Value] = [:]
      if let key = store.classes[className]?.mapping.first(where: { $0.value == "$category" })?.key {
        fixed[key] = item.category.map { category($0, form: store.classes[className]?.fields[key]) }
      }
      fill(node, className, fields, &context, fixed: fixed)
    }
    return node
  }

  private func category(_ id: CategoryID, form: String?) -> ArchiveNode.Value {
    guard let category = store.catalog.category(id) else { return .null }
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
      let fields = group?.fields ?? [:]
      var context = Context(item: store.memory.parts.first, of: fields.values)
      // An unchanged name that was empty or too long, and an unchanged color, stay as the app encoded them.
      var fixed: [String: ArchiveNode.Value] = [:]
      let isRenamed = category.name != group?.name.usableName
      if isRenamed || fields[nameKey] == nil {
        fixed[nameKey] = .string(isRenamed ? category.name : group?.name ?? category.name)
      }
      if let color = category.color {
        if group?.color != color || fields[colorKey] == nil {
          fixed[colorKey] = .node(self.color(color, like: fields[colorKey]))
        }
      } else if group?.color != nil {
        fixed[colorKey] = .null
      }
      if let key = keys["$items"].map(ObjectReader.key(of:)), let elements = elements(of: id, fields[key]) {
        let form = store.classes[className]?.fields[key] ?? ""
        fixed[key] = .node(
          collection(
            elements.map { value($0, nil, &context) }, form.hasPrefix("NS") ? form : "NSMutableArray"))
      }
      fill(node, className, fields, &context, fixed: fixed)
    }
    return node
  }

  /// The elements of a category's list. Nil if the field is no list, or if it was empty although items in the files
  /// referred to the category: then the app does not use it.
  /// - Parameter field: the list in the file, if it was empty or has more than the category's own items.
  private func elements(of id: CategoryID, _ field: FieldValue?) -> [FieldValue]? {
    var items = store.itemsByCategory[id] ?? []
    guard let field, !field.isEmptyList else {
      if field != nil, store.categoriesInFiles.contains(id) { return nil }
      return items.map { Reference.make(Reference.item, $0.number) }
    }
    guard let old = field.array else { return nil }
    let kept = old.filter { element in
      guard let number = element.target(Reference.item) else { return true }
      let item = Catalog.Item.ID(number)
      guard let there = store.catalog.item(item) else { return false }
      // An item that was moved to another category in the journal leaves the list.
      return there.category == id || store.rows[item]?.category != id
    }
    let numbers = Set(kept.compactMap { $0.target(Reference.item) })
    items.removeAll { numbers.contains($0.number) }
    return kept + items.map { Reference.make(Reference.item, $0.number) }
  }

  private func color(_ color: Catalog.Color, like old: FieldValue?) -> ArchiveNode {
    old?.objectClass == "NSColor"
      ? .nsColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
      : .uiColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
  }

  /// Fills the fields of an object. The fields that its class had in the files come first, with nil if there is no
  /// value.
  /// - Parameter fixed: values in place of those of fields.
  private func fill(
    _ node: ArchiveNode, _ className: String, _ fields: [String: FieldValue], _ context: inout Context,
    fixed: [String: ArchiveNode.Value] = [:]
  ) {
    let (places, required) = knownFields(of: className)
    let formOfField = store.classes[className]?.fields
    let forms = fields[Reference.forms]?.dictionary ?? [:]
    func wasNil(_ key: String) -> Bool { forms[key]?.string == LegacyClass.Form.null }
    let keys = Set(fields.keys).union(fixed.keys).union(required)
      .union(forms.keys.filter { wasNil($0) && places[$0] != nil })
      .subtracting([Reference.objectClass, Reference.id, Reference.forms])
    var values: [(key: String, value: ArchiveNode.Value)] = []
    for key in keys.sorted(by: { (places[$0] ?? .max, $0) < (places[$1] ?? .max, $1) }) {
      let own = wasNil(key) ? nil : forms[key]?.string ?? forms[key]?.objectClass
      let form = own ?? formOfField?[key]
      if let value = fixed[key] {
        values.append((key, value))
      } else if let field = fields[key], form != LegacyClass.Form.null || field != "" {
        values.append((key, encoded(field, as: forms[key], form, &context)))
      } else {
        // If a field was nil in every file, an empty text is the default of the models.
        values.append((key, .null))
      }
    }
    let (keyed, unkeyed) = Self.separated(values)
    // A key may occur twice, with one `$` and with two; the last value counts.
    var seen: Set<String> = []
    node.replaceFields(keyed.reversed().filter { seen.insert($0.key).inserted }.reversed())
    node.set(unkeyed: unkeyed)
    made.append(node)
  }

  /// The values that are encoded with a key, and those without one in their order. If there is a gap in this order, all
  /// have keys; an archiver writes a key that begins with `$` with another `$` in front.
  private static func separated(
    _ values: [(key: String, value: ArchiveNode.Value)]
  ) -> (keyed: [(key: String, value: ArchiveNode.Value)], unkeyed: [ArchiveNode.Value]) {
    var keyed: [(key: String, value: ArchiveNode.Value)] = []
    var numbered: [Int: ArchiveNode.Value] = [:]
    for (key, value) in values {
      if let position = Int(key.dropFirst()), position >= 0, key == "$\(position)" {
        numbered[position] = value
      } else {
        keyed.append((ObjectReader.name(ofKey: key), value))
      }
    }
    let unkeyed = (0..<numbered.count).compactMap { numbered[$0] }
    if unkeyed.count == numbered.count { return (keyed, unkeyed) }
    return (keyed + numbered.sorted { $0.key < $1.key }.map { ("$\($0.key)", $0.value) }, [])
  }

  /// The position of each field that objects of a class had in the files, and the fields that all of them get.
  private func knownFields(of className: String) -> (places: [String: Int], required: [String]) {
    if let known = knownFields[className] { return known }
    let known = store.classes[className]
    let places = Dictionary(zip(known?.order ?? [], 0...)) { first, _ in first }
    knownFields[className] = (places, known?.required ?? [])
    return (places, known?.required ?? [])
  }

  private func archivedClass(_ name: String) -> ArchivedClass {
    store.classes[name]?.archived(name) ?? ArchivedClass(name)
  }

  // MARK: Values

  /// A value that may have been an object in the files. If the number is the same, its encoding is, too.
  private func encoded(
    _ value: FieldValue, as object: FieldValue?, _ form: String?, _ context: inout Context
  ) -> ArchiveNode.Value {
    if let object, let fields = object.dictionary,
      object.boxedNumber.map({ $0 == value }) ?? (Decimal(archivedFields: fields) == value.decimal)
    {
      return self.value(object, form, &context)
    }
    return self.value(value, form, &context)
  }

  private func value(_ value: FieldValue, _ form: String?, _ context: inout Context) -> ArchiveNode.Value {
    switch value {
    case .null: return form == nil ? .node(.null()) : .null
    case .bool(let flag): return number(value, .bool(flag), form, context)
    // Decoders of reals accept integers, because archivers write equal numbers once.
    case .integer(let integer): return number(value, .integer(integer), form, context)
    case .unsigned(let integer): return number(value, .unsigned(integer), form, context)
    case .double(let real):
      // The attributes of the models are doubles, also for a class that encodes integers.
      if form == LegacyClass.Form.integer, let integer = Int64(exactly: real) { return .integer(integer) }
      return number(value, .real(real), form, context)
    case .string(let text):
      switch form {
      case let form? where LegacyClass.Form.isDecimal(form):
        return value.decimal.map { .node(decimal($0, form)) } ?? other(value, .string(text), form, context)
      case "NSURL"?: return .node(ArchiveNode(.url, ["NS.base": .null, "NS.relative": .string(text)]))
      case "NSUUID"?:
        return UUID(uuidString: text).map { .uuid($0) } ?? other(value, .string(text), "NSUUID", context)
      case "NSMutableString"?: return .node(.mutableString(text))
      case LegacyClass.Form.text?: return .text(text)
      default: return self.text(text)
      }
    case .data(let data): return self.data([UInt8](data), form)
    case .date(let date): return .date(date)
    case .array(let elements):
      let values = elements.map { self.value($0, nil, &context) }
      return form == LegacyClass.Form.list
        ? .list(values.map(\.boxed)) : .node(collection(values, form ?? ""))
    case .dictionary(let members): return object(value, members, form, &context)
    }
  }

  /// A number, as an object if the values of its field are objects.
  private func number(
    _ value: FieldValue, _ number: ArchiveNode.Value, _ form: String?, _ context: Context
  ) -> ArchiveNode.Value {
    guard let form, !LegacyClass.Form.isInline(form) else { return number }
    guard LegacyClass.Form.isDecimal(form) else { return number.boxed }
    return value.decimal.map { .node(decimal($0, form)) } ?? other(value, number.boxed, form, context)
  }

  /// A value that people have set in a field for objects of a class, and that is not one of them.
  private func other(
    _ value: FieldValue, _ written: ArchiveNode.Value, _ className: String, _ context: Context
  ) -> ArchiveNode.Value {
    contents.others.append((context.item, value, className))
    return written
  }

  private func decimal(_ decimal: Decimal, _ className: String) -> ArchiveNode {
    guard store.classes[className] != nil else { return .decimal(decimal) }
    let node = ArchiveNode(archivedClass(className))
    var context = Context(item: nil)
    fill(node, className, decimal.archivedFields, &context)
    return node
  }

  private func text(_ text: String) -> ArchiveNode.Value {
    guard text.utf8.count > 64 else { return .string(text) }
    return .node(shared(Data(text.utf8), .string(text)))
  }

  /// The first node that was made of these contents.
  private func shared(_ key: Data, _ node: @autoclosure () -> ArchiveNode) -> ArchiveNode {
    if let known = shared[key] { return known }
    let node = node()
    shared[key] = node
    return node
  }

  /// - Parameter digest: that of an image, which all fields share.
  private func data(_ bytes: [UInt8], _ form: String?, digest: Data? = nil) -> ArchiveNode.Value {
    switch form {
    case LegacyClass.Form.bytes?: .bytes(bytes)
    case "NSMutableData"?: .node(ArchiveNode(.mutableData, ["NS.data": .bytes(bytes)]))
    default: .node(digest.map { shared($0, .data(bytes)) } ?? .data(bytes))
    }
  }

  /// A collection of a class. If the class is not known, it is a mutable array, which any decoder accepts as an array.
  private func collection(_ values: [ArchiveNode.Value], _ className: String) -> ArchiveNode {
    // Other objects may have had objects of another class in this field.
    let isCollection =
      store.classes[className]?.chain.contains { ObjectReader.collections[$0] != nil } ?? false
    let appClass = isCollection ? archivedClass(className) : .mutableArray
    // A list can't be a dictionary, even if the field was one in the files.
    let isList = !className.hasSuffix("Dictionary")
    let node = ArchiveNode((isList ? ObjectReader.collections[className] : nil) ?? appClass)
    fill(node, className, values)
    return node
  }

  private func fill(_ node: ArchiveNode, _ className: String, _ values: [ArchiveNode.Value]) {
    let isOrderedSet = className == "NSOrderedSet" || className == "NSMutableOrderedSet"
    node.replaceFields(
      isOrderedSet
        ? values.enumerated().map { ("NS.object.\($0)", $1.boxed) }
        : [("NS.objects", .list(values.map(\.boxed)))])
    made.append(node)
  }

  private func fill(_ node: ArchiveNode, _ pairs: [(key: ArchiveNode.Value, value: ArchiveNode.Value)]) {
    node.replaceFields([
      ("NS.keys", .list(pairs.map(\.key.boxed))), ("NS.objects", .list(pairs.map(\.value.boxed))),
    ])
    made.append(node)
  }

  private func object(
    _ value: FieldValue, _ members: [String: FieldValue], _ form: String?, _ context: inout Context
  ) -> ArchiveNode.Value {
    if let target = value.target(Reference.item) { return element(EntityID(target)) }
    if let target = value.target(Reference.category) { return .node(node(ofCategory: EntityID(target))) }
    if let target = value.target(Reference.ref) {
      if let node = context.objects[target] { return .node(node) }
      // If there is no object with that number, this is an ordinary dictionary.
      if let definition = context.definitions[target] { return self.value(definition, form, &context) }
    }
    let number = members[Reference.id]?.integer
    if let number, let node = context.objects[number] { return .node(node) }
    if context.isLayout, let gap = gap(members, &context) { return gap }
    if let name = value.imageName {
      guard let blob = contents.blob(name, of: context.item) else { return .null }
      if pictures[blob] == nil { pictures[blob] = contents.data(of: blob).map { [UInt8]($0) } }
      return pictures[blob].map { data($0, form, digest: Data(blob.digest.bytes)) } ?? .null
    }
    if let plain = members[Reference.value], let className = value.objectClass {
      // The fields of a decimal number are there if it had another encoding than an export would choose.
      guard LegacyClass.Form.isDecimal(className), Decimal(archivedFields: members) == plain.decimal else {
        return self.value(plain, className, &context)
      }
      let node = ArchiveNode(archivedClass(className))
      fill(node, className, members.filter { $0.key != Reference.value }, &context)
      return .node(node)
    }
    guard let className = value.objectClass ?? form.flatMap(customClass) else {
      let kind: ArchivedClass = form == "NSDictionary" ? .dictionary : .mutableDictionary
      // A dictionary that may contain itself must exist before its members.
      let node = ArchiveNode(kind)
      if let number { context.objects[number] = node }
      fill(node, pairs(members, &context))
      return .node(node)
    }
    if let kind = ObjectReader.collections[className], let elements = members["NS.objects"]?.array {
      let keys = members["NS.keys"]?.array
      let isDictionary = className.hasSuffix("Dictionary")
      if !isDictionary || keys?.count == elements.count {
        // A collection that contains itself must exist before its elements.
        let node = ArchiveNode(kind)
        if let number { context.objects[number] = node }
        let values = elements.map { self.value($0, nil, &context) }
        if let keys, isDictionary {
          fill(node, zip(keys, values).map { (self.value($0, nil, &context), $1) })
        } else {
          fill(node, className, values)
        }
        return .node(node)
      }
    }
    let wrapper = number == nil ? wrapperContents(value, className, context.item) : nil
    if let wrapper, let node = shared[wrapper] { return .node(node) }
    let node = ArchiveNode(archivedClass(className))
    if let number { context.objects[number] = node }
    if let wrapper { shared[wrapper] = node }
    fill(node, className, members, &context)
    return .node(node)
  }

  /// The contents of one of Apple's objects that holds a picture and nothing that it could share otherwise.
  private func wrapperContents(_ value: FieldValue, _ className: String, _ item: Catalog.Item.ID?) -> Data? {
    guard ClassSurvey.isSystem(className), !className.contains("Mutable") else { return nil }
    var (hasPicture, isShared) = (false, false)
    let key = value.replacing { part in
      if part[Reference.id] != nil || part.isReference && part.imageName == nil { isShared = true }
      guard let blob = part.imageName.flatMap({ contents.blob($0, of: item) }) else { return nil }
      hasPicture = true
      return .data(Data(blob.digest.bytes))
    }
    return hasPicture && !isShared ? [className: key].fingerprint : nil
  }

  /// The class for a field whose object has no class any more. A class without fields, such as `NSNull`, is not one.
  private func customClass(_ form: String) -> String? {
    store.classes[form]?.fields.isEmpty == false && !LegacyClass.Form.isDecimal(form) ? form : nil
  }

  private func pairs(
    _ members: [String: FieldValue], _ context: inout Context
  ) -> [(key: ArchiveNode.Value, value: ArchiveNode.Value)] {
    members.sorted { $0.key < $1.key }.map { (.string($0.key), value($0.value, nil, &context)) }
  }
}
