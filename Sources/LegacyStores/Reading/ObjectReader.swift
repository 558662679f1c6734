import CatalogModel
import Foundation
import KeyedArchiving

/// The role of an object in the store, if it is not a part of another object.
enum ObjectRole {
  case item(Int)
  case category(Int)
}

/// What a value around the items of an archive is.
enum LayoutPart {
  /// A gap in the layout for an item.
  case item(FieldValue)
  /// A gap for a list of items.
  case list(FieldValue)
  /// A value whose parts may be gaps.
  case container
  /// Any other value.
  case literal
}

/// Converts values of an archive to attributes, whatever their classes are. Only unreadable parts are omitted, and
/// recorded as problems.
///
/// Texts, numbers, dates, bytes, arrays and dictionaries become values of that type. An object of any other class
/// becomes a dictionary of its fields, with its class under `$class`. If an object occurs several times in an item, or
/// contains itself, it is written once with a number, `$id`, and the other times as a reference, such as `{"$ref": 1}`.
///
/// One reader converts item after item, and collects the classes of all items.
struct ObjectReader {
  /// The maximum depth of attributes. The catalog's own limit is slightly larger.
  private static let depthLimit = 100
  /// The maximum number of values in one item. A small file can share parts so often that one item would have billions.
  private static let itemValueLimit = 200_000
  /// The maximum number of values in all items of a file: two for each byte of the file, and a constant. Each value of a
  /// file takes at least one byte, but each item has its own copy of shared values.
  static let sharedValueLimit = 2_000_000
  /// The maximum bytes of text and data in all items of a file. Each item has its own copy of shared values, except
  /// images.
  static func byteLimit(fileByteCount count: Int) -> Int { 4 * count + 68 << 20 }

  /// - Parameter limit: the number of bytes or values that is exceeded, with its unit.
  static func sharedTooOften(_ limit: String, path: String? = nil) -> LegacyError {
    LegacyError(
      .unreadable,
      "texts, data and other values are shared so often that the items would have more than \(limit); split the file "
        + "into several", path: path)
  }
  /// Foundation's collections, which have contents instead of fields.
  static let collections: [String: ArchivedClass] = Dictionary(
    uniqueKeysWithValues: [
      .array, .mutableArray, .set, .mutableSet, .orderedSet, .mutableOrderedSet, .dictionary,
      .mutableDictionary,
    ].map { (archivedClass: ArchivedClass) in (archivedClass.name, archivedClass) })

  /// The role of another object in the store, or nil if the object is a part of the current item.
  var role: (ArchivedObject) throws -> ObjectRole? = { _ in nil }

  /// What a value is, by the path to it and its depth. Nil except around the items.
  var layout: ((ArchivedValue, _ path: String, _ depth: Int) throws -> LayoutPart)?
  /// Records that a value around the items can't be read.
  var noteLoss: (_ path: String, any Error) -> Void = { _, _ in }

  /// The classes found, and how they encode their fields.
  var classes: [String: LegacyClass] = [:]
  /// The pictures and large data of the item, to which its attributes refer with `$image`.
  private(set) var images: [LegacyImage] = []
  /// The unreadable parts of the item: the path of keys, and the reason.
  private(set) var problems: [(path: String, reason: String)] = []
  /// The fields of the item with unreadable parts.
  private(set) var unreadable: Set<String> = []

  private let survey: ClassSurvey
  private var contents: SharedContents
  /// The places of the data of images, which are stored once, however many items have them.
  private var pictures: Set<UInt> = []
  /// The fingerprint of each picture in a collection without order, by its place. An archive can refer to it very often.
  private var fingerprints: [UInt: String] = [:]
  private var valueCount = 0
  private let (valueLimit, byteLimit): (Int, Int)
  private var valuesLeft: Int
  private var bytesLeft: Int
  private var imageNames = UniqueNames()
  /// The number of each object in this item, by its UID.
  private var numbers: [Int: Int] = [:]
  private var isReferredTo: Set<Int> = []
  /// The encoding of the decimal number that was just converted, if an export would choose another one.
  private var decimalObject: FieldValue?
  /// The collections on the path from the item to the current value.
  private var openCollections: Set<Int> = []
  /// The path to the outermost collection around the current value whose order in the file has no meaning.
  private var unorderedPath: String?
  /// The names of the images in such collections.
  private var unorderedImages: Set<String> = []
  /// The mutable collections of the item.
  private var mutableCollections: Set<Int> = []
  /// The collections in place of which the layout has gaps.
  private var gaps: Set<Int> = []

