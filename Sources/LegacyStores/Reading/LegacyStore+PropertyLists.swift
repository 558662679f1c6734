import CatalogModel
public import Foundation
import KeyedArchiving

extension LegacyStore {
  /// The file names of the to-do app.
  static let toDoFiles = ["toDoItems.plist", "doneItems.plist"]

  /// Reads property lists of dictionaries, such as `toDoItems.plist` and `doneItems.plist`.
  ///
  /// Each dictionary of an array is an item; one that looks like a to-do is a `toDo`, and done if its file name says
  /// so. Items that move between the two files are recognized if both are given at once.
  /// - Parameters:
  ///   - urls: files, or one folder that holds the to-do app's files. There, a missing file is an empty list.
  ///   - mapping: which key is which attribute, where the guess should be another.
  /// - Throws: ``LegacyError`` if there is no such file, or it is not a property list.
  public static func propertyLists(
    _ urls: [URL], mapping: FieldMapping = FieldMapping()
  ) throws(LegacyError) -> LegacyStore {
    var store = LegacyStore(.plist)
    var files: [URL] = []
    for url in urls {
      guard let folder = try? SourceFolder(url) else {
        files.append(url)
        continue
      }
      let found = try folderOfToDos(folder)
      for name in found.names {
        files.append(
          URL(fileURLWithPath: found.folder.path).appending(path: name, directoryHint: .notDirectory))
      }
      store.lists.formUnion(toDoFiles)
    }
    for file in files {
      let name = file.lastPathComponent
      guard store.files[name] == nil else {
        throw LegacyError(.wrongUse, "two of the files are called \"\(name)\"; import them as two stores")
      }
      _ = try SourceFile(file)
      do {
        let list = try PropertyList(ArchiveBytes(contentsOf: file))
        if try KeyedArchive.isKeyedArchive(list) {
          throw LegacyError(
            .wrongUse, "it is a keyed archive; import it as one: journal import J archive FILE")
        }
        var reader = PropertyListReader(store, mapping)
        let content = try reader.layout(of: FieldValue(contentsOf: list), list: name, isTop: true)
        store = reader.store
        store.lists.insert(name)
        store.files[name] = Layout.file(content, isXML: list.format == .xml)
      } catch {
        if files.count == 1 || (error as? LegacyError)?.code == .wrongUse {
          throw LegacyError(.unreadable, "\"\(name)\" can't be read as a property list", cause: error)
        }
        store.problems.append(LegacyProblem(name, "\(error)"))
        store.lists.remove(name)
      }
    }
    try mapping.check(against: store)
    return store
  }

  private static func folderOfToDos(
    _ folder: SourceFolder
  ) throws(LegacyError) -> (folder: SourceFolder, names: [String]) {
    for way in [[], ["Documents"]] {
      var inner = folder
      var isThere = true
      for name in way {
        guard try inner.kind(of: name) == .folder else {
          isThere = false
          break
        }
        inner = try inner.folder(name)
      }
      guard isThere else { continue }
      var names: [String] = []
      for name in toDoFiles where try inner.kind(of: name) != nil {
        if try inner.kind(of: name) == .link { throw SourceFolder.link("\(inner.path)/\(name)") }
        names.append(name)
      }
      if !names.isEmpty { return (inner, names) }
    }
    throw LegacyError(
      .notFound, "there is neither toDoItems.plist nor doneItems.plist; name the file to import",
      path: folder.path)
  }
}

/// Finds the items in a property list: the dictionaries of its arrays.
struct PropertyListReader {
  var store: LegacyStore
  private let mapping: FieldMapping

  init(_ store: LegacyStore, _ mapping: FieldMapping) {
    self.store = store
    self.mapping = mapping
  }

