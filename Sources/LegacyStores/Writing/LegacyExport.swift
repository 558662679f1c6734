import CatalogModel
import Foundation
import KeyedArchiving
import SHA256

/// A file that an export writes.
struct ExportedFile {
  enum Content {
    case bytes([UInt8])
    case blob(Blob)
  }

  /// The inner folder that contains it. Nil if it is directly in the folder of the export.
  var folder: String?
  var name: String
  var content: Content
  /// Whether it is written only to replace an existing file.
  var isOptional = false

  var path: String { folder.map { "\($0)/\(name)" } ?? name }
}

/// Produces the files of a store as of a state.
struct LegacyExport {
  private let store: ExportedItems
  private let images: ImageReader
  private(set) var files: [ExportedFile] = []
  private(set) var problems: [LegacyProblem] = []
  private(set) var itemCount = 0

  init(_ catalog: Catalog, _ memory: ImportMemory, _ blobs: BlobStore) throws {
    store = ExportedItems(catalog, memory)
    guard !store.isNew || !store.items.isEmpty || !store.categoryLists.isEmpty else {
      throw LegacyError(
        .notFound,
        "there is nothing to export: nothing was imported from such a store, and there are no items of the kind "
          + "\"\(DefaultLayouts.kind(of: memory.source))\"")
    }
    images = ImageReader(blobs)
    if memory.source == .scarybugs { try makeBugs() } else { try makeFiles() }
    problems += images.problems
  }

  private func writer() -> ObjectWriter { ObjectWriter(store, bytes: images.bytes) }

  // MARK: Archives and property lists

  private mutating func makeFiles() throws {
    itemCount = store.items.count
    for (name, file) in store.files.sorted(by: { $0.key < $1.key }) {
      guard name.isSingleName, let content = file[Layout.content] else {
        problems.append(LegacyProblem(name.isEmpty ? "?" : name, "this is not a valid file name"))
        continue
      }
      let bytes =
        if let top = content[Layout.archive]?.dictionary {
          try writer().archive(top, archiver: Layout.archiver(of: content))
        } else {
          try PropertyListText.bytes(of: filled(content), asXML: file[Layout.format]?.string == Layout.xml)
        }
      // The apps write no file for an empty list, so none is created. An existing file is emptied.
      let isEmpty = Layout.lists(in: [name: file]).allSatisfy {
        store.lists[$0, default: []].isEmpty && store.categoryLists[$0, default: []].isEmpty
      }
      files.append(
        ExportedFile(name: name, content: .bytes(bytes), isOptional: store.isNew && isEmpty))
    }
  }

  /// A property list with its gaps filled.
  private func filled(_ layout: FieldValue) throws(ArchiveError) -> FieldValue {
    if let elements = layout.array {
      var values: [FieldValue] = []
      for element in elements { values.append(try filled(element)) }
      return .array(values)
    }
    guard let members = layout.dictionary else { return layout }
    if let name = layout.imageName { return data(ofImage: name, of: store.memory.firstPart) }
    if let top = layout[Layout.archive]?.dictionary {
      return .data(Data(try writer().archive(top, archiver: Layout.archiver(of: layout))))
    }
    if let list = layout[Layout.list]?.string {
      return .array(store.elements(of: list, layout, item: plain))
    }
    if let list = layout[Layout.element]?.string { return store.lists[list]?.first.map(plain) ?? [:] }
    if let list = layout[Layout.each]?.string, let key = layout["key"]?.string {
      var values: [FieldValue] = []
      for item in store.lists[list] ?? [] {
        values.append(.data(Data(try writer().archive([key: Layout.element(list)], only: item))))
      }
      return .array(values)
    }
    var values: [String: FieldValue] = [:]
    for (key, member) in members { values[key] = try filled(member) }
    return .dictionary(values)
  }

  /// An item as a property-list value.
  private func plain(_ id: Catalog.Item.ID) -> FieldValue {
    guard let item = store.catalog.item(id) else { return [:] }
    let isValue = store.className(of: item).isEmpty
    let value = (isValue ? item["value"] : nil) ?? .dictionary(store.fields(of: item))
    return value.replacing { $0.imageName.map { data(ofImage: $0, of: id) } }
  }

  private func data(ofImage name: String, of item: Catalog.Item.ID?) -> FieldValue {
    let image = item.flatMap { store.image(name, of: $0) }
    return .data(image.flatMap { images.bytes(of: $0.blob) } ?? Data())
  }

  // MARK: Bugs

  private mutating func makeBugs() throws {
    let layout = store.files[ScaryBugReader.dataFile]?[Layout.content]?[Layout.archive]
    let topKey = layout?.dictionary?.keys.min() ?? "Data"
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
      func name() -> String { "\(next)\(ScaryBugReader.folderExtension)" }
      next = next < Int(Int32.max) ? next + 1 : names.count + 1
      while !names.insert(name()).inserted { next += 1 }
      folders.append((name(), id))
    }
    for (name, id) in folders { try makeBug(id, in: name, topKey: topKey) }
  }

  private mutating func makeBug(_ id: Catalog.Item.ID, in folder: String, topKey: String) throws {
    guard let item = store.catalog.item(id) else { return }
    itemCount += 1
    var top: [String: FieldValue] = [topKey: Layout.element(ScaryBugReader.list)]
    top.merge(item["$top"]?.dictionary ?? [:]) { first, _ in first }
    files.append(
      ExportedFile(
        folder: folder, name: ScaryBugReader.dataFile, content: .bytes(try writer().archive(top, only: id))))
    var names: Set<String> = [ScaryBugReader.dataFile]
    var inside: Set<String> = []
    for value in item.attributes.values {
      value.forEachValue { if let name = $0.imageName { inside.insert(name) } }
    }
    for image in store.catalog.images(of: id) where !inside.contains(image.name) {
      var name = ScaryBugReader.pictures.first { $0.value == image.name }?.key ?? image.name
      if !name.isSingleName || names.contains(name.lowercased()) || name.hasPrefix(".") {
        let given = "image-\(image.id)"
        problems.append(
          LegacyProblem(
            "image:\(image.id)",
            "no file can have the name \"\(image.name.prefix(80))\" here, so its name is \(given)",
            isLoss: false))
        name = given
      }
      names.insert(name.lowercased())
      files.append(ExportedFile(folder: folder, name: name, content: .blob(image.blob)))
    }
  }
}

/// Reads the images that are embedded in files, and records unreadable ones.
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
