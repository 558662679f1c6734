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
  /// - Throws: ``LegacyError`` if no files are given, if there is no such file, if none of the files can be read, if two
  ///   files have the same name, or if the mapping names a key that no object has. If only some of several files can't
  ///   be read, they are problems of the store.
  public static func archives(
    _ files: [URL], mapping: FieldMapping = FieldMapping()
  ) throws(LegacyError) -> LegacyStore {
    try check(files)
    var store = LegacyStore(.archive)
    var opened: [(name: String, archive: KeyedArchive, inspection: ArchiveInspection)] = []
    for file in files {
      do {
        let archive = try KeyedArchive(ArchiveBytes(contentsOf: file))
        opened.append((file.lastPathComponent, archive, try archive.inspect()))
      } catch {
        try store.note(error, of: file.lastPathComponent, isOnly: files.count == 1, "a keyed archive")
      }
    }
    guard !opened.isEmpty else {
      throw LegacyError(
        .unreadable,
        "none of the files can be read: " + store.problems.map(\.description).joined(separator: "; "))
    }
    let survey = ClassSurvey(opened.map(\.inspection), mapping)
    var merge = ArchiveMerge(store: store)
    for (name, archive, _) in opened {
      do {
        let reader = try ArchiveReader(archive, survey, mapping, name: name, plainKind: name.stem)
        let layout = merge.add(reader, isOneOfSeveral: opened.count > 1)
        if reader.isIncomplete { merge.store.incompleteFiles.insert(name) }
        merge.store.files[name] = Layout.file(layout, isXML: false)
      } catch {
        try merge.store.note(error, of: name, isOnly: opened.count == 1, "a keyed archive")
      }
    }
    let read = merge.finish()
    try mapping.check(against: read)
    return read
  }
}

extension LegacyStore {
  /// How many items a file may have. Each takes up to a few kilobytes of memory while it is imported.
  static let itemLimit = 1_000_000

  /// Throws if a file has too many items, before they are made.
  static func checkItemCount(_ count: Int) throws(LegacyError) {
    guard count > itemLimit else { return }
    throw LegacyError(
      .unreadable,
      "it has \(count) items or more; the limit for a file is \(itemLimit): split it into several files")
  }

  /// Throws if no files are given, if one does not exist, or if two have the same name.
  static func check(_ files: [URL]) throws(LegacyError) {
    if files.isEmpty { throw LegacyError(.wrongUse, "no files were given; name at least one") }
    for file in files { _ = try File(file) }
    guard Set(files.map(\.lastPathComponent)).count == files.count else {
      throw LegacyError(.wrongUse, "two of the files have the same name; import them as two stores")
    }
  }

  /// Records that a file can't be read. If it is the only one, or of another form, this throws.
  mutating func note(
    _ error: any Error, of name: String, isOnly: Bool, _ form: String
  ) throws(LegacyError) {
    if isOnly || (error as? LegacyError)?.code == .wrongUse {
      throw LegacyError(.unreadable, "\"\(name)\" can't be read as \(form)", cause: error)
    }
    problems.append(LegacyProblem(name, "\(error)"))
    incompleteFiles.insert(name)
  }
}

extension FieldMapping {
  /// Throws if no object has one of the keys, which is then probably mistyped.
  func check(against store: LegacyStore) throws(LegacyError) {
    // An empty list has no keys to check against.
    guard !store.items.isEmpty || !store.categories.isEmpty else { return }
    for (attribute, key) in keys.sorted(by: { $0.key < $1.key }) {
      let first = key.split(separator: ".").first.map(String.init) ?? key
      let names = [key, first, ObjectReader.key(of: key), ObjectReader.key(of: first)]
      let isThere = store.classes.values.contains { found in names.contains { found.fields[$0] != nil } }
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
