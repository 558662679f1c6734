import CatalogModel
import Foundation
import KeyedArchiving
import SHA256

struct ExportedFile {
  enum Content {
    case bytes([UInt8])
    case blob(Blob)

    /// The digest and the number of the bytes.
    var blob: Blob {
      switch self {
      case .bytes(let bytes): Blob(digest: SHA256Hash.digest(bytes), byteCount: bytes.count)
      case .blob(let blob): blob
      }
    }
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
  private let contents: ExportContents
  private(set) var files: [ExportedFile] = []
  private(set) var problems: [LegacyProblem] = []

  /// How many items the files have.
  var itemCount: Int { contents.items.count }

  init(_ catalog: Catalog, _ memory: ImportMemory, _ blobs: BlobStore) throws {
    store = ExportedItems(catalog, memory)
    guard !store.isNew || !store.items.isEmpty || !store.categoryLists.isEmpty else {
      throw LegacyError(
        .notFound,
        "there is nothing to export: nothing was imported from such a store, and there are no items of the kind "
          + "\"\(DefaultLayouts.kind(of: memory.source))\"")
    }
    contents = ExportContents(store, blobs)
    if memory.source == .scarybugs {
      try makeBugs()
    } else {
      try makeFiles()
      noteOtherImages()
    }
    noteOtherItems()
    for file in files where memory.incomplete.contains(file.path) {
      problems.append(
        LegacyProblem(
          file.path, "the import could not read all of it, and the exported file lacks what was not read"))
    }
    problems += contents.problems
  }

  private func writer(only item: Catalog.Item.ID? = nil) -> ObjectWriter {
    ObjectWriter(store, contents, only: item)
  }

  /// Reports the items that are in no file, because no layout has their list.
  private mutating func noteOtherItems() {
    for (list, items) in store.lists.sorted(by: { $0.key < $1.key }) {
      let others = items.filter { !contents.items.contains($0) }
      guard let first = others.first else { continue }
      problems.append(
        LegacyProblem(
          list.isEmpty ? store.memory.source.rawValue : list,
          "the files have no place for \(others.count) of its items, such as item:\(first), so they were not written"
        ))
    }
  }

  /// Reports the images of items that no field refers to. Archives and property lists have no place for them.
  private mutating func noteOtherImages() {
    for id in store.items where contents.items.contains(id) {
      for image in store.catalog.images(of: id) where !contents.images.contains(image.id) {
        problems.append(
          LegacyProblem(
            "image:\(image.id)",
            "no field of item:\(id) refers to it, and only fields are in the file, so it was not written"))
      }
    }
  }

  // MARK: Archives and property lists

  private mutating func makeFiles() throws {
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
    if let elements = layout.array { return .array(try elements.map(filled)) }
    guard let members = layout.dictionary else { return layout }
    if let name = layout.imageName {
      return .data(contents.image(name, of: store.memory.parts.first) ?? Data())
    }
    if let top = layout[Layout.archive]?.dictionary {
      return .data(Data(try writer().archive(top, archiver: Layout.archiver(of: layout))))
    }
    if let list = layout[Layout.list]?.string {
      return .array(store.elements(of: list, layout, item: plain))
    }
    if let list = layout[Layout.element]?.string { return store.lists[list]?.first.map(plain) ?? [:] }
    if let list = layout[Layout.each]?.string, let key = layout["key"]?.string {
      let items = store.lists[list] ?? []
      return .array(
        try items.map { (item) throws(ArchiveError) in
          .data(Data(try writer(only: item).archive([key: Layout.element(list)])))
        })
    }
    var values: [String: FieldValue] = [:]
    for (key, member) in members { values[key] = try filled(member) }
    return .dictionary(values)
  }

  /// An item as a property-list value.
  private func plain(_ id: Catalog.Item.ID) -> FieldValue {
    guard let item = store.catalog.item(id) else { return [:] }
    contents.items.insert(id)
    let isValue = store.className(of: item).isEmpty
    let value = (isValue ? item["value"] : nil) ?? .dictionary(store.fields(of: item))
    return value.replacing { $0.imageName.map { .data(contents.image($0, of: id) ?? Data()) } }
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
      if let key = store.rows[id]?.key, names.contains(key.lowercased()) {
        problems.append(
          LegacyProblem(
            key, "another bug's folder has this name up to case and normal form, so it is named \(name())",
            isLoss: false))
      }
    }
    for (name, id) in folders { try makeBug(id, in: name, topKey: topKey) }
  }

