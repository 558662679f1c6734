import CatalogModel
import Foundation
import JournalMaintenance
import Journaling
import TestSupport
import Testing

/// A catalog on a disk: the model and the engine together.
struct JournalTests {
  @Test func aCatalogSurvivesReopening() throws {
    try withTemporaryFolder { folder in
      let url = URL(filePath: folder.path("Books.journal"))
      let journal = try CatalogJournal.create(at: url)
      let blob = try journal.blobs.add(Data("cover".utf8))
      let id = try journal.commit(by: "ana", note: "first") { draft in
        let category = try draft.addCategory(name: "Novels", color: Catalog.Color(hex: "#FF800080"))
        let item = try draft.addItem(
          kind: "book", category: category, attributes: ["title": .string("Dune")])
        try draft.addImage(to: item, name: "cover.txt", mediaType: "text/plain", blob: blob)
        return item
      }.value
      let first = journal.state
      try journal.commit { try $0.updateItem(id, set: ["stars": .integer(5)]) }
      try journal.commit { try $0.deleteItem(id) }
      try journal.commit { try $0.deleteCategory(1) }
      let last = journal.state.json
      try journal.close()

      let again = try CatalogJournal.open(at: url)
      #expect(again.state.json == last)
      #expect(again.state.json == Catalog().json)
      #expect(try again.state(asOf: .revision(1)).json == first.json)
      #expect(try again.history(of: .item(id)).map(\.revision) == [3, 2, 1])
      #expect(try again.verify().problems.isEmpty)
      #expect(try again.commit { try $0.addItem(kind: "book") }.value.number == id.number + 1)
      try again.close()
    }
  }

  @Test func anImageWhoseBlobIsNotStoredIsRejected() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: URL(filePath: folder.path("Books.journal")))
      let error = #expect(throws: JournalError.self) {
        try journal.commit { draft in
          let item = try draft.addItem(kind: "book")
          try draft.addImage(to: item, name: "a.png", mediaType: "image/png", blob: someBlob)
        }
      }
      #expect(error?.code == .rejected)
      #expect(journal.head.revision == 0)
      #expect(journal.state.itemCount == 0)
      try journal.close()
    }
  }

  /// Opening does not read images, so it succeeds. Reading the image fails, and verifying names its file.
  @Test func aMissingOrAlteredImageCanNotBeReadAndVerifyNamesItsFile() throws {
    try withTemporaryFolder { folder in
      let url = URL(filePath: folder.path("Books.journal"))
      let journal = try CatalogJournal.create(at: url)
      let blob = try journal.blobs.add(Data("cover".utf8))
      try journal.commit { draft in
        let item = try draft.addItem(kind: "book")
        try draft.addImage(to: item, name: "cover.txt", mediaType: "text/plain", blob: blob)
      }
      // The history still refers to the image.
      try journal.commit { try $0.deleteImage(1) }
      let file = journal.blobs.url(of: blob)
      try journal.close()
      for contents in [Data("c0ver".utf8), Data("cov".utf8), nil] {
        try FileManager.default.removeItem(at: file)
        if let contents { try contents.write(to: file) }
        let opened = try CatalogJournal.open(at: url)
        #expect(throws: JournalError.self) { try opened.blobs.data(of: blob) }
        let found = try opened.verify()
        #expect(found.problems.map(\.path) == [file.path])
        #expect(!found.isSound)
        #expect(found.entryCount == 2)
        #expect(found.blobCount == 1)
        try opened.close()
        if contents == nil { try Data("cover".utf8).write(to: file) }
      }
      let opened = try CatalogJournal.open(at: url)
      #expect(try opened.verify().isSound)
      try opened.close()
    }
  }
}
