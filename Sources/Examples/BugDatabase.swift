import CatalogModel
import Foundation

/// A bug, and how scary it is.
struct Bug: CatalogItem, Equatable {
  static let kind = "bug"

  var title: String
  /// How scary the bug is, from 0 to 5; halves are allowed.
  var rating = 0.0
}

/// Bugs and their pictures, kept in a journal. A bug that was photographed has an image `thumbnail` and an image
/// `full`.
///
/// Opening the database and listing all bugs reads no pictures. A picture is read on each request and is not cached.
struct BugDatabase {
  let journal: CatalogJournal

  /// Opens the database, which is empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// All bugs, in the order in which they were added; now, or as of an earlier time.
  func bugs(asOf selector: RevisionSelector = .head()) throws -> ItemQuery<Bug> {
    try journal.state(asOf: selector).items()
  }

  /// Adds a bug, without pictures.
  @discardableResult
  func add(_ bug: Bug) throws -> ItemID<Bug> {
    try journal.commit(note: "add \(bug.title)") { try $0.insert(bug) }.value
  }

  /// Changes the title or the rating of a bug.
  func change(_ id: ItemID<Bug>, _ body: (inout Bug) throws -> Void) throws {
    try journal.commit(note: "change") { try $0.update(id, body) }
  }

  /// Deletes a bug and its pictures. Earlier states keep them.
  func delete(_ id: ItemID<Bug>) throws {
    try journal.commit(note: "delete") { try $0.delete(id) }
  }

  /// Sets both pictures of a bug in one commit. Earlier pictures are replaced.
  /// - Parameter mediaType: the media type of both pictures.
  func setPictures(
    of id: ItemID<Bug>, thumbnail: Data, full: Data, mediaType: String = "image/jpeg"
  ) throws {
    let blobs = try journal.blobs.add([thumbnail, full])
    try journal.commit(note: "photograph") { draft in
      for (name, blob) in zip(["thumbnail", "full"], blobs) {
        if let old = draft.state.images(of: id).first(where: { $0.name == name }) {
          try draft.updateImage(old.id, mediaType: mediaType, blob: blob)
        } else {
          try draft.addImage(to: id, name: name, mediaType: mediaType, blob: blob)
        }
      }
    }
  }

  /// The small picture of a bug, or nil if there is none.
  func thumbnail(of id: ItemID<Bug>, asOf selector: RevisionSelector = .head()) throws -> Data? {
    try picture("thumbnail", of: id, asOf: selector)
  }

  /// The picture of a bug in full size, or nil if there is none.
  func fullImage(of id: ItemID<Bug>, asOf selector: RevisionSelector = .head()) throws -> Data? {
    try picture("full", of: id, asOf: selector)
  }

  private func picture(_ name: String, of id: ItemID<Bug>, asOf selector: RevisionSelector) throws -> Data? {
    try journal.state(asOf: selector).images(of: id).first { $0.name == name }
      .map { try journal.blobs.data(of: $0.blob) }
  }
}