  private mutating func makeBug(_ id: Catalog.Item.ID, in folder: String, topKey: String) throws {
    guard let item = store.catalog.item(id) else { return }
    var top: [String: FieldValue] = [topKey: Layout.element(ScaryBugReader.list)]
    top.merge(item[Reference.top]?.dictionary ?? [:]) { first, _ in first }
    files.append(
      ExportedFile(
        folder: folder, name: ScaryBugReader.dataFile, content: .bytes(try writer(only: id).archive(top))))
    var names: Set<String> = [ScaryBugReader.dataFile]
    let outside = store.catalog.images(of: id).filter { !contents.images.contains($0.id) }.map { image in
      (image, picture: ScaryBugReader.pictures.first { $0.value == image.name }?.key)
    }
    // The app finds the two pictures by their names, so these are given first.
    for (image, picture) in outside.filter({ $0.picture != nil }) + outside.filter({ $0.picture == nil }) {
      var name = picture ?? image.name
      if !name.isSingleName || name.hasPrefix(".") || !names.insert(name.lowercased()).inserted {
        var given = "image-\(image.id)"
        var number = 1
        while !names.insert(given).inserted {
          number += 1
          given = "image-\(image.id)-\(number)"
        }
        problems.append(
          LegacyProblem(
            "image:\(image.id)",
            "no file can have the name \"\(image.name.prefix(80))\" here, so its name is \(given)",
            isLoss: false))
        name = given
      }
      files.append(ExportedFile(folder: folder, name: name, content: .blob(image.blob)))
    }
  }
}

/// What the files of an export contain, and what is missing from them.
final class ExportContents {
  private let store: ExportedItems
  private let blobs: BlobStore
  /// The items that were written.
  var items: Set<Catalog.Item.ID> = []
  /// The images to which fields refer that were written.
  private(set) var images: Set<ImageID> = []
  /// Values that are not of the class that their field had in the files.
  var others: [(item: Catalog.Item.ID?, value: FieldValue, className: String)] = []
  private var failures: [Blob: any Error] = [:]
  /// The image that was read last. Neighbouring items often have the same one.
  private var latest: (blob: Blob, data: Data)?
  private var missing: [Catalog.Item.ID: Set<String>] = [:]
  /// The images of an item by name. An item may have thousands of them, so they are looked up only once.
  private var named: (item: Catalog.Item.ID, images: [String: Catalog.Image])?

  init(_ store: ExportedItems, _ blobs: BlobStore) { (self.store, self.blobs) = (store, blobs) }

  /// The image that a field of an item refers to. An imported image may have another name in the journal.
  private func find(_ name: String, of item: Catalog.Item.ID) -> Catalog.Image? {
    let known = store.rows[item]?.images[name].flatMap { store.catalog.image($0.image) }
    if let known, known.item == item { return known }
    if named?.item != item {
      let images = store.catalog.images(of: item).map { ($0.name, $0) }
      named = (item, Dictionary(images) { first, _ in first })
    }
    return named?.images[name]
  }

  /// The bytes of an image that a field refers to. Nil, and a problem, if there is no such image or its blob can't be
  /// read.
  /// - Parameter item: the item that has the image. Nil if the store has no item of its own.
  func image(_ name: String, of item: Catalog.Item.ID?) -> Data? { blob(name, of: item).flatMap(data) }

  /// The blob of an image that a field refers to. Nil, and a problem, if there is no such image.
  func blob(_ name: String, of item: Catalog.Item.ID?) -> Blob? {
    guard let item else { return nil }
    guard let image = find(name, of: item) else {
      missing[item, default: []].insert(name)
      return nil
    }
    images.insert(image.id)
    return image.blob
  }

  /// The bytes of a blob. Nil, and a problem, if they can't be read.
  func data(of blob: Blob) -> Data? {
    if let latest, latest.blob == blob { return latest.data }
    do {
      let data = try blobs.data(of: blob)
      latest = (blob, data)
      return data
    } catch {
      failures[blob] = error
      return nil
    }
  }

  var problems: [LegacyProblem] {
    let unreadable = failures.map {
      LegacyProblem("images/\($0.key.digest.hex)", "it is missing from the files: \($0.value)")
    }
    let absent = missing.sorted { $0.key < $1.key }.flatMap { item, names in
      names.sorted().map {
        LegacyProblem(
          "item:\(item)",
          "a field refers to the image \"\($0.prefix(80))\", which it does not have, so the field is empty")
      }
    }
    let others = others.map { item, value, className in
      LegacyProblem(
        item.map { "item:\($0)" } ?? "a category",
        "\("\(value)".prefix(80)) is not a value of the class \(className), which the app reads there, so the file "
          + "has a text or a number in its place")
    }
    return unreadable.sorted { $0.place < $1.place } + absent + others
  }
}
