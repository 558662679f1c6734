import CatalogModel
import Files
public import Foundation
import KeyedArchiving

extension LegacyStore {
  /// The file names of the to-do app.
  static let toDoFiles = ["toDoItems.plist", "doneItems.plist"]

  /// Reads property lists of dictionaries, such as `toDoItems.plist` and `doneItems.plist`.
  ///
  /// Each dictionary of an array becomes an item. One that looks like a to-do becomes a `toDo`, which is done if the
  /// file's name says so. Items that move between the two files are recognized if both files are given at once.
  /// - Parameters:
  ///   - urls: files, or one folder that contains the to-do app's files. In a folder, a missing file counts as an empty
  ///     list.
  ///   - mapping: overrides for the guess of attributes.
  /// - Throws: ``LegacyError`` if no files are given, if there is no such file, if it is not a property list, if two
  ///   files have the same name, or if the mapping names a key that no object has. If only some of several files can't
  ///   be read, they are problems of the store.
  public static func propertyLists(
    _ urls: [URL], mapping: FieldMapping = FieldMapping()
  ) throws(LegacyError) -> LegacyStore {
    var store = LegacyStore(.plist)
    var files: [URL] = []
    for url in urls {
      if let folder = try? Folder(url) {
        files += try toDos(in: folder)
        store.lists.formUnion(toDoFiles)
      } else {
        files.append(url)
      }
    }
    try check(files)
    for file in files {
      let name = file.lastPathComponent
      do {
        let list = try PropertyList(ArchiveBytes(contentsOf: file))
        if try KeyedArchive.isKeyedArchive(list) {
          throw LegacyError(
            .wrongUse, "it is a keyed archive; import it as one: journal import J archive FILE")
        }
        var reader = PropertyListReader(store: store, mapping: mapping)
        let content = try reader.layout(of: FieldValue(contentsOf: list), list: name, isTop: true)
        store = reader.store
        store.lists.insert(name)
        store.files[name] = Layout.file(content, isXML: list.format == .xml)
      } catch {
        try store.note(error, of: name, isOnly: files.count == 1, "a property list")
        store.lists.remove(name)
      }
    }
    try mapping.check(against: store)
    return store
  }

  /// The to-do app's files in its folder of documents.
  private static func toDos(in folder: Folder) throws(LegacyError) -> [URL] {
    var files: [URL] = []
    for name in toDoFiles {
      guard let kind = try folder.kind(of: name) else { continue }
      if kind == .link { throw .link(folder.path(of: name)) }
      files.append(URL(fileURLWithPath: folder.path(of: name)))
    }
    if !files.isEmpty { return files }
    throw LegacyError(
      .notFound, "there is neither toDoItems.plist nor doneItems.plist; name the file to import",
      path: folder.path)
  }
}

/// Finds the items in a property list: the dictionaries of its arrays.
struct PropertyListReader {
  var store: LegacyStore
  let mapping: FieldMapping
  private var imageNames = UniqueNames()
  /// Different keys can lead to one name of a list, because a key may contain the separator.
  private var listNames = UniqueNames()
  /// How many items earlier files have.
  private let earlierCount: Int

  init(store: LegacyStore, mapping: FieldMapping) {
    (self.store, self.mapping) = (store, mapping)
    earlierCount = store.items.count
  }

  mutating func layout(
    of value: FieldValue, list: String, isTop: Bool
  ) throws(LegacyError) -> FieldValue {
    switch value {
    case .array(let elements):
      guard isTop || elements.contains(where: { $0.dictionary != nil }) else { return literal(value, list) }
      return try add(elements, list)
    default:
      let (itemCount, imageCount) = (store.items.count, store.images.count)
      let content = try value.mappingMembers { (key, member) throws(LegacyError) in
        try layout(of: member, list: "\(list):\(key)", isTop: false)
      }
      guard isTop, store.items.count == itemCount else { return content ?? literal(value, list) }
      // A dictionary without lists is one item.
      store.images.removeLast(store.images.count - imageCount)
      return Layout.element(try add([value], list)[Layout.list]?.string ?? list)
    }
  }

  private mutating func literal(_ value: FieldValue, _ path: String) -> FieldValue {
    imageNames.moving(value, at: path, to: &store.images)
  }

