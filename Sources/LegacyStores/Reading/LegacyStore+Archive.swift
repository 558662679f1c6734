import CatalogModel
public import Foundation
import KeyedArchiving

extension LegacyStore {
  /// Reads files of a keyed archiver: objects of an app's own classes and their categories.
  ///
  /// ```swift
  /// let store = try LegacyStore.archives([caches.appending(path: "annotations"), caches.appending(path: "categories")])
  /// ```
  ///
  /// Several files may have copies of one graph, for example because places and categories were archived separately.
  /// Each object is read once: categories with equal names are one category, and an object that a file reaches only
  /// through its category is matched with an equal object in another file.
  /// - Parameters:
  ///   - files: all files of the app.
  ///   - mapping: overrides for the guess of attributes.
  /// - Throws: ``LegacyError`` if there is no such file, if none of the files can be read, if two files have the same
  ///   name, or if the mapping names a key that no object has. If only some of several files can't be read, they are
  ///   problems of the store.
  public static func archives(
    _ files: [URL], mapping: FieldMapping = FieldMapping()
  ) throws(LegacyError) -> LegacyStore {
    let (opened, problems) = try openArchives(files)
    var store = LegacyStore(.archive)
    store.problems = problems
    let survey = ClassSurvey(opened.map(\.inspection), mapping)
    var merge = ArchiveMerge(store: store)
    for (name, archive, _) in opened {
      do {
        let reader = try ArchiveReader(archive, survey, mapping, name: name, plainKind: name.stem)
        merge.add(reader, isOneOfSeveral: opened.count > 1)
        merge.store.files[name] = Layout.file(reader.layout, isXML: false)
      } catch {
        if opened.count == 1 {
          throw LegacyError(.unreadable, "the archive can't be read", path: name, cause: error)
        }
        merge.store.problems.append(LegacyProblem(name, "\(error)"))
      }
    }
    let read = merge.finish()
    try mapping.check(against: read)
    return read
  }

  private typealias OpenArchive = (name: String, archive: KeyedArchive, inspection: ArchiveInspection)

  private static func openArchives(
    _ files: [URL]
  ) throws(LegacyError) -> (opened: [OpenArchive], problems: [LegacyProblem]) {
    var opened: [OpenArchive] = []
    var problems: [LegacyProblem] = []
    for file in files {
      let name = file.lastPathComponent
      _ = try File(file)
      do {
        let archive = try KeyedArchive(ArchiveBytes(contentsOf: file))
        opened.append((name, archive, try archive.inspect()))
      } catch {
        if files.count == 1 {
          throw LegacyError(.unreadable, "\"\(name)\" can't be read as a keyed archive", cause: error)
        }
        problems.append(LegacyProblem(name, "\(error)"))
      }
    }
    guard !opened.isEmpty else {
      throw LegacyError(
        .unreadable, "none of the files can be read: " + problems.map(\.description).joined(separator: "; "))
    }
    let names = Set(opened.map(\.name))
    guard names.count == opened.count else {
      throw LegacyError(.wrongUse, "two of the files have the same name; import them as two stores")
    }
    return (opened, problems)
  }
}

extension FieldMapping {
  /// Throws if a key is one that no object has: it is probably mistyped.
  func check(against store: LegacyStore) throws(LegacyError) {
    // An empty list has no keys to check against.
    guard !store.items.isEmpty || !store.categories.isEmpty else { return }
    for case (let attribute, let key?) in keys.sorted(by: { $0.key < $1.key }) {
      let first = key.split(separator: ".").first.map(String.init) ?? key
      let isThere = store.classes.values.contains { $0.fields[key] != nil || $0.fields[first] != nil }
      guard !isThere else { continue }
      let known = Set(
        store.classes.filter { !ClassSurvey.isSystem($0.key) }.values.flatMap { $0.fields.keys }
      ).sorted()
      throw LegacyError(
        .wrongUse,
        "no object has the key \"\(key)\" for \(attribute); there are "
          + known.prefix(40).joined(separator: ", "))
    }
  }
}

extension String {
  /// A file's name without its extension.
  var stem: String {
    guard let dot = lastIndex(of: "."), dot > startIndex else { return self }
    return String(self[..<dot])
  }
}

/// Merges several archives, with each object and category once.
struct ArchiveMerge {
  var store: LegacyStore
  /// Objects that a file reaches only through their categories, to be matched at the end.
  var derived: [(item: LegacyItem, fingerprint: Data, file: Int)] = []
  var fileCount = 0
  var fileOfItem: [Int] = []

  mutating func add(_ reader: ArchiveReader, isOneOfSeveral: Bool) {
    fileCount += 1
    let categories = mergeCategories(reader.categories)
    store.problems += reader.problems
    store.images += reader.images
    store.lists.formUnion(reader.lists)
    store.incompleteLists.formUnion(reader.incompleteLists)
    store.classes.merge(reader.classes)
    // The indexes of items are final only after items of other files were matched.
    var numbers: [Int: Int] = [:]
    var kept: [LegacyItem] = []
    for (pending, index) in reader.indexes.enumerated() {
      guard let index else { continue }
      var item = reader.items[index]
      item.category = item.category.map { categories[$0] }
      if item.list.isEmpty, isOneOfSeveral, !item.refersToItems {
        derived.append((item, item.attributes.fingerprint, fileCount))
        continue
      }
      numbers[pending] = store.items.count + kept.count
      kept.append(item)
    }
    for var item in kept {
      item.attributes = item.attributes.mapValues {
        $0.resolvingReferences { key, target in
          if key == Reference.category { return Reference.make(key, categories[target]) }
          return numbers[target].map { Reference.make(key, $0) } ?? .null
        }
      }
      store.items.append(item)
      fileOfItem.append(fileCount)
    }
  }

  /// - Returns: the index in the store for each category of the file.
  private mutating func mergeCategories(_ categories: [LegacyCategory]) -> [Int] {
    // Existing categories by name. The first one is last, because `popLast` takes it first.
    var known: [[UInt8]: [Int]] = [:]
    for (index, category) in store.categories.enumerated().reversed() {
      known[Array(category.name.utf8), default: []].append(index)
    }
    return categories.map { category in
      if let index = known[Array(category.name.utf8)]?.popLast() {
        if store.categories[index].list.isEmpty { store.categories[index] = category }
        return index
      }
      store.categories.append(category)
      return store.categories.count - 1
    }
  }

  mutating func finish() -> LegacyStore {
    var taken: Set<Int> = []
    var prints: [Data: [Int]] = [:]
    var names: [String: [Int]] = [:]
    if !derived.isEmpty {
      for (index, item) in store.items.enumerated() {
        prints[item.attributes.fingerprint, default: []].append(index)
        if let label = item.label { names["\(item.kind)\n\(label)", default: []].append(index) }
      }
    }
    func match(_ candidates: [Int]?, _ file: Int) -> Int? {
      candidates?.first { !taken.contains($0) && fileOfItem[$0] != file }
    }
    let others = derived.filter { found in
      guard let index = match(prints[found.fingerprint], found.file) else { return true }
      taken.insert(index)
      return false
    }
    for found in others {
      if let label = found.item.label, let index = match(names["\(found.item.kind)\n\(label)"], found.file) {
        taken.insert(index)
      } else {
        store.items.append(found.item)
      }
    }
    return store
  }
}