  init(_ archive: KeyedArchive, _ survey: ClassSurvey) {
    self.survey = survey
    contents = SharedContents(archive)
    let byteCount = archive.propertyList.bytes.count
    valueLimit = 2 * byteCount + Self.sharedValueLimit
    byteLimit = Self.byteLimit(fileByteCount: byteCount)
    (valuesLeft, bytesLeft) = (valueLimit, byteLimit)
  }

  mutating func begin() {
    (images, imageNames) = ([], UniqueNames())
    (problems, unreadable) = ([], [])
    (valueCount, numbers, isReferredTo) = (0, [:], [])
    (openCollections, mutableCollections, gaps, unorderedImages) = ([], [], [], [])
  }

  /// The fields of an object, as attributes with the same names.
  /// - Parameter skipped: fields to omit.
  mutating func attributes(
    of object: ArchivedObject, skipping skipped: Set<String> = []
  ) throws -> [String: FieldValue] {
    begin()
    let number = number(of: object.uid)
    var attributes = try fields(of: object, skipping: skipped, path: "", depth: 0)
    if isReferredTo.contains(number) { attributes[Reference.id] = .integer(Int64(number)) }
    return finished(attributes)
  }

  /// Converts a value that is not a separate item.
  mutating func attribute(_ name: String, _ value: ArchivedValue) throws -> FieldValue {
    let converted = try part(name, value)
    return finished([name: converted])[name] ?? .null
  }

  /// Whether objects of a class hold a number or an identifier, and are values and not items.
  static func isScalar(_ name: String) -> Bool {
    LegacyClass.Form.isDecimal(name) || name == "NSNumber" || name == "NSUUID"
  }

  /// Converts an element of a list that is an item without fields.
  /// - Returns: also the form of a number or an identifier, as ``Reference/forms`` has it.
  mutating func element(_ name: String, _ value: ArchivedValue) throws -> (
    value: FieldValue, form: FieldValue?
  ) {
    guard case .object(let object) = value, Self.isScalar(object.className) else {
      return (try attribute(name, value), nil)
    }
    let converted = try convert(value, path: name, depth: 0, isField: true)
    let form = decimalObject ?? .string(object.className)
    decimalObject = nil
    if let number = converted.boxedNumber { return (number, finished([name: converted])[name]) }
    return converted.isObject ? (finished([name: converted])[name] ?? .null, nil) : (converted, form)
  }

  /// Converts one of several values that may have objects in common; see ``finished(_:)``.
  mutating func part(_ name: String, _ value: ArchivedValue) throws -> FieldValue {
    try convert(value, path: name, depth: 0, isField: false)
  }

  /// The converted values of an item or a layout, in a form that does not depend on the order of sets in the file.
  func finished(_ values: [String: FieldValue]) -> [String: FieldValue] {
    CanonicalOrder.apply(to: values.mapValues(tidied))
  }

  private mutating func number(of uid: Int) -> Int {
    if let number = numbers[uid] { return number }
    let number = 1 + numbers.count
    numbers[uid] = number
    return number
  }

  private mutating func fields(
    of object: ArchivedObject, skipping skipped: Set<String> = [], path: String, depth: Int
  ) throws -> [String: FieldValue] {
    let name = object.className
    if classes[name] == nil {
      classes[name] = LegacyClass(chain: object.classChain, hints: object.classHints)
    }
    classes[name]?.count += 1
    var fields: [String: FieldValue] = [:]
    var forms: [String: FieldValue] = [:]
    // Fields are sorted, so that the numbers of shared objects do not depend on the order in the file.
    for field in try object.allFields().sorted(by: { $0.name < $1.name }) {
      let key = Self.key(of: field.name)
      try charge(bytes: key.utf8.count)
      let path = step(key, from: path)
      let converted = try readable(path) { reader -> FieldValue? in
        let value = try field.value(&reader.contents)
        let form = value.form(isReference: try field.isReference)
        reader.classes[name]?.note(key, form)
        if skipped.contains(field.name) { return nil }
        let converted = try reader.convert(value, path: path, depth: depth + 1, isField: true)
        if let object = reader.decimalObject {
          forms[key] = object
          reader.decimalObject = nil
        } else if !converted.isObject,
          LegacyClass.Form.isUnusual(form, for: reader.classes[name]?.fields[key])
        {
          forms[key] = .string(form)
        }
        return converted
      }
      guard let value = converted ?? nil else { continue }
      // If all objects of a class have a key, an export writes nil where there is no value, except for keys under
      // which other objects have a number, a text or data in the field itself.
      if value == .null, !survey.isOptional(field.name, in: name) {
        if survey.isInline(field.name, in: name) { forms[key] = .string(LegacyClass.Form.null) }
        continue
      }
      guard fields[key] == nil else {
        throw LegacyError(.unreadable, "an object of the class \(name) has two fields with the name \(key)")
      }
      fields[key] = value
    }
    if !forms.isEmpty { fields[Reference.forms] = .dictionary(forms) }
    return fields
  }

