import CatalogModel
import Foundation

/// A bug, and how scary it is.
struct Bug: Identifiable, Codable, Equatable {
  /// The number of the item that holds this bug; 0 until there is one.
  var id = 0
  var title: String
  /// From 0 to 5; halves are possible.
  var rating: Double

  // The item knows its number itself.
  private enum CodingKeys: CodingKey { case title, rating }
}

extension Bug {
  fileprivate init(_ item: Catalog.Item) throws {
    self = try item.decode()
    id = item.id
  }
}

/// Bugs and their pictures, kept in a journal: items of the kind `bug`, each with an image `thumbnail` and an
/// image `full` when it has been photographed.
///
/// Opening the database and listing all bugs reads no picture. A picture is read when it is asked for, and is
/// not kept in memory.
struct BugDatabase {
  let journal: CatalogJournal

  /// Opens the database, which is empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// All bugs, in the order in which they were added; as of an earlier time, if one is named.
  func bugs(asOf selector: RevisionSelector = .head()) throws -> [Bug] {
    try journal.state(asOf: selector).items(ofKind: "bug").map(Bug.init)
  }

  /// Adds a bug, without pictures.
  @discardableResult
  func add(title: String, rating: Double = 0) throws -> Bug {
    var bug = Bug(title: title, rating: rating)
    bug.id = try journal.commit(note: "add \(title)") { try $0.addItem(kind: "bug", encoding: bug) }.value
    return bug
  }

  /// Keeps another title or rating.
  func update(_ bug: Bug) throws {
    try journal.commit(note: "change \(bug.title)") { draft in
      try draft.updateItem(bug.id, as: Bug.self) { $0 = bug }
    }
  }

  /// Deletes a bug and its pictures. Earlier states have them still.
  func delete(_ bug: Bug) throws {
    try journal.commit(note: "delete \(bug.title)") { try $0.deleteItem(bug.id) }
  }

  /// Gives a bug its pictures, both or none, in place of those it had.
  /// - Parameter mediaType: what the bytes of both are.
  func setPictures(of bug: Bug, thumbnail: Data, full: Data, mediaType: String = "image/jpeg") throws {
    let blobs = try journal.blobs.add([thumbnail, full])
    try journal.commit(note: "photograph \(bug.title)") { draft in
      for (name, blob) in zip(["thumbnail", "full"], blobs) {
        if let old = draft.state.images(of: bug.id).first(where: { $0.name == name }) {
          try draft.updateImage(old.id, mediaType: mediaType, blob: blob)
        } else {
          try draft.addImage(to: bug.id, name: name, mediaType: mediaType, blob: blob)
        }
      }
    }
  }

  /// The small picture, nil if there is none.
  func thumbnail(of bug: Bug, asOf selector: RevisionSelector = .head()) throws -> Data? {
    try picture("thumbnail", of: bug, asOf: selector)
  }

  /// The picture as it was taken, nil if there is none.
  func fullImage(of bug: Bug, asOf selector: RevisionSelector = .head()) throws -> Data? {
    try picture("full", of: bug, asOf: selector)
  }

  private func picture(_ name: String, of bug: Bug, asOf selector: RevisionSelector) throws -> Data? {
    try journal.state(asOf: selector).images(of: bug.id).first { $0.name == name }
      .map { try journal.blobs.data(of: $0.blob) }
  }
}
