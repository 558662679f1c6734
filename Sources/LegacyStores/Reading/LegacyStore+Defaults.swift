import CatalogModel
public import Foundation
import KeyedArchiving

extension LegacyStore {
  /// Reads an app's preferences, and the archives that they contain as data.
  ///
  /// Archives are found at any depth. Archives without objects of the app's own classes, such as a color, stay with the
  /// other preferences, which the store preserves.
  /// - Parameters:
  ///   - file: the preferences property list, such as `com.example.app.plist`.
  ///   - key: the only key to read. If nil, all keys are read.
  ///   - mapping: overrides for the guess of attributes.
  /// - Throws: ``LegacyError`` if there is no such file or key, if the file is not a property list, or if the mapping
  ///   names a key that no object has.
  public static func defaults(
    _ file: URL, key: String? = nil, mapping: FieldMapping = FieldMapping()
  ) throws(LegacyError) -> LegacyStore {
    _ = try File(file)
    let list: PropertyList
    let content: FieldValue
    do {
      list = try PropertyList(ArchiveBytes(contentsOf: file))
      if try KeyedArchive.isKeyedArchive(list) {
        throw LegacyError(
          .wrongUse, "it is a keyed archive and not preferences; import it as an archive")
      }
      content = try FieldValue(contentsOf: list)
    } catch {
      throw LegacyError(
        .unreadable, "the preferences can't be read", path: file.lastPathComponent, cause: error)
    }
    var reader = DefaultsReader(mapping: mapping)
    var names: [String] = []
    let layout = content.mappingMembers { name, value in
      names.append(name)
      return key == nil || name == key
        ? reader.layout(of: value, path: name) : reader.literal(value, path: name)
    }
    guard let layout else {
      throw LegacyError(
        .unreadable, "preferences are a dictionary, but this is something else", path: file.lastPathComponent)
    }
    if let key, !names.contains(key) {
      throw LegacyError(
        .notFound,
        "the preferences have no key \"\(key)\"; they have " + names.prefix(40).joined(separator: ", "),
        path: file.lastPathComponent)
    }
    reader.merge.store.files[file.lastPathComponent] = Layout.file(layout, isXML: list.format == .xml)
    var store = reader.merge.finish()
    if let key, store.lists.isEmpty {
      let why = store.problems.first.map { ": \($0.reason)" } ?? ""
      throw LegacyError(
        .unreadable,
        "under the key \"\(key)\" there is no archive with objects of the app's own classes\(why)")
    }
    try mapping.check(against: store)
    if store.problems.contains(where: \.isLoss) { store.incompleteFiles.insert(file.lastPathComponent) }
    return store
  }
}

/// Finds the archives in preferences, and their contents.
struct DefaultsReader {
  let mapping: FieldMapping
  var merge = ArchiveMerge(store: LegacyStore(.defaults))
  /// Different keys can lead to one name of a list, because a key may contain the separators.
  private var listNames = UniqueNames()

  init(mapping: FieldMapping) { self.mapping = mapping }

  mutating func layout(of value: FieldValue, path: String) -> FieldValue {
    switch value {
    case .data(let data): return archive(data, path) ?? literal(value, path: path)
    case .array(let elements):
      if let each = archives(elements, path) { return each }
      return .array(elements.enumerated().map { layout(of: $1, path: "\(path)[\($0)]") })
    default:
      return value.mappingMembers { layout(of: $1, path: "\(path).\($0)") } ?? value
    }
  }

  mutating func literal(_ value: FieldValue, path: String) -> FieldValue {
    merge.imageNames.moving(value, at: path, to: &merge.store.images)
  }

  private func opened(_ data: Data, _ path: String) -> Result<KeyedArchive, ArchiveError>? {
    guard data.count > 8 else { return nil }
    let bytes = ArchiveBytes(data)
    guard let format = try? DataFormat(of: bytes),
      format == .binaryPropertyList || format == .xmlPropertyList,
      // XML must be read as a whole to be recognized, and preferences may contain other XML.
      format == .binaryPropertyList || data.range(of: Data("$archiver".utf8)) != nil
    else { return nil }
    do {
      let list = try PropertyList(bytes)
      guard try KeyedArchive.isKeyedArchive(list) else { return nil }
      return .success(try KeyedArchive(list))
    } catch {
      return .failure(error)
    }
  }

  /// The layout of data that is an archive with objects of the app; nil for other data, which is preserved.
  private mutating func archive(_ data: Data, _ path: String) -> FieldValue? {
    do {
      guard let archive = try opened(data, path)?.get() else { return nil }
      let survey = ClassSurvey([try archive.inspect()], mapping)
      let isEmptyList = try archive.root?.array?.isEmpty ?? false
      guard isEmptyList || survey.classes.keys.contains(where: survey.isCustom) else { return nil }
      let reader = try ArchiveReader(
        archive, survey, mapping, name: path, listNames: listNames, plainKind: path)
      listNames = reader.listNames
      return merge.add(reader, isOneOfSeveral: false)
    } catch {
      // An unreadable archive is preserved as data, unless the journal has items of an earlier import from it: an export
      // then writes these items.
      merge.store.problems.append(LegacyProblem(path, "\(error)"))
      return nil
    }
  }

  /// The layout of an array in which each element is an archive of one object.
  private mutating func archives(_ elements: [FieldValue], _ path: String) -> FieldValue? {
    var readers: [ArchiveReader] = []
    var names = listNames
    let list = names.unused(path)
    for element in elements {
      guard let data = element.data, case .success(let archive)? = opened(data, path),
        case .object(let object)? = try? archive.root, let inspection = try? archive.inspect(),
        case let survey = ClassSurvey([inspection], mapping), survey.isCustom(object.className),
        // Each starts with the same names, so all elements get the same list.
        let reader = try? ArchiveReader(
          archive, survey, mapping, name: path, listNames: listNames, plainKind: path),
        readers.isEmpty || reader.layout == Layout.archive(["root": Layout.element(list)])
      else { return nil }
      readers.append(reader)
    }
    guard let key = readers.first?.layout[Layout.archive]?.dictionary?.keys.first else { return nil }
    for reader in readers { merge.add(reader, isOneOfSeveral: false) }
    listNames = names
    return [Layout.each: .string(list), "key": .string(key)]
  }
}