  private mutating func add(_ elements: [FieldValue], _ path: String) throws(LegacyError) -> FieldValue {
    try LegacyStore.checkItemCount(store.items.count - earlierCount + elements.count)
    let list = listNames.unused(path)
    store.lists.insert(list)
    // The kind is a key in the file or, for the top, the file's name.
    let kind = path.contains(":") ? path.split(separator: ":").last.map(String.init) ?? path : path.stem
    let items = PlainItems(elements, list: list, kind: kind, mapping: mapping)
    let start = store.items.count
    if elements.count > start { store.items.reserveCapacity(start + elements.count) }
    var skipped: [(element: FieldValue, place: Int)] = []
    for (index, element) in elements.enumerated() {
      var names = UniqueNames()
      var images: [LegacyImage] = []
      let content = names.moving(element, at: "", to: &images)
      if var item = items.item(content, noting: &store.classes) {
        item.images = images
        store.items.append(item)
      } else {
        skipped.append((element, store.items.count - start))
        store.problems.append(
          LegacyProblem(
            "\(list)[\(index)]", "it has no title, so it is not an item, as in the app", isLoss: false))
      }
    }
    return Layout.list(list, className: nil, skipped: skipped)
  }
}

extension FieldValue {
  /// Converts the contents of a property list without loss.
  init(contentsOf list: PropertyList) throws {
    self = try list.tree(sharing: ObjectReader.sharedValueLimit, FieldValue.init)
    // Items that share a text in the file each get a separate copy of it.
    var images: Set<UInt> = []
    let limit = ObjectReader.byteLimit(fileByteCount: list.bytes.count)
    guard byteCount(&images) <= limit else {
      throw ObjectReader.sharedTooOften("\(limit) bytes", path: list.bytes.path)
    }
  }

  /// The bytes of its texts and data. Shared ones count each time they occur, except images, which are stored once.
  /// - Parameter images: the places of the images that were counted.
  private func byteCount(_ images: inout Set<UInt>) -> Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data):
      UniqueNames.isImage(data) && data.place.map { !images.insert($0).inserted } ?? false ? 0 : data.count
    case .array(let elements): elements.reduce(0) { $0 + $1.byteCount(&images) }
    case .dictionary(let members):
      members.reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount(&images) }
    default: 0
    }
  }

  private init(_ node: TreeNode<FieldValue>) {
    switch node {
    case .leaf(let value): self.init(value)
    case .array(let elements), .set(let elements): self = .array(elements)
    case .dictionary(let all, let count):
      let (keys, values) = (all[..<count], all[count...])
      var members: [String: FieldValue] = Dictionary(minimumCapacity: count)
      for (key, value) in zip(keys, values) {
        if let key = key.string, key.utf8.first != UInt8(ascii: "$") { members[key] = value }
      }
      self = .contents(of: "NSDictionary", members, count: count, keys: Array(keys), values: Array(values))
    }
  }

  private init(_ value: PropertyListValue) {
    switch value {
    case .bool(let flag): self = .bool(flag)
    case .integer(let integer): self = .integer(integer)
    case .unsigned(let integer): self = .unsigned(integer)
    case .bigInteger(let integer): self = .string("\(integer)")
    case .real(let real): self = .double(real)
    case .date(let seconds): self = FieldValue(secondsSince2001: seconds)
    case .data(let data): self = .data(data)
    case .string(let text): self = .string(text)
    case .uid(let number): self = [Reference.objectClass: "UID", "value": .integer(Int64(number))]
    case .null, .array, .set, .dictionary: self = .null
    }
  }

  /// A dictionary of a property list with other values under its keys. Nil for any other value.
  func mappingMembers<Failure: Error>(
    _ body: (_ key: String, _ value: FieldValue) throws(Failure) -> FieldValue
  ) throws(Failure) -> FieldValue? {
    guard case .dictionary(let members) = self else { return nil }
    guard let className = objectClass else {
      var mapped: [String: FieldValue] = [:]
      // Sorted, because the names of lists and images depend on the order.
      for (key, member) in members.sorted(by: { $0.key < $1.key }) { mapped[key] = try body(key, member) }
      return .dictionary(mapped)
    }
    guard let keys = members["NS.keys"]?.array, let values = members["NS.objects"]?.array else { return nil }
    var names: Set<String> = []
    var mapped: [FieldValue] = []
    for (index, (key, value)) in zip(keys, values).enumerated() {
      let name = key.string ?? ""
      mapped.append(try body(names.insert(name).inserted ? name : "\(name)[\(index)]", value))
    }
    return .contents(of: className, [:], count: keys.count, keys: keys, values: mapped)
  }

  /// A dictionary. It has the explicit form, with its class, if a key occurs twice, is not a text, or looks like a
  /// reserved key.
  static func contents(
    of className: String, _ members: [String: FieldValue], count: Int,
    keys: @autoclosure () -> [FieldValue], values: @autoclosure () -> [FieldValue]
  ) -> FieldValue {
    if members.count == count { return .dictionary(members) }
    let explicit: FieldValue = [
      Reference.objectClass: .string(className), "NS.keys": .array(keys()), "NS.objects": .array(values()),
    ]
    return explicit.sortingSets
  }
}