  /// Reads a part of the item. An unreadable part is recorded as a problem, and the result is nil.
  private mutating func readable<T>(
    _ path: String, _ body: (inout ObjectReader) throws -> T
  ) throws -> T? {
    do { return try body(&self) } catch  where layout != nil {
      noteLoss(path, error)
      return nil
    } catch let error as ArchiveError {
      problems.append((path.usableName, "\(error)"))
      unreadable.insert(String(path.prefix { $0 != "." && $0 != "[" }))
      return nil
    }
  }

  /// The path to a part. The names of lists have colons in place of dots.
  private func step(_ key: String, from path: String) -> String {
    path.isEmpty ? key : path + (layout == nil ? "." : ":") + key
  }

  private mutating func charge(bytes: Int) throws(LegacyError) {
    bytesLeft -= bytes
    guard bytesLeft >= 0 else { throw Self.sharedTooOften("\(byteLimit) bytes") }
  }

  /// The key for a field, with another `$` if it looks like a reserved one. Values without keys have the names `$0`, `$1`
  /// and so on, which do not.
  static func key(of name: String) -> String {
    name.utf8.first == UInt8(ascii: "$") && !name.dropFirst().allSatisfy(\.isNumber) ? "$" + name : name
  }

  /// The name of the field with a key.
  static func name(ofKey key: String) -> String { key.hasPrefix("$$") ? String(key.dropFirst()) : key }

  private mutating func convert(
    _ value: ArchivedValue, path: String, depth: Int, isField: Bool
  ) throws -> FieldValue {
    valueCount += 1
    valuesLeft -= 1
    guard valueCount <= Self.itemValueLimit else {
      throw LegacyError(.unreadable, "with its shared parts it has more than \(Self.itemValueLimit) values")
    }
    guard valuesLeft >= 0 else { throw Self.sharedTooOften("\(valueLimit) values") }
    guard depth <= Self.depthLimit else {
      throw LegacyError(.unreadable, "its objects are nested more than \(Self.depthLimit) deep")
    }
    if let gap = try gap(for: value, path, depth) { return gap }
    switch value {
    case .null: return .null
    case .bool(let flag): return .bool(flag)
    case .integer(let integer): return .integer(integer)
    case .unsigned(let integer): return .unsigned(integer)
    case .real(let real): return .double(real)
    case .string(let text): return try keep(text)
    case .data(let data): return try keep(data, path: path)
    case .date(let seconds): return FieldValue(secondsSince2001: seconds)
    case .array(let array): return try list(array, path, depth)
    case .dictionary(let dictionary):
      return try members(of: dictionary, className: "NSDictionary", path, depth)
    case .object(let object):
      // While `layout` is set, an object is around the items and has no role.
      switch try layout == nil ? role(object) : nil {
      case .item(let index): return Reference.make(Reference.item, index)
      case .category(let index): return Reference.make(Reference.category, index)
      case nil: return try convert(object, path: path, depth: depth, isField: isField)
      }
    }
  }

  /// What the layout has in place of a value: a gap, or the value itself if no part of it is a gap. Nil for a value whose
  /// parts are to be looked at, and for all values outside of a layout.
  private mutating func gap(
    for value: ArchivedValue, _ path: String, _ depth: Int
  ) throws -> FieldValue? {
    guard let layout else { return nil }
    let uid: Int? =
      switch value {
      case .object(let object): object.uid
      case .array(let array): array.uid
      default: nil
      }
    if let uid, gaps.contains(uid) || numbers[uid] != nil {
      isReferredTo.insert(number(of: uid))
      return Reference.make(Reference.ref, number(of: uid))
    }
    switch try layout(value, path, depth) {
    case .container: return nil
    case .item(let gap): return gap
    case .list(let gap):
      guard let uid, var members = gap.dictionary else { return gap }
      gaps.insert(uid)
      members[Reference.id] = .integer(Int64(number(of: uid)))
      return .dictionary(members)
    case .literal:
      // Each literal has the limit of an item.
      (self.layout, valueCount) = (nil, 0)
      defer { (self.layout, valueCount) = (layout, 0) }
      return try convert(value, path: path, depth: depth, isField: false)
    }
  }

