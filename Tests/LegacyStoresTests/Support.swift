import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

extension TemporaryFolder {
  /// Creates an empty journal in the folder.
  func journal(_ name: String = "J.journal") throws -> CatalogJournal {
    try CatalogJournal.create(at: url.appending(path: name), options: JournalOptions(layers: .manual))
  }

  /// Writes a file and creates the folders above it.
  @discardableResult
  func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> URL {
    let file = url.appending(path: name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
    return file
  }
}

extension Catalog {
  /// Everything that a user sees: categories, items except the importer's own, and images, without revisions and
  /// item numbers.
  var contents: [String] {
    let names = Dictionary(uniqueKeysWithValues: categories.map { ($0.id, $0.name) })
    var lines = categories.map { "category \($0.name) \($0.color.map { "\($0)" } ?? "-")" }
    for item in items where item.kind != ImportMemory.kind {
      let attributes = item.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let images = images(of: item.id).map { "\($0.name):\($0.mediaType):\($0.blob.digest.hex.prefix(8))" }
      lines.append(
        "\(item.kind) in \(item.category.flatMap { names[$0] } ?? "-"): \(attributes.joined(separator: ", ")); "
          + images.sorted().joined(separator: ", "))
    }
    return lines
  }

  /// The items except the importer's own.
  var things: [Catalog.Item] { items.filter { $0.kind != ImportMemory.kind } }
}

/// Builders of the archives that the apps wrote.
enum Made {
  static func person(_ name: String, _ number: String) -> ArchiveNode {
    ArchiveNode(ArchivedClass("JSPerson"), ["name": .string(name), "number": .string(number)])
  }

  static func persons(_ persons: [(String, String)]) throws -> [UInt8] {
    try ArchiveNode.array(persons.map { .node(person($0.0, $0.1)) }, as: .mutableArray).archived()
  }

  static func bug(_ title: String?, _ rating: Float, className: String = "ScaryBugData") throws -> [UInt8] {
    let node = ArchiveNode(
      ArchivedClass(className), ["Title": title.map { .string($0) } ?? .null, "Rating": .float(rating)])
    return try ArchiveNode.archive(["Data": .node(node)])
  }

  /// The object at the root of an archive.
  static func root(of file: URL) throws -> ArchivedObject {
    let root = try KeyedArchive(ArchiveBytes(contentsOf: file)).root
    let object: ArchivedObject? = if case .object(let object)? = root { object } else { nil }
    return try #require(object)
  }

  /// A property list in XML, as Foundation writes it.
  static func propertyList(_ value: Any) throws -> Data {
    try PropertyListSerialization.data(fromPropertyList: value, format: .xml, options: 0)
  }

  /// What Foundation reads from a property list.
  static func read(_ url: URL) throws -> NSObject? { try readValue(url) as? NSObject }

  /// The same as a Swift value. `NSDictionary` copies large data byte by byte.
  static func readValue(_ url: URL) throws -> Any {
    try unsafe PropertyListSerialization.propertyList(
      from: Data(contentsOf: url), options: [], format: nil)
  }

  static let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Data("pixels".utf8)
  static let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data("more pixels".utf8)
}
