import CatalogModel
import Foundation
import KeyedArchiving
import SHA256

/// A file that an export writes, with its path.
struct ExportedFile {
  enum Content {
    case bytes([UInt8])
    case blob(Blob)
  }

  var way: [String]
  var content: Content
  /// Whether it is written only to replace an existing file.
  var isOptional = false

  /// Its own name.
  var name: String { way[way.count - 1] }
}

/// Makes the files of a store as of a state.
struct LegacyExport {
  private let store: ExportedItems
  private let images: ImageReader
  private(set) var files: [ExportedFile] = []
  private(set) var problems: [LegacyProblem] = []
  private(set) var itemCount = 0

  init(_ catalog: Catalog, _ memory: ImportMemory, _ blobs: BlobStore) throws {
    store = ExportedItems(catalog, memory)
    images = ImageReader(blobs)
    if memory.source == .scarybugs { try makeBugs() } else { try makeFiles() }
    problems += images.problems
  }

  private func writer() -> ObjectWriter { ObjectWriter(store, bytes: images.bytes) }

  // MARK: Archives and property lists

  private mutating func makeFiles() throws {
    itemCount = store.items.count
    guard !store.isNew || itemCount > 0 || !store.categoryLists.isEmpty else {
      let kinds = DefaultLayouts.kinds(of: store.memory.source)
      throw LegacyError(
        .notFound,
        "there is nothing to export: nothing was imported from such a store, and there are no items of the kind "
          + kinds.map { "\"\($0)\"" }.joined(separator: " or "))
    }
    for (name, file) in store.files.sorted(by: { $0.key < $1.key }) {
      guard name.isSingleName, case .dictionary(let members) = file, let content = members[Layout.content]
      else {
        problems.append(LegacyProblem(name.isEmpty ? "?" : name, "this can't be the name of a file"))
        continue
      }
      let isXML = members[Layout.format] == .string(Layout.xml)
      let bytes: [UInt8]
      if case .dictionary(let archive) = content, case .dictionary(let top)? = archive[Layout.archive] {
        bytes = try writer().archive(top, archiver: Layout.archiver(of: archive))
      } else {
        bytes = try PropertyListText.bytes(of: filled(content), asXML: isXML)
      }
      // The apps write no file for an empty list, so none is created; an existing one is emptied.
      let lists = Layout.lists(in: [name: file])
      let isEmpty = lists.allSatisfy {
        store.lists[$0, default: []].isEmpty && store.categoryLists[$0, default: []].isEmpty
      }
      files.append(
        ExportedFile(way: [name], content: .bytes(bytes), isOptional: store.isNew && isEmpty))
    }
  }

  /// A property list with its gaps filled.
  private func filled(_ layout: FieldValue) throws(ArchiveError) -> FieldValue {
    switch layout {
    case .array(let elements):
      var values: [FieldValue] = []
      for element in elements { values.append(try filled(element)) }
      return .array(values)
    case .dictionary(let members):
      if case .dictionary(let top)? = members[Layout.archive] {
        return .data(Data(try writer().archive(top, archiver: Layout.archiver(of: members))))
      }
      if case .string(let list)? = members[Layout.list] {
        var rest: [FieldValue] = []
        if case .array(let elements)? = members[Layout.passedOver] { rest = elements }
        return .array((store.lists[list] ?? []).map(plain) + rest)
      }
      if case .string(let list)? = members[Layout.element] {
        return store.lists[list]?.first.map(plain) ?? .dictionary([:])
      }
      if case .string(let list)? = members[Layout.each], case .string(let key)? = members["key"] {
        var values: [FieldValue] = []
        for item in store.lists[list] ?? [] {
          values.append(.data(Data(try writer().archive([key: Layout.element(list)], only: item))))
        }
        return .array(values)
      }
      var values: [String: FieldValue] = [:]
      for (key, member) in members { values[key] = try filled(member) }
      return .dictionary(values)
    default: return layout
    }
  }

  /// An item as a property-list value.
  private func plain(_ id: Catalog.Item.ID) -> FieldValue {
    guard let item = store.catalog.item(id) else { return .dictionary([:]) }
    let images = Dictionary(store.catalog.images(of: id).map { ($0.name, $0.blob) }) { first, _ in first }
    if store.className(of: item).isEmpty, let value = item["value"] { return withImages(value, images) }
    return withImages(.dictionary(store.fields(of: item)), images)
  }