  private mutating func convert(
    _ object: ArchivedObject, path: String, depth: Int, isField: Bool
  ) throws -> FieldValue {
    let value = ArchivedValue.object(object)
    let outer = unorderedPath
    if ["NSSet", "NSMutableSet", "NSCountedSet"].contains(object.className) { unorderedPath = outer ?? path }
    defer { unorderedPath = outer }
    // An object of one of these classes that has other fields, as in archives of other systems, is kept as an object.
    switch object.className {
    case "NSString", "NSMutableString":
      if case .string(let text)? = try leaf(object, "NS.string") { return try keep(text) }
      if let text = try view({ try value.string }) { return try keep(text) }
    case "NSData", "NSMutableData":
      if case .data(let data)? = try leaf(object, "NS.data") { return try keep(data, path: path) }
      if let data = try view({ try value.data }) { return try keep(data, path: path) }
    case "NSDate":
      if let seconds = try view({ try value.secondsSince2001 }) {
        return FieldValue(secondsSince2001: seconds)
      }
    case "NSNull" where !isField:
      return .null
    case "NSURL" where isField:
      // Only a URL without a base in a field becomes a text. Elsewhere, an export would write a string in its place.
      if try object["NS.base"]?.isNull ?? true, let text = try view({ try object["NS.relative"]?.string }) {
        return try keep(text)
      }
    case "NSUUID" where isField:
      if try object["NS.uuidbytes"] != nil, let uuid = try view({ try value.uuid }) {
        return .string(uuid.uuidString)
      }
    case let name where LegacyClass.Form.isDecimal(name):
      if let number = try decimal(object, path, depth, isField: isField) { return number }
    case let name where Self.collections[name] != nil:
      if let converted = try collection(object, value, path, depth) { return converted }
    default: break
    }
    let known = numbers[object.uid]
    let number = number(of: object.uid)
    if known != nil {
      isReferredTo.insert(number)
      return Reference.make(Reference.ref, number)
    }
    var fields = try fields(of: object, path: path, depth: depth)
    fields[Reference.objectClass] = .string(object.className)
    fields[Reference.id] = .integer(Int64(number))
    return .dictionary(fields)
  }

  /// A view of an object, or nil if the object does not have the parts of its class.
  private func view<T>(_ body: () throws -> T?) throws -> T? {
    do { return try body() } catch let error as ArchiveError where error.code == .malformed { return nil }
  }

  /// An exact decimal number. Nil if the object is none.
  private mutating func decimal(
    _ object: ArchivedObject, _ path: String, _ depth: Int, isField: Bool
  ) throws -> FieldValue? {
    guard let decimal = try view({ try ArchivedValue.object(object).decimal }),
      let number = FieldValue(decimal)
    else {
      return nil
    }
    var explicit = try fields(of: object, path: path, depth: depth)
    // The same number can be encoded in several ways.
    let isStandard = number.decimal.map { explicit == $0.archivedFields } ?? false
    if isStandard { explicit = [:] }
    explicit[Reference.objectClass] = .string(object.className)
    if isField {
      decimalObject = isStandard ? nil : .dictionary(explicit)
      return number
    }
    explicit[Reference.value] = number
    return .dictionary(explicit)
  }

