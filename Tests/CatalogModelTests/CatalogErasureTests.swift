import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// A catalog with erased entities: they are listed nowhere, earlier references to them may stay, and the rules hold.
@Suite struct CatalogErasureTests {
  private func withErased(
    _ entities: Set<EntityKey>, _ body: (_ journal: CatalogJournal, _ url: URL) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let whole = try CatalogJournal.create(at: url)
      let blob = try whole.blobs.add(Data("cup".utf8))
      try whole.commit { draft in
        let cups = try draft.addCategory(name: "Cups")
        for name in ["red", "blue"] {
          let item = try draft.addItem(kind: "find", category: cups, attributes: ["name": .string(name)])
          try draft.addImage(to: item, name: "\(name).png", mediaType: "image/png", blob: blob)
        }
      }
      try whole.commit { try $0.updateItem(1, set: ["stars": .integer(3)]) }
      try whole.close()
      let erased = folder.url.appending(path: "Erased.journal")
      try FileManager.default.copyItem(at: url, to: erased)
      try CatalogJournal.erase(entities, at: erased, reason: "by law")
      let journal = try CatalogJournal.open(at: erased)
      try body(journal, erased)
      #expect(journal.state.problems() == [])
      try journal.close()
      let again = try CatalogJournal.open(at: erased)
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      #expect(again.state.problems() == [])
    }
  }

  @Test func anErasedItemIsListedNowhereAndItsImagesAreErasedToo() throws {
    try withErased([.item(1)]) { (journal: CatalogJournal, _) throws in
      let catalog = journal.state
      #expect(catalog.item(1) == nil)
      #expect(catalog.isErased(.item(1)))
      #expect(catalog.items.map(\.id) == [2])
      #expect(catalog.items(in: 1).map(\.id) == [2])
      #expect(catalog.items(ofKind: "find").map(\.id) == [2])
      #expect(catalog.itemCount == 1)
      #expect(catalog.isErased(.image(1)))
      #expect(catalog.images(of: 1).map(\.id) == [])
      #expect(catalog.images.map(\.id) == [2])
      let error = #expect(throws: JournalError.self) {
        try journal.commit { try $0.updateItem(1, set: ["stars": .integer(5)]) }
      }
      #expect(error?.message.contains("item:1") == true)
      #expect(error?.message.contains("erased") == true)
      #expect(try journal.commit { try $0.addItem(kind: "find") }.value == 3)
    }
  }

  /// An image that was moved to another item used to be erased with the first one.
  @Test func whatNoLongerBelongsToAnErasedItemStays() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let journal = try CatalogJournal.create(at: url)
      let blob = try journal.blobs.add(Data("cup".utf8))
      try journal.commit { draft in
        for _ in 1...2 { try draft.addItem(kind: "find") }
        for name in ["moved", "left", "deleted"] {
          try draft.addImage(to: 1, name: name, mediaType: "image/png", blob: blob)
        }
      }
      try journal.commit { draft in
        for number in [1, 3] {
          let image = EntityKey.image(ImageID(number))
          let name = try #require(draft.state.image(ImageID(number))?.name)
          try draft.update(
            image,
            to: EntityRecord(fields: [
              0: .integer(2), 1: .string(name), 2: .string("image/png"), 3: .data(Data(blob.digest.bytes)),
              4: .integer(Int64(blob.byteCount)),
            ]))
        }
      }
      #expect(journal.state.images(of: 2).map(\.name) == ["moved", "deleted"])
      try journal.commit { try $0.deleteImage(3) }
      try journal.close()
      try CatalogJournal.erase([.item(1)], at: url, reason: "by law")
      let erased = try CatalogJournal.open(at: url)
      #expect(erased.state.images.map(\.name) == ["moved"])
      #expect(erased.state.isErased(.image(2)) && !erased.state.isErased(.image(3)))
      #expect(try erased.state(asOf: .revision(1)).images.map(\.name) == ["moved", "deleted"])
      #expect(try erased.verify(.deep).problems.map(\.description) == [])
      #expect(erased.state.problems() == [])
      try erased.close()
    }
  }

  /// Blame and later edits had an empty author, whether it was erased or missing, and one of two dates.
  @Test func blameAndLaterEditsTellErasedAuthorsFromMissingOnesAndBothDates() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let (late, early) = (Date(timeIntervalSince1970: 1.7e9), Date(timeIntervalSince1970: 1.6e9))
      let whole = try CatalogJournal.create(at: url)
      try whole.commit(by: "ana", date: late) { draft in
        for _ in 1...2 { try draft.addItem(kind: "find", attributes: ["stars": 3]) }
      }
      try whole.commit(by: "ana", date: early) { draft in
        for item: Catalog.Item.ID in [1, 2] { try draft.updateItem(item, set: ["stars": 4]) }
      }
      try whole.close()
      try CatalogJournal.erase([.item(1)], at: url, reason: "by law", includingWords: true)
      let journal = try CatalogJournal.open(at: url)
      try journal.commit { try $0.updateItem(2, set: ["age": 5]) }
      let blame = try #require(try journal.blame(.item(2)))
      let stars = try #require(blame.first { $0.key == .attribute("stars") })
      let age = try #require(blame.first { $0.key == .attribute("age") })
      #expect(stars.isAnnotationErased && !age.isAnnotationErased)
      #expect(stars.author.isEmpty && age.author.isEmpty)
      #expect(stars.date == late && stars.clockDate == early)
      let plan = try journal.planRestore(of: .entities([.item(2)]), asOf: .revision(1))
      #expect(plan.undoes.map(\.revision) == [4, 2])
      #expect(plan.undoes.map(\.isAnnotationErased) == [false, true])
      #expect(plan.undoes.last?.date == late && plan.undoes.last?.clockDate == early)
      try journal.close()
    }
  }

  @Test func itemsMayStayInACategoryThatWasErasedAndNoneMayEnterIt() throws {
    try withErased([.category(1)]) { journal, _ in
      #expect(journal.state.category(1) == nil)
      #expect(journal.state.item(1)?.category == 1)
      #expect(journal.state.items(in: 1).map(\.id) == [1, 2])
      try journal.commit { try $0.updateItem(1, set: ["stars": .integer(5)]) }
      let error = #expect(throws: JournalError.self) {
        try journal.commit { try $0.addItem(kind: "find", category: 1) }
      }
      #expect(error?.code == .rejected)
      #expect(error?.message.contains("erased") == true)
      try journal.commit { try $0.setCategory(ofItem: 1, to: nil) }
      #expect(journal.state.items(in: 1).map(\.id) == [2])
      try journal.commit { try $0.deleteItem(2) }
    }
  }

  @Test func anErasedImageNamesNoBlob() throws {
    try withErased([.image(1), .image(2)]) { journal, _ in
      #expect(journal.state.images(of: 1).map(\.id) == [])
      #expect(journal.state.imageCount == 0)
      let verification = try journal.verify()
      #expect(verification.blobCount == 0)
    }
  }

  @Test func aSnapshotOfACatalogWithErasedEntitiesGivesTheSameCatalog() throws {
    try withErased([.item(1), .category(1), .image(2)]) { journal, url in
      try journal.takeSnapshot()
      let replayed = try journal.version(replayedTo: .head()).state
      try journal.close()
      let again = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(again.health.layerProblems.isEmpty)
      #expect(StateDigest.digest(of: again.state) == StateDigest.digest(of: replayed))
      for entity in [EntityKey.item(1), .category(1), .image(2)] { #expect(again.state.isErased(entity)) }
      #expect(again.state.items.map(\.id) == [2])
      #expect(again.state.imageCount == 0)
      try again.close()
    }
  }

  /// The new journal has no trace of the erased entities, so a reference to one would be to nothing, or to the next one
  /// of its kind.
  @Test func aCopyWithoutHistoryRefersToNoErasedEntity() throws {
    try withErased([.category(1)]) { journal, url in
      let place = url.deletingLastPathComponent().appending(path: "Copy.journal")
      try journal.copyState(to: place)
      let copy = try CatalogJournal.open(at: place)
      #expect(copy.state.items.map(\.id) == [1, 2] && copy.state.item(1)?["stars"] == .integer(3))
      #expect(copy.state.items.allSatisfy { $0.category == nil })
      #expect(copy.state.images(of: 1).map(\.id) == [1])
      #expect(try copy.verify(.deep).problems.map(\.description) == [])
      let category = try copy.commit { try $0.addCategory(name: "Plates") }.value
      #expect(copy.state.items(in: category).map(\.id) == [])
      try copy.close()
    }
  }

  /// The first new item of a copy got the number of a deleted one, to which an attribute referred.
  @Test func aCopyWithoutHistoryGivesNoNumberAgain() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Cards.journal"))
      try journal.commit { draft in
        try draft.addItem(kind: "card", attributes: ["label": 3])
        for _ in 1...2 { try draft.addItem(kind: "label") }
        try draft.addCategory(name: "old")
      }
      try journal.commit { draft in
        for number in 2...3 { try draft.deleteItem(Catalog.Item.ID(number)) }
        try draft.deleteCategory(1)
      }
      let url = folder.url.appending(path: "Copy.journal")
      try journal.copyState(to: url)
      try journal.close()
      for opening in 1...2 {
        let copy = try CatalogJournal.open(at: url)
        #expect(copy.state.items.map(\.id.number) == [1] + (4..<3 + opening))
        #expect(copy.state.isErased(.item(3)) && !copy.state.isErased(.item(2)))
        let number = try copy.commit { try $0.addItem(kind: "label") }.value.number
        #expect(number == 3 + opening)
        if opening == 2 { #expect(try copy.commit { try $0.addCategory(name: "new") }.value == 2) }
        #expect(try copy.verify(.deep).problems.map(\.description) == [])
        // A copy of the copy, and one with its history.
        try copy.copyState(to: url.appendingPathExtension("state\(opening)"))
        try copy.copy(to: url.appendingPathExtension("log\(opening)"))
        try copy.close()
      }
      for form in ["state", "log"] {
        let again = try CatalogJournal.open(at: url.appendingPathExtension("\(form)2"))
        #expect(try again.commit { try $0.addItem(kind: "label") }.value == 6, "\(form)")
        #expect(try again.verify(.deep).isSound)
        try again.close()
      }
    }
  }

  /// A follower compares states by their layers, and none of them says what was erased.
  @Test func aFollowerTellsThatAnEntityWasErased() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let writer = try CatalogJournal.create(at: url)
      for _ in 1...60 {
        try writer.commit { draft in for _ in 1...200 { try draft.addItem(kind: "find") } }
      }
      try writer.close()
      let follower = try CatalogJournal.open(at: url, mode: .follow)
      #expect(follower.replayedEventCount < 12_000)
      let old = follower.state
      try CatalogJournal.erase([.item(7)], at: url, reason: "by law")
      try follower.catchUp()
      let differences = try #require(follower.state.differences(from: old))
      #expect(differences.map(\.entity) == [.item(7)] && differences[0].operation == .delete)
      try follower.close()
    }
  }

  /// A follower that has applied many events continues from the writer's layers. It used to miss that an erasure had made
  /// these, and kept the events that its histories had read.
  @Test(.disabled(if: TestLength.isUnderSanitizer))
  func aFollowerThatContinuesFromLayersForgetsWhatWasErased() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let writer = try CatalogJournal.create(at: url)
      try writer.commit { _ = try $0.addItem(kind: "find") }
      let follower = try CatalogJournal.open(at: url, mode: .follow)
      try writer.commit { draft in
        for number in 2...60_000 {
          try draft.addItem(kind: "find", attributes: ["name": .string("find \(number)")])
        }
      }
      try writer.close()
      try follower.catchUp()
      func names(_ item: Catalog.Item.ID) throws -> [FieldValue?] {
        try follower.history(of: .item(item)).map { $0.after?["name"] }
      }
      for _ in 1...3 {
        #expect(try names(7) == ["find 7"])
        #expect(try names(8) == ["find 8"])
      }
      let before = follower.erasureCount
      try CatalogJournal.erase([.item(7)], at: url, reason: "by law")
      try follower.catchUp()
      #expect(follower.head.revision == 3 && follower.erasureCount != before)
      #expect(follower.state.isErased(.item(7)))
      #expect(try names(7) == [nil])
      #expect(try names(8) == ["find 8"])
      try follower.close()
    }
  }

  /// An erasure keeps the digests of all entries, so the layers and snapshots from before it still fit the log. One that
  /// a program brought back gave the erased item again, and updates of it were acknowledged.
  @Test(arguments: [false, true]) func layersFromBeforeAnErasureThatAreBroughtBackAreNotUsed(
    _ keepsOthers: Bool
  ) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let snapshots = url.appending(path: "snapshots")
      let saved = folder.url.appending(path: "Saved")
      var options = JournalOptions()
      options.layers.eventCount = 4
      options.layers.additionsPerEvent = 1
      let journal = try CatalogJournal.create(at: url, options: options)
      for number in 1...20 {
        try journal.commit { draft in
          _ = try draft.addItem(kind: "find", attributes: ["name": .string("find \(number)")])
        }
      }
      journal.waitForLayers()
      try journal.takeSnapshot()
      try journal.close()
      try FileManager.default.copyItem(at: snapshots, to: saved)
      try CatalogJournal.erase([.item(7)], at: url, reason: "by law", options: options)
      // As a program does that syncs folders.
      let files = FileManager.default
      if !keepsOthers {
        try files.removeItem(at: snapshots)
        try files.createDirectory(at: snapshots, withIntermediateDirectories: false)
      }
      for name in try files.contentsOfDirectory(atPath: saved.path) {
        let target = snapshots.appending(path: name)
        if !files.fileExists(atPath: target.path) {
          try files.copyItem(at: saved.appending(path: name), to: target)
        }
      }
      for mode in [CatalogJournal.Mode.readOnly, .follow, .readWrite, .readWrite] {
        let again = try CatalogJournal.open(at: url, mode: mode, options: options)
        #expect(again.state.isErased(.item(7)) && again.state.item(7) == nil)
        #expect(try again.state(asOf: .revision(20)).item(7) == nil)
        #expect(try again.verify().problems.allSatisfy { !$0.isDamage })
        if mode == .readWrite {
          #expect(throws: JournalError.self) { try again.commit { try $0.updateItem(7, set: ["a": 1]) } }
          try again.commit { try $0.updateItem(8, set: ["stars": 1]) }
          again.waitForLayers()
        } else {
          let problem = again.health.layerProblems.first { $0.message.contains("from before an erasure") }
          #expect(problem != nil, "\(again.health.layerProblems)")
        }
        try again.close()
      }
    }
  }
}