  private func withImages(_ value: FieldValue, _ images: [String: Blob]) -> FieldValue {
    switch value {
    case .array(let elements): return .array(elements.map { withImages($0, images) })
    case .dictionary(let members):
      if members.count == 1, case .string(let name)? = members[Reference.image] {
        return .data(images[name].flatMap(self.images.bytes) ?? Data())
      }
      return .dictionary(members.mapValues { withImages($0, images) })
    default: return value
    }
  }

  // MARK: Bugs

  private mutating func makeBugs() throws {
    var topKey = "Data"
    if case .dictionary(let file)? = store.files[ScaryBugReader.dataFile],
      case .dictionary(let content)? = file[Layout.content],
      case .dictionary(let top)? = content[Layout.archive]
    {
      topKey = top.keys.min() ?? topKey
    }
    var names: Set<String> = []
    var next = 0
    var unnamed: [Catalog.Item.ID] = []
    var folders: [(name: String, item: Catalog.Item.ID)] = []
    for id in store.items {
      if let key = store.rows[id]?.key, ScaryBugReader.isBug(key), key.isSingleName,
        names.insert(key.lowercased()).inserted
      {
        folders.append((key, id))
        next = max(next, key.leadingNumber ?? 0)
      } else {
        unnamed.append(id)
      }
    }
    for id in unnamed {
      next = next < Int(Int32.max) ? next + 1 : names.count + 1
      while names.contains("\(next)\(ScaryBugReader.folderExtension)") { next += 1 }
      folders.append(("\(next)\(ScaryBugReader.folderExtension)", id))
      names.insert("\(next)\(ScaryBugReader.folderExtension)")
    }
    for (name, id) in folders { try makeBug(id, in: name, topKey: topKey) }
  }

  private mutating func makeBug(_ id: Catalog.Item.ID, in folder: String, topKey: String) throws {
    guard let item = store.catalog.item(id) else { return }
    itemCount += 1
    var top: [String: FieldValue] = [topKey: Layout.element(ScaryBugReader.list)]
    if case .dictionary(let others)? = item["$top"] { top.merge(others) { first, _ in first } }
    files.append(
      ExportedFile(
        way: [folder, ScaryBugReader.dataFile], content: .bytes(try writer().archive(top, only: id))))
    var names: Set<String> = [ScaryBugReader.dataFile]
    let inside = Set(item.attributes.values.flatMap(\.imageNames))
    for image in store.catalog.images(of: id) where !inside.contains(image.name) {
      var name = ScaryBugReader.pictures.first { $0.value == image.name }?.key ?? image.name
      if !name.isSingleName || names.contains(name.lowercased()) || name.hasPrefix(".") {
        let given = "image-\(image.id)"
        problems.append(
          LegacyProblem(
            "image:\(image.id)", "no file can be called \"\(image.name.prefix(80))\" here, so it is \(given)",
            isLoss: false))
        name = given
      }
      names.insert(name.lowercased())
      files.append(ExportedFile(way: [folder, name], content: .blob(image.blob)))
    }
  }
}

/// Reads the images that are embedded in files, and notes unreadable ones.
private final class ImageReader {
  private let blobs: BlobStore
  private var failures: [Blob: any Error] = [:]

  init(_ blobs: BlobStore) { self.blobs = blobs }

  func bytes(of blob: Blob) -> Data? {
    do {
      return try blobs.data(of: blob)
    } catch {
      failures[blob] = error
      return nil
    }
  }

  var problems: [LegacyProblem] {
    failures.map { LegacyProblem("images/\($0.key.digest.hex)", "it is missing from the files: \($0.value)") }
      .sorted { $0.place < $1.place }
  }
}

extension FieldValue {
  /// The names of the images inside this value.
  var imageNames: [String] {
    switch self {
    case .array(let elements): return elements.flatMap(\.imageNames)
    case .dictionary(let members):
      if members.count == 1, case .string(let name)? = members[Reference.image] { return [name] }
      return members.values.flatMap(\.imageNames)
    default: return []
    }
  }
}