  /// One of Foundation's collections. Nil if it does not have the parts of its class.
  ///
  /// A mutable collection gets a number if the item refers to it again, because it must stay the same one.
  private mutating func collection(
    _ object: ArchivedObject, _ value: ArchivedValue, _ path: String, _ depth: Int
  ) throws -> FieldValue? {
    let name = object.className
    let isMutable = name.hasPrefix("NSMutable")
    if openCollections.contains(object.uid) || mutableCollections.contains(object.uid) {
      let number = number(of: object.uid)
      isReferredTo.insert(number)
      return Reference.make(Reference.ref, number)
    }
    var elements: ArchivedArray?
    var pairs: ArchivedDictionary?
    if name.hasSuffix("Dictionary") {
      pairs = try view { try value.dictionary }
    } else {
      elements = try view { try value.array ?? value.set }
    }
    if elements == nil, pairs == nil { return nil }
    // A collection of another system, which has other fields, can look empty.
    if (elements?.count ?? pairs?.count) == 0, try object["NS.objects"] == nil, try !object.keys.isEmpty {
      return nil
    }
    openCollections.insert(object.uid)
    defer { openCollections.remove(object.uid) }
    if isMutable { mutableCollections.insert(object.uid) }
    var result: FieldValue
    if let pairs {
      result = try members(of: pairs, className: name, path, depth)
    } else if let elements {
      let members = try list(elements, path, depth)
      result =
        name.hasSuffix("Set") ? [Reference.objectClass: .string(name), "NS.objects": members] : members
    } else {
      return nil
    }
    guard isMutable || numbers[object.uid] != nil else { return result }
    return [
      Self.uid: .integer(Int64(object.uid)), Reference.objectClass: .string(name), Self.contents: result,
    ]
  }

  /// The keys of a collection until it is known whether anything refers to it.
  private static let uid = "$uid"
  private static let contents = "$contents"

  /// The explicit form of a collection, which has a place for its number.
  private func explicit(_ contents: FieldValue, _ className: FieldValue, _ number: FieldValue) -> FieldValue {
    var explicit: [String: FieldValue]
    if let elements = contents.array {
      explicit = ["NS.objects": .array(elements)]
    } else if contents.objectClass != nil {
      explicit = contents.dictionary ?? [:]
    } else {
      let sorted = (contents.dictionary ?? [:]).sorted { $0.key < $1.key }
      explicit = [
        "NS.keys": .array(sorted.map { .string($0.key) }), "NS.objects": .array(sorted.map(\.value)),
      ]
    }
    explicit[Reference.objectClass] = className
    explicit[Reference.id] = number
    return .dictionary(explicit)
  }

  private mutating func list(_ array: ArchivedArray, _ path: String, _ depth: Int) throws -> FieldValue {
    var elements: [FieldValue] = []
    for index in 0..<array.count {
      let path = "\(path)[\(index)]"
      let element = try readable(path) { reader in
        let value = try array.value(at: index, &reader.contents)
        return try reader.convert(value, path: path, depth: depth + 1, isField: false)
      }
      if let element { elements.append(element) }
    }
    return .array(elements)
  }

  private mutating func members(
    of dictionary: ArchivedDictionary, className: String, _ path: String, _ depth: Int
  ) throws -> FieldValue {
    var members: [String: FieldValue] = [:]
    var keys: [FieldValue] = []
    var values: [FieldValue] = []
    let (indexes, areNames) = sortedIndexes(of: dictionary)
    let outer = unorderedPath
    if !areNames { unorderedPath = outer ?? path }
    defer { unorderedPath = outer }
    for index in indexes {
      var text: String?
      let pair = try readable("\(path)[\(index)]") { reader in
        let key = try dictionary.key(at: index, &reader.contents)
        text = try key.string
        let stepPath = reader.step(text ?? "\(index)", from: path)
        let value = try reader.readable(stepPath) { reader in
          let value = try dictionary.value(at: index, &reader.contents)
          return try reader.convert(value, path: stepPath, depth: depth + 1, isField: false)
        }
        return (try reader.convert(key, path: "\(path).key", depth: depth + 1, isField: false), value)
      }
      guard let (key, value) = pair, let value else { continue }
      keys.append(key)
      values.append(value)
      if let text, text.utf8.first != UInt8(ascii: "$") { members[text] = value }
    }
    return .contents(of: className, members, count: keys.count, keys: keys, values: values)
  }

  /// The positions of a dictionary's pairs in the order of their keys, because that in the file has no meaning. Pairs
  /// whose key is not a text come last.
  /// - Returns: also whether the keys are different texts.
  private mutating func sortedIndexes(of dictionary: ArchivedDictionary) -> (indexes: [Int], areNames: Bool) {
    let keys = (0..<dictionary.count).map { index in
      (text: (try? dictionary.key(at: index, &contents))?.textOrNil, index: index)
    }
    let sorted = keys.sorted {
      ($0.text == nil ? 1 : 0, $0.text ?? "", $0.index) < ($1.text == nil ? 1 : 0, $1.text ?? "", $1.index)
    }
    return (sorted.map(\.index), Set(keys.compactMap(\.text)).count == keys.count)
  }

  private mutating func keep(_ text: String) throws(LegacyError) -> FieldValue {
    try charge(bytes: text.utf8.count)
    return .string(text)
  }

