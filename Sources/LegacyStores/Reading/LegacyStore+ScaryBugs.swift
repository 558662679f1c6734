import CatalogModel
import Files
public import Foundation
import KeyedArchiving

extension LegacyStore {
  /// Reads a folder of Scary Bugs' documents: `<n>.scarybug`, each with `data.plist`, `thumbImage.jpg` and
  /// `fullImage.jpg`, any of which may be missing.
  ///
  /// Of each picture, only the type is read here; an import reads it once, in pieces. Other files in a document become
  /// images of the bug too. Links are refused, so nothing outside the folder is read.
  /// - Parameter url: the folder of the documents: `Library/Private Documents` in the app's own folder.
  /// - Throws: ``LegacyError`` if there is no such folder, or no bug in it. An unreadable bug is a problem of the
  ///   store; the others are read.
  public static func scaryBugs(in url: URL) throws(LegacyError) -> LegacyStore {
    var reader = ScaryBugReader()
    try reader.read(Folder(url))
    return reader.store
  }
}

struct ScaryBugReader {
  static let list = "scarybugs"
  static let folderExtension = ".scarybug"
  static let dataFile = "data.plist"
  static let pictures = ["thumbImage.jpg": "thumbnail", "fullImage.jpg": "full"]
  /// A bug is a title and a rating, so this is more than enough.
  private static let dataByteLimit = 16 << 20

  private(set) var store = LegacyStore(.scarybugs)

  static func isBug(_ name: String) -> Bool { name.lowercased().hasSuffix(folderExtension) }

  mutating func read(_ folder: Folder) throws(LegacyError) {
    if Self.isBug(folder.path) {
      throw LegacyError(.wrongUse, "this is a single bug; name the folder that it is in", path: folder.path)
    }
    let names = try folder.numberedNames().filter(Self.isBug)
    if names.isEmpty {
      throw LegacyError(
        .notFound, "it contains no folder whose name ends in \(Self.folderExtension)", path: folder.path)
    }
    store.lists.insert(Self.list)
    for name in names {
      do {
        switch try folder.kind(of: name) {
        case .folder: try readBug(name, in: folder)
        case .link: throw LegacyError.link(name)
        default: throw LegacyError(.unreadable, "it is not a folder, but a bug is a folder")
        }
      } catch {
        store.unreadableKeys.insert(name)
        store.incompleteFiles.insert("\(name)/\(Self.dataFile)")
        store.problems.append(LegacyProblem(name, "\(error)"))
      }
    }
  }

  private mutating func readBug(_ name: String, in documents: Folder) throws {
    let folder = try documents.folder(name)
    let names = try folder.numberedNames().filter { !System.isLitter($0) }
    guard !names.isEmpty else {
      throw LegacyError(.unreadable, "the folder is empty")
    }
    var item: LegacyItem
    if names.contains(Self.dataFile) {
      item = try readData(of: name, in: folder)
    } else {
      item = LegacyItem(
        list: Self.list, kind: KnownKind.bug.name, attributes: ["title": "", "rating": 0.0])
      store.problems.append(
        LegacyProblem(name, "it has no \(Self.dataFile), so it gets no title and no rating", isLoss: false))
    }
    item.key = name
    // An export writes the image with a picture's name as that picture, so no other file may get this name.
    var imageNames = UniqueNames()
    for picture in Self.pictures.values { _ = imageNames.unused(picture) }
    item.images.rename(in: &item.attributes) { imageNames.unused($0) }
    for file in names where file != Self.dataFile {
      var image = LegacyImage(name: Self.pictures[file] ?? imageNames.unused(file.usableName))
      if Self.pictures[file] == nil, image.name != file.usableName {
        let reason =
          "that is the name of another image, or of one of the app's two pictures, so its name is \(image.name)"
        store.problems.append(LegacyProblem("\(name)/\(file)", reason, isLoss: false))
      }
      do {
        let head = try folder.file(file, .reading).piece(at: 0, byteCount: 64)
        image.mediaType = ImageType.of(head) ?? ImageType.unknown
        image.content = .file(documents, folder: name, name: file)
      } catch {
        store.problems.append(LegacyProblem("\(name)/\(file)", "\(error)"))
        store.incompleteFiles.insert("\(name)/\(file)")
      }
      item.images.append(image)
    }
    store.items.append(item)
  }

  private mutating func readData(of name: String, in folder: Folder) throws -> LegacyItem {
    let data = try folder.file(Self.dataFile, .reading).contents(limit: Self.dataByteLimit)
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(ArchiveBytes(Data(data)))
    } catch {
      throw LegacyError(.unreadable, "its \(Self.dataFile) can't be read", cause: error)
    }
    let keys = try archive.topKeys
    guard let key = ["Data", "data", "root"].first(where: keys.contains) ?? keys.first,
      case .object(let object)? = try archive.top(key)
    else {
      throw LegacyError(.unreadable, "its \(Self.dataFile) has no object under the key Data")
    }
    let survey = ClassSurvey([try archive.inspect()], FieldMapping())
    let plan = ItemPlan(
      .bug, name: KnownKind.bug.name, categoryKey: nil, mapping: FieldMapping(),
      find: { survey.key($0, in: object.className) })
    var objects = ObjectReader(archive, survey)
    var item = try plan.item(of: object, list: Self.list, &objects)
    // Other values at the top belong to the document.
    var contents = SharedContents(archive)
    var top: [String: FieldValue] = [:]
    for other in try archive.allTopFields() where other.name != key {
      do {
        let value = try other.value(&contents)
        let form = value.form(isReference: try other.isReference)
        top[ObjectReader.key(of: other.name)] = try objects.attribute(other.name, value).marked(form)
      } catch let error as ArchiveError {
        store.problems.append(LegacyProblem("\(name)/\(Self.dataFile): \(other.name)", "\(error)"))
        item.unreadable.insert(Reference.top)
      }
    }
    if !top.isEmpty { item.attributes[Reference.top] = .dictionary(top) }
    if !item.unreadable.isEmpty || !objects.problems.isEmpty {
      store.incompleteFiles.insert("\(name)/\(Self.dataFile)")
    }
    store.problems += objects.problems.map {
      LegacyProblem("\(name)/\(Self.dataFile): \($0.path)", $0.reason)
    }
    item.images = objects.images
    store.classes.merge(objects.classes)
    store.classes.note(item, plan)
    if store.files[Self.dataFile] == nil {
      store.files[Self.dataFile] = Layout.file(
        Layout.archive([ObjectReader.key(of: key): Layout.element(Self.list)]), isXML: false)
    }
    return item
  }
}