  mutating func layout(of value: FieldValue, list: String, isTop: Bool) throws -> FieldValue {
    switch value {
    case .array(let elements):
      let hasThings =
        !elements.isEmpty && elements.contains { if case .dictionary = $0 { true } else { false } }
      guard hasThings || isTop else { return value }
      store.lists.insert(list)
      return add(elements, list)
    case .dictionary(let members) where members[Reference.objectClass] == nil:
      let before = store.items.count
      var content: [String: FieldValue] = [:]
      // In a deterministic order.
      for (key, member) in members.sorted(by: { $0.key < $1.key }) {
        content[key] = try layout(of: member, list: "\(list):\(key)", isTop: false)
      }
      guard isTop, store.items.count == before else { return .dictionary(content) }
      // A dictionary without lists is one item.
      store.lists.insert(list)
      _ = add([value], list)
      return Layout.element(list)
    default:
      guard isTop else { return value }
      store.lists.insert(list)
      _ = add([value], list)
      return Layout.element(list)
    }
  }

  /// - Returns: the layout of the list.
  private mutating func add(_ elements: [FieldValue], _ list: String) -> FieldValue {
    // A key in the file, or the file's name for the top.
    let kind =
      list.firstIndex(of: ":") == nil ? list.stem : list.split(separator: ":").last.map(String.init) ?? list
    let items = PlainItems(elements, list: list, kind: kind, mapping: mapping)
    var passedOver: [FieldValue] = []
    for (index, element) in elements.enumerated() {
      guard let (item, mapping) = items.item(element) else {
        passedOver.append(element)
        store.problems.append(
          LegacyProblem(
            "\(list)[\(index)]", "it has no title, so it is no item, as in the app", isLoss: false))
        continue
      }
      if case .dictionary(let fields) = element, !item.className.isEmpty {
        var known = store.classes[item.className] ?? LegacyClass()
        known.kind = item.kind
        known.mapping.merge(mapping) { first, _ in first }
        known.note(fields)
        store.classes[item.className] = known
      }
      store.items.append(item)
    }
    return Layout.list(list, className: nil, passedOver: passedOver)
  }
}

extension PropertyListValue {
  /// The bytes of its texts and data, each counted as often as it occurs.
  fileprivate var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    case .array(let elements), .set(let elements): elements.reduce(0) { $0 + $1.byteCount }
    case .dictionary(let pairs): pairs.reduce(0) { $0 + $1.key.byteCount + $1.value.byteCount }
    default: 0
    }
  }
}

extension FieldValue {
  /// Converts the contents of a property list.
  init(contentsOf list: PropertyList) throws {
    let tree = try list.value()
    // Each item gets a separate copy of a text that they share in the file.
    guard tree.byteCount <= 32 * list.bytes.count + 4 << 20 else {
      throw LegacyError(
        .unreadable, "its texts and data are shared so often that they would grow too large",
        path: list.bytes.path)
    }
    try self.init(tree)
  }

  /// Converts a property list's value without loss.
  init(_ value: PropertyListValue) throws(LegacyError) {
    switch value {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .integer(let integer): self = .integer(integer)
    case .unsigned(let integer): self = .unsigned(integer)
    case .bigInteger(let integer): self = .string("\(integer)")
    case .real(let real): self = .double(real)
    case .date(let seconds): self = Value(secondsSince2001: seconds)
    case .data(let data): self = .data(data)
    case .string(let text): self = .string(text)
    case .uid(let number):
      self = .dictionary([Reference.objectClass: .string("UID"), "value": .integer(Int64(number))])
    case .array(let elements), .set(let elements):
      var values: [Value] = []
      for element in elements { values.append(try Value(element)) }
      self = .array(values)
    case .dictionary(let pairs):
      var members: [String: Value] = [:]
      var keys: [Value] = []
      var values: [Value] = []
      for pair in pairs {
        keys.append(try Value(pair.key))
        values.append(try Value(pair.value))
        if case .string(let key) = pair.key, key.utf8.first != UInt8(ascii: "$"), let value = values.last {
          members[key] = value
        }
      }
      self =
        members.count == keys.count
        ? .dictionary(members)
        : .dictionary([
          Reference.objectClass: .string("NSDictionary"), "NS.keys": .array(keys),
          "NS.objects": .array(values),
        ])
    }
  }
}