  private mutating func keep(_ data: Data, path: String) throws(LegacyError) -> FieldValue {
    guard UniqueNames.isImage(data) else {
      try charge(bytes: data.count)
      return .data(data)
    }
    let name = unorderedPath.map { path in
      let known = data.place.flatMap { fingerprints[$0] }
      let print = known ?? ["": .data(data)].fingerprint.map { String($0, radix: 16) }.joined()
      if let place = data.place { fingerprints[place] = print }
      return "\(path).\(print)".usableName
    }
    if let name, !unorderedImages.insert(name).inserted { return [Reference.image: .string(name)] }
    let image = imageNames.image(of: data, at: name ?? path)
    if data.place.map({ pictures.insert($0).inserted }) ?? true { try charge(bytes: data.count) }
    images.append(image)
    return [Reference.image: .string(image.name)]
  }

  /// The contents of an object that is a text or data, in the memory of its other occurrences.
  private mutating func leaf(_ object: ArchivedObject, _ name: String) throws -> ArchivedValue? {
    try object.allFields().first { $0.name == name }?.value(&contents)
  }

  /// Removes the numbers that nothing refers to.
  private func tidied(_ value: FieldValue) -> FieldValue {
    switch value {
    case .array(let elements): return .array(elements.map(tidied))
    case .dictionary(var members):
      if let uid = members[Self.uid]?.integer, let contents = members[Self.contents].map(tidied),
        let className = members[Reference.objectClass]
      {
        guard let number = numbers[uid], isReferredTo.contains(number) else { return contents }
        return explicit(contents, className, .integer(Int64(number)))
      }
      let isNumbered = value.objectClass != nil || members[Layout.list] != nil
      if isNumbered, let number = members[Reference.id]?.integer, !isReferredTo.contains(number) {
        members[Reference.id] = nil
      }
      return .dictionary(members.mapValues(tidied))
    default: return value
    }
  }
}

extension ArchivedValue {
  /// How the value of a field is encoded.
  func form(isReference: Bool) -> String {
    switch self {
    case .null: LegacyClass.Form.null
    case .object(let object): object.className
    case .bool: isReference ? "NSNumber" : LegacyClass.Form.bool
    case .integer, .unsigned: isReference ? "NSNumber" : LegacyClass.Form.integer
    case .real: isReference ? "NSNumber" : LegacyClass.Form.real
    case .string: isReference ? "NSString" : LegacyClass.Form.text
    case .data: isReference ? "NSData" : LegacyClass.Form.bytes
    case .date: "NSDate"
    case .array: LegacyClass.Form.list
    case .dictionary: "NSDictionary"
    }
  }
  fileprivate var textOrNil: String? { (try? string) ?? nil }
}

extension FieldValue {
  /// Whether the value is an object or a collection, and no text, number, date or data.
  var isObject: Bool { imageName == nil && (array != nil || dictionary != nil) }

  /// The number in an object of the class `NSNumber` that has nothing else.
  var boxedNumber: FieldValue? {
    guard objectClass == "NSNumber" else { return nil }
    let fields = (dictionary ?? [:]).filter { ![Reference.objectClass, Reference.id].contains($0.key) }
    guard fields.count == 1, let value = fields.first?.value, value.decimal != nil || value.bool != nil,
      value.string == nil
    else { return nil }
    return value
  }

  /// The value with its form, where there is no field that has it.
  func marked(_ form: String, for known: String? = nil) -> FieldValue {
    guard !isObject, LegacyClass.Form.isUnusual(form, for: known) else { return self }
    return [Reference.objectClass: .string(form), Reference.value: self]
  }

  /// A date. If Foundation can't represent it, it stays a number.
  init(secondsSince2001 seconds: Double) {
    // The years 1 to 9999, which can be written as a date.
    if (-63_114_076_800..<252_423_993_600).contains(seconds) {
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    } else {
      self = [Reference.objectClass: "NSDate", "NS.time": .double(seconds)]
    }
  }
}

extension String {
  /// A name in place of the text that the catalog's rules accept: the bytes of a text of only white space, and the end
  /// of one that is too long. Nearly always it is the text itself.
  var usableName: String {
    let name =
      allSatisfy(\.isWhitespace)
      ? utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() : self
    // A scalar has at most four bytes, but a character can have thousands.
    return name.utf8.count <= 1000 ? name : "…" + String(name.unicodeScalars.suffix(200))
  }
}
