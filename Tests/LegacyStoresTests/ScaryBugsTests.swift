import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import Examples
@testable import LegacyStores

@Suite struct ScaryBugsTests {
  /// Two bugs, one of them with both pictures, as the app stores them.
  private func makeBugs(_ folder: TemporaryFolder) throws -> URL {
    try folder.write("bugs/1.scarybug/data.plist", Made.bug("Potato Bug", 4))
    try folder.write("bugs/1.scarybug/thumbImage.jpg", Made.png)
    try folder.write("bugs/1.scarybug/fullImage.jpg", Made.jpeg)
    try folder.write("bugs/10.SCARYBUG/data.plist", Made.bug("House Centipede", 3.5))
    return folder.url.appending(path: "bugs")
  }

  @Test func theExamplesModelReadsAnImportedJournal() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.added == 2 && report.images == 2 && report.revisions == [1] && report.isComplete)
      try journal.close()
      let database = try BugDatabase(at: folder.url.appending(path: "J.journal"))
      let all = try database.bugs()
      #expect(try all.values.map(\.title) == ["Potato Bug", "House Centipede"])
      #expect(try all.values.map(\.rating) == [4, 3.5])
      #expect(try database.thumbnail(of: all[0].id) == Made.png)
      #expect(try database.fullImage(of: all[0].id) == Made.jpeg)
      #expect(try database.fullImage(of: all[1].id) == nil)
    }
  }

  @Test func theTypeOfAPictureComesFromItsBytes() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: makeBugs(folder)))
      #expect(journal.state.images.map(\.mediaType).sorted() == ["image/jpeg", "image/png"])
    }
  }

  @Test func aSecondImportChangesNothing() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: bugs))
      let again = try journal.importStore(.scaryBugs(in: bugs))
      #expect(again.revisions.isEmpty && again.unchanged == 2)
      #expect(journal.head.revision == 1)
    }
  }

  @Test func onlyTheChangesOfTheFolderChangeTheJournal() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: bugs))
      try folder.write("bugs/1.scarybug/data.plist", Made.bug("Potato Bug", 5))
      try folder.write("bugs/1.scarybug/fullImage.jpg", Made.png)
      try folder.write("bugs/11.scarybug/data.plist", Made.bug("Wolf Spider", 1))
      try FileManager.default.removeItem(at: bugs.appending(path: "1.scarybug/thumbImage.jpg"))
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.updated == 1 && report.added == 1 && report.unchanged == 1 && report.deleted == 0)
      #expect(journal.state.item(1)?["rating"] == .double(5))
      #expect(journal.state.images(of: 1).map(\.name) == ["full"])
      #expect(journal.state.images(of: 1).map(\.mediaType) == ["image/png"])
      #expect(try journal.history(of: .item(2)).count == 1)
    }
  }

  @Test func aBugRemovedFromTheFolderIsDeletedAndAnUnreadableOneIsNot() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      try folder.write("bugs/2.scarybug/data.plist", Made.bug("Lady Bug", 1))
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: bugs))
      try FileManager.default.removeItem(at: bugs.appending(path: "10.SCARYBUG"))
      try folder.write("bugs/2.scarybug/data.plist", Data("bplist00 and nothing more".utf8))
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.deleted == 1)
      #expect(report.problems.filter(\.isLoss).map(\.place) == ["2.scarybug"])
      #expect(!report.isComplete)
      #expect(journal.state.things.map { $0["title"] } == [.string("Potato Bug"), .string("Lady Bug")])
      // It is still recognized when it can be read again.
      try folder.write("bugs/2.scarybug/data.plist", Made.bug("Lady Bug", 2))
      #expect(try journal.importStore(.scaryBugs(in: bugs)).updated == 1)
      #expect(journal.state.things.count == 2)
    }
  }

  @Test func aBugThatCanNotBeReadIsNotReplaced() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: bugs))
      let data = try folder.write("bugs/1.scarybug/data.plist", Data("bplist00 and nothing more".utf8))
      let before = try Data(contentsOf: data)
      try journal.importStore(.scaryBugs(in: bugs))
      #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, to: bugs, replacing: true) }
      #expect(try Data(contentsOf: data) == before)
      let report = try journal.exportStore(.scarybugs, to: folder.url.appending(path: "out"))
      #expect(report.items == 2 && report.problems.map(\.place) == ["1.scarybug/data.plist"])
    }
  }

  /// The export took it for one that the bug no longer has, and removed it.
  @Test func aPictureThatBecomesUnreadableDuringTheImportIsNotRemoved() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let journal = try folder.journal()
      let store = try LegacyStore.scaryBugs(in: bugs)
      let picture = bugs.appending(path: "1.scarybug/fullImage.jpg")
      let before = try Data(contentsOf: picture)
      try FileManager.default.removeItem(at: picture)
      #expect(try !journal.importStore(store).isComplete)
      try before.write(to: picture)
      #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, to: bugs, replacing: true) }
      #expect(try Data(contentsOf: picture) == before)
    }
  }

  @Test func bugsWithMissingPartsAreImported() throws {
    try withTemporaryFolder { folder in
      try folder.write("bugs/1.scarybug/fullImage.jpg", Made.jpeg)
      try folder.write("bugs/2.scarybug/data.plist", Made.bug(nil, 2))
      try FileManager.default.createDirectory(
        at: folder.url.appending(path: "bugs/3.scarybug"), withIntermediateDirectories: true)
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: folder.url.appending(path: "bugs")))
      #expect(report.added == 2)
      #expect(report.problems.map(\.place) == ["1.scarybug", "3.scarybug"])
      #expect(journal.state.things.map { $0["title"] } == [.string(""), .string("")])
      #expect(journal.state.images(of: 1).map(\.name) == ["full"])
    }
  }

  @Test func bugsOfTwoVersionsOfAnAppKeepTheirKeys() throws {
    try withTemporaryFolder { folder in
      for (number, keys) in [("1", ["title", "rating"]), ("2", ["Title", "Rating"])] {
        let bug = ArchiveNode(ArchivedClass("ScaryBugData"))
        bug.set(keys[0], .string("Bug \(number)"))
        bug.set(keys[1], .float(3))
        try folder.write(
          "bugs/\(number).scarybug/data.plist", ArchiveNode.archive(["Data": .node(bug)]))
      }
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: folder.url.appending(path: "bugs")))
      #expect(journal.state.things.map { $0["title"] } == [.string("Bug 1"), .string("Bug 2")])
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.scarybugs, to: out)
      for (number, key) in [("1", "title"), ("2", "Title")] {
        let file = out.appending(path: "\(number).scarybug/data.plist")
        let bug = try Made.object(KeyedArchive(ArchiveBytes(contentsOf: file)).top("Data"))
        #expect(try bug[key]?.string == "Bug \(number)")
      }
    }
  }

  @Test func otherKeysAndOtherFilesAreKept() throws {
    try withTemporaryFolder { folder in
      let node = ArchiveNode(
        ArchivedClass("RWTScaryBugData"),
        [
          "title": .string("Old"), "rating": .real(1.5), "legs": .integer(8), "title2": .string("second"),
          "seen": .date(Date(timeIntervalSinceReferenceDate: 1_000.25)),
          "tags": .array([.string("a"), .integer(1)]),
        ])
      try folder.write(
        "bugs/7.scarybug/data.plist", ArchiveNode.archive(["data": .node(node), "version": .integer(2)]))
      try folder.write("bugs/7.scarybug/voice.caf", Data("sound".utf8))
      let bugs = folder.url.appending(path: "bugs")
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: bugs))
      let item = try #require(journal.state.things.first)
      #expect(
        item["title"] == .string("Old") && item["rating"] == .double(1.5) && item["legs"] == .integer(8))
      #expect(item["seen"] == .date(Date(timeIntervalSinceReferenceDate: 1_000.25)))
      #expect(item["tags"] == .array([.string("a"), .integer(1)]))
      #expect(journal.state.images.map(\.name) == ["voice.caf"])

      try journal.exportStore(.scarybugs, to: folder.url.appending(path: "out"))
      let archive = try KeyedArchive(
        ArchiveBytes(contentsOf: folder.url.appending(path: "out/7.scarybug/data.plist")))
      let object = try Made.object(archive.top("data"))
      #expect(object.className == "RWTScaryBugData")
      #expect(try object["legs"]?.integer == 8 && object["title"]?.string == "Old")
      // The object also had the other values at the top, under `$top`.
      #expect(try Set(object.keys) == ["title", "rating", "legs", "title2", "seen", "tags"])
      #expect(try archive.top("version")?.integer == 2)
      #expect(
        try Data(contentsOf: folder.url.appending(path: "out/7.scarybug/voice.caf")) == Data("sound".utf8))
      #expect(try journal.importStore(.scaryBugs(in: folder.url.appending(path: "out"))).updated == 0)
    }
  }

  /// One replaced the other.
  @Test func filesWhoseImagesWouldHaveOneNameAreImportedSeparately() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      // The two normal forms of é are equal strings.
      let files: KeyValuePairs = ["thumbnail": "other", "e\u{301}.jpg": "first", "\u{E9}.jpg": "second"]
      for (name, text) in files { try folder.write("bugs/1.scarybug/\(name)", Data(text.utf8)) }
      let inside = ArchiveNode(
        ArchivedClass("ScaryBugData"), ["Title": .string("Ant"), "thumbnail": .data(Made.jpeg)])
      try folder.write("bugs/2.scarybug/data.plist", ArchiveNode.archive(["Data": .node(inside)]))
      try folder.write("bugs/2.scarybug/thumbImage.jpg", Made.png)
      // Some file systems have one file for both normal forms.
      let count = try FileManager.default.contentsOfDirectory(
        atPath: bugs.appending(path: "1.scarybug").path
      ).count
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.isComplete && report.images == count - 1 + 2)
      #expect(journal.state.images.map(\.blob).count == count - 1 + 2)
      for bug in journal.state.things where bug["title"] != .string("House Centipede") {
        let images = journal.state.images(of: bug.id)
        #expect(Set(images.map(\.name)).count == images.map(\.name).count)
        let thumbnail = try #require(images.first { $0.name == "thumbnail" })
        #expect(try journal.blobs.data(of: thumbnail.blob) == Made.png)
      }
      #expect(try journal.importStore(.scaryBugs(in: bugs)).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.scarybugs, to: out)
      #expect(try Data(contentsOf: out.appending(path: "1.scarybug/thumbImage.jpg")) == Made.png)
      let archive = try KeyedArchive(
        ArchiveBytes(contentsOf: out.appending(path: "2.scarybug/data.plist")))
      let ant = try Made.object(archive.top("Data"))
      #expect(try ant["thumbnail"]?.data == Made.jpeg)
    }
  }

  /// They were exported as the app's two pictures, which the bug does not have.
  @Test func otherFilesNeverBecomeTheAppsPictures() throws {
    try withTemporaryFolder { folder in
      try folder.write("bugs/0.scarybug/data.plist", Made.bug("Ant", 2))
      for name in ["thumbnail", "full"] { try folder.write("bugs/0.scarybug/\(name)", Data(name.utf8)) }
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: folder.url.appending(path: "bugs")))
      #expect(report.isComplete && report.problems.count == 2)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.scarybugs, to: out)
      let names = try FileManager.default.contentsOfDirectory(atPath: out.appending(path: "0.scarybug").path)
      #expect(names.sorted() == ["data.plist", "full+2", "thumbnail+2"])
    }
  }

  @Test func linksAreRefusedAndTheRestIsImported() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      let secret = try folder.write("secret/data.plist", Made.bug("Secret", 5))
      let manager = FileManager.default
      try manager.createSymbolicLink(
        at: bugs.appending(path: "3.scarybug"), withDestinationURL: secret.deletingLastPathComponent())
      try folder.write("bugs/4.scarybug/fullImage.jpg", Made.jpeg)
      try manager.createSymbolicLink(
        at: bugs.appending(path: "4.scarybug/data.plist"), withDestinationURL: secret)
      try manager.createSymbolicLink(
        at: bugs.appending(path: "10.SCARYBUG/fullImage.jpg"), withDestinationURL: secret)
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.added == 2)
      let losses = report.problems.filter(\.isLoss)
      #expect(losses.map(\.place).sorted() == ["10.SCARYBUG/fullImage.jpg", "3.scarybug", "4.scarybug"])
      #expect(losses.allSatisfy { $0.reason.contains("symbolic link") })
      #expect(!journal.state.contents.joined().contains("Secret"))
    }
  }

  @Test func aPipeInPlaceOfAPictureDoesNotBlock() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      #expect(unsafe mkfifo(bugs.appending(path: "1.scarybug/pipe.jpg").path, 0o600) == 0)
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: bugs))
      #expect(report.added == 2)
      #expect(report.problems.map(\.place) == ["1.scarybug/pipe.jpg"])
    }
  }

  @Test func manyBugsAreImportedInSeveralEntriesAndAStoppedRunContinues() throws {
    try withTemporaryFolder { folder in
      for number in 1...230 {
        try folder.write("bugs/\(number).scarybug/data.plist", Made.bug("Bug \(number)", Float(number % 6)))
      }
      let bugs = folder.url.appending(path: "bugs")
      let journal = try folder.journal()
      let report = try journal.importStore(.scaryBugs(in: bugs), entrySize: 100)
      #expect(report.revisions == [1, 2, 3] && report.added == 230 && report.unchanged == 0)
      #expect(journal.state.things.count == 230)
      #expect(try journal.state(asOf: .revision(1)).things.count == 100)
      #expect(try journal.importStore(.scaryBugs(in: bugs), entrySize: 100).revisions.isEmpty)

      // A journal that has imported only the items of the first entry.
      let other = try folder.journal("Other.journal")
      var partly = try LegacyStore.scaryBugs(in: bugs)
      let rest = partly.items[100...]
      partly.unreadableKeys = Set(rest.compactMap(\.key))
      partly.items = Array(partly.items[..<100])
      try other.importStore(partly)
      let second = try other.importStore(.scaryBugs(in: bugs), entrySize: 100)
      #expect(second.added == 130 && second.unchanged == 100)
      #expect(other.state.contents == journal.state.contents)
    }
  }

  @Test func aFolderWithoutBugsIsAnErrorAndSoIsASingleBug() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      #expect(throws: LegacyError.self) {
        try LegacyStore.scaryBugs(in: folder.url.appending(path: "nowhere"))
      }
      #expect(throws: LegacyError.self) { try LegacyStore.scaryBugs(in: folder.url) }
      #expect(throws: LegacyError.self) { try LegacyStore.scaryBugs(in: bugs.appending(path: "1.scarybug")) }
    }
  }
}
