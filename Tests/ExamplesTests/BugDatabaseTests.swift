import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

@testable import Examples

@Suite struct BugDatabaseTests {
  private let small = Data("a small picture".utf8)
  private let large = Data(repeating: 0x5A, count: 200_000)

  @Test func bugsAndPicturesSurviveARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bugs.journal")
      var database: BugDatabase? = try BugDatabase(at: url)
      let potato = try #require(try database?.add(Bug(title: "Potato Bug", rating: 4)))
      let centipede = try #require(try database?.add(Bug(title: "House Centipede", rating: 3.5)))
      try database?.setPictures(of: potato, thumbnail: small, full: large)
      database = nil

      database = try BugDatabase(at: url)
      #expect(try database?.bugs().ids == [potato, centipede])
      #expect(
        try database?.bugs().values
          == [Bug(title: "Potato Bug", rating: 4), Bug(title: "House Centipede", rating: 3.5)])
      #expect(try database?.thumbnail(of: potato) == small)
      #expect(try database?.fullImage(of: potato) == large)
      #expect(try database?.thumbnail(of: centipede) == nil)
      #expect(try database?.fullImage(of: centipede) == nil)
    }
  }

  @Test func eachChangeOfTitleOrRatingIsKeptAsItIsMade() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bugs.journal")
      var database: BugDatabase? = try BugDatabase(at: url)
      let bug = try #require(try database?.add(Bug(title: "New Bug")))
      try database?.setPictures(of: bug, thumbnail: small, full: large)
      try database?.change(bug) { $0.title = "Wolf Spider" }
      try database?.change(bug) { $0.rating = 5 }
      database = nil

      database = try BugDatabase(at: url)
      #expect(try database?.bugs().values == [Bug(title: "Wolf Spider", rating: 5)])
      #expect(try database?.thumbnail(of: bug) == small)
      let history = try database?.journal.history(of: bug.entity)
      #expect(history?.map(\.note) == ["change", "change", "add New Bug"])
    }
  }

  @Test func newPicturesReplaceTheOldOnes() throws {
    try withTemporaryFolder { folder in
      let database = try BugDatabase(at: folder.url.appending(path: "Bugs.journal"))
      let bug = try database.add(Bug(title: "Lady Bug", rating: 1))
      try database.setPictures(of: bug, thumbnail: small, full: large)
      try database.setPictures(of: bug, thumbnail: Data([1]), full: Data([2]), mediaType: "image/png")
      #expect(try database.thumbnail(of: bug) == Data([1]))
      #expect(try database.fullImage(of: bug) == Data([2]))
      let images = Array(database.journal.state.images(of: bug))
      #expect(images.map(\.name) == ["thumbnail", "full"])
      #expect(images.map(\.mediaType) == ["image/png", "image/png"])
      #expect(try database.fullImage(of: bug, asOf: .head(back: 1)) == large)
    }
  }

  @Test func deletingABugDeletesItsPicturesAndItsNumberIsNotReused() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bugs.journal")
      var database: BugDatabase? = try BugDatabase(at: url)
      let first = try #require(try database?.add(Bug(title: "First")))
      let second = try #require(try database?.add(Bug(title: "Second")))
      try database?.setPictures(of: second, thumbnail: small, full: large)
      try database?.delete(second)
      database = nil

      database = try BugDatabase(at: url)
      #expect(try database?.bugs().ids == [first])
      #expect(try database?.thumbnail(of: second) == nil)
      #expect(database?.journal.state.imageCount == 0)
      #expect(try #require(try database?.add(Bug(title: "Third"))) != second)
      // An item that was deleted by mistake is not lost.
      let before = RevisionSelector.head(back: 2)
      #expect(try database?.bugs(asOf: before).ids == [first, second])
      #expect(try database?.fullImage(of: second, asOf: before) == large)
    }
  }

  /// A list of titles must not read pictures. Otherwise the app would start more slowly with each picture, and hold all
  /// of them in memory.
  @Test func aPictureIsReadOnlyWhenItIsAskedFor() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bugs.journal")
      var database: BugDatabase? = try BugDatabase(at: url)
      let bug = try #require(try database?.add(Bug(title: "Potato Bug", rating: 4)))
      try database?.setPictures(of: bug, thumbnail: small, full: large)
      let state = try #require(database?.journal.state)
      let image = try #require(state.images(of: bug).first { $0.name == "full" })
      let file = try #require(database?.journal.blobs.url(of: image.blob))
      database = nil
      try FileManager.default.removeItem(at: file)

      database = try BugDatabase(at: url)
      #expect(try database?.bugs().ids == [bug])
      #expect(try database?.thumbnail(of: bug) == small)
      let error = #expect(throws: JournalError.self) { try database?.fullImage(of: bug) }
      #expect(error?.code == .damaged)
      #expect(error?.path == file.path)
    }
  }

  @Test func picturesOfADeletedBugAreRejected() throws {
    try withTemporaryFolder { folder in
      let database = try BugDatabase(at: folder.url.appending(path: "Bugs.journal"))
      let bug = try database.add(Bug(title: "First"))
      try database.delete(bug)
      let error = #expect(throws: JournalError.self) {
        try database.setPictures(of: bug, thumbnail: small, full: large)
      }
      #expect(error?.code == .rejected)
      #expect(database.journal.state.imageCount == 0)
    }
  }

  @Test func anItemIsATitleAndARating() throws {
    try withTemporaryFolder { folder in
      let database = try BugDatabase(at: folder.url.appending(path: "Bugs.journal"))
      let bug = try database.add(Bug(title: "Potato Bug", rating: 4))
      let item = try #require(database.journal.state.item(bug.item))
      let attributes: [String: FieldValue] = ["title": .string("Potato Bug"), "rating": .double(4)]
      #expect(item.kind == "bug")
      #expect(item.attributes == attributes)
    }
  }
}
