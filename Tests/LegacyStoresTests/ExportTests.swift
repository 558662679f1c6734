import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// Which files an export writes, and which it leaves alone.
@Suite struct ExportTests {
  private func makeJournal(_ folder: TemporaryFolder) throws -> CatalogJournal {
    let journal = try folder.journal()
    let blobs = try journal.blobs.add([Made.png, Made.jpeg])
    try journal.commit { draft in
      let bug = try draft.addItem(
        kind: "bug", attributes: ["title": .string("Potato Bug"), "rating": .double(4)])
      try draft.addImage(to: bug, name: "thumbnail", mediaType: "image/png", blob: blobs[0])
      try draft.addImage(to: bug, name: "full", mediaType: "image/jpeg", blob: blobs[1])
    }
    return journal
  }

  private func files(_ url: URL) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: url.path).filter { !$0.hasSuffix(".scarybug") }
      .sorted()
  }

  @Test func eachPointInTimeCanBeWritten() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      try journal.commit { draft in
        try draft.updateItem(1, set: ["rating": .double(1)])
        try draft.deleteImage(1)
        try draft.addItem(kind: "bug", attributes: ["title": .string("Second"), "rating": .double(2)])
      }
      let (then, now) = (folder.url.appending(path: "then"), folder.url.appending(path: "now"))
      let report = try journal.exportStore(.scarybugs, asOf: .revision(1), to: then)
      #expect(report.revision == 1 && report.items == 1 && report.written == 3)
      try journal.exportStore(.scarybugs, to: now)
      #expect(
        try files(then) == ["data.plist", "fullImage.jpg", "thumbImage.jpg"].map { "1.scarybug/\($0)" })
      #expect(
        try files(now) == ["1.scarybug/data.plist", "1.scarybug/fullImage.jpg", "2.scarybug/data.plist"])
      #expect(try LegacyStore.scaryBugs(in: then).items.map { $0.attributes["rating"] } == [.double(4)])
      #expect(
        try LegacyStore.scaryBugs(in: now).items.map { $0.attributes["rating"] } == [.double(1), .double(2)])
    }
  }

  @Test func identicalFilesAreKeptAndDifferentOnesPreventAnExport() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.scarybugs, to: out)
      let again = try journal.exportStore(.scarybugs, to: out)
      #expect(again.written == 0 && again.unchanged == 3)

      try journal.commit { try $0.updateItem(1, set: ["rating": .double(5)]) }
      let before = try Data(contentsOf: out.appending(path: "1.scarybug/data.plist"))
      let refusal = #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, to: out) }
      #expect(refusal?.code == .alreadyExists)
      #expect(refusal?.message.contains("replace it with --force (in Swift, replacing: true)") == true)
      #expect(try Data(contentsOf: out.appending(path: "1.scarybug/data.plist")) == before)
      let forced = try journal.exportStore(.scarybugs, to: out, replacing: true)
      #expect(forced.written == 1 && forced.unchanged == 2)
      // If the old picture stayed, the app would show a picture that the bug no longer has.
      try journal.commit { try $0.deleteImage(2) }
      #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, to: out) }
      try journal.exportStore(.scarybugs, to: out, replacing: true)
      #expect(try files(out) == ["1.scarybug/data.plist", "1.scarybug/thumbImage.jpg"])
    }
  }

  @Test func unrelatedFilesAreLeftAlone() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let out = folder.url.appending(path: "out")
      try folder.write("out/notes.txt", Data("mine".utf8))
      try folder.write("out/9.scarybug/data.plist", Made.bug("Another", 1))
      #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, to: out) }
      #expect(try files(out) == ["9.scarybug/data.plist", "notes.txt"])
      let report = try journal.exportStore(.scarybugs, to: out, replacing: true)
      #expect(report.problems.map(\.place) == ["9.scarybug"] && report.isComplete)
      #expect(try Data(contentsOf: out.appending(path: "notes.txt")) == Data("mine".utf8))
      #expect(try LegacyStore.scaryBugs(in: out).items.count == 2)
    }
  }

  @Test func namesThatLeadElsewhereAreNotFollowed() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let blob = try journal.blobs.add(Data("evil".utf8))
      try journal.commit { draft in
        for name in ["../../evil", "/tmp/evil", "..", ".hidden", "data.plist", "DATA.PLIST", "a\u{0}b"] {
          try draft.addImage(to: 1, name: name, mediaType: "image/png", blob: blob)
        }
        // A forged record of an import.
        let row = ImportMemory.Element(
          item: 1, kind: "bug", list: "scarybugs", key: "../../evil.scarybug", className: "ScaryBugData")
        try draft.addItem(
          kind: ImportMemory.kind,
          attributes: ["source": "scarybugs", "part": 0, "rows": [row.value]])
      }
      let out = folder.url.appending(path: "deep/er/out")
      try FileManager.default.createDirectory(
        at: out.deletingLastPathComponent(), withIntermediateDirectories: true)
      let report = try journal.exportStore(.scarybugs, to: out)
      #expect(report.problems.count == 7)
      let written = try files(folder.url).filter { !$0.hasPrefix("J.journal") }
      #expect(written.filter { $0.contains("evil") }.isEmpty)
      #expect(
        written.filter { $0.contains(".scarybug/") }.allSatisfy { $0.hasPrefix("deep/er/out/1.scarybug/") })
      #expect(written.count { $0.contains("image-") } == 7)
    }
  }

  /// One file replaced the other.
  @Test func noTwoImagesAreExportedToOneFile() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      // The third image would get the name of the second one.
      let names = ["x.jpg", "image-3", "X.JPG", "e\u{301}.jpg", "\u{E9}.jpg", "thumbImage.jpg", "thumbnail"]
      let blobs = try journal.blobs.add(names.indices.map { Data("picture \($0)".utf8) })
      try journal.commit { draft in
        let bug = try draft.addItem(kind: "bug", attributes: ["title": .string("Ant")])
        for (name, blob) in zip(names, blobs) {
          try draft.addImage(to: bug, name: name, mediaType: "image/jpeg", blob: blob)
        }
      }
      let out = folder.url.appending(path: "out")
      try FileManager.default.createDirectory(
        at: out.appending(path: "1.scarybug"), withIntermediateDirectories: true)
      let report = try journal.exportStore(.scarybugs, to: out)
      #expect(report.written == 8 && report.problems.count == 3 && report.isComplete)
      let written = try files(out)
      #expect(written.count == 8 && Set(written.map { $0.lowercased() }).count == 8)
      let texts = try written.filter { !$0.hasSuffix("data.plist") }.map {
        String(decoding: try Data(contentsOf: out.appending(path: $0)), as: UTF8.self)
      }
      #expect(texts.sorted() == names.indices.map { "picture \($0)" })
      #expect(
        try Data(contentsOf: out.appending(path: "1.scarybug/thumbImage.jpg")) == Data("picture 6".utf8))
    }
  }

  @Test func aBugWhoseFolderGetsAnotherNameIsReported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      // As a file system that distinguishes them has them.
      var store = LegacyStore(.scarybugs)
      store.lists = [ScaryBugReader.list]
      store.items = ["a.scarybug", "A.scarybug"].map { key in
        LegacyItem(
          list: ScaryBugReader.list, key: key, kind: "bug",
          attributes: ["title": .string(key), "rating": 1.0])
      }
      try journal.importStore(store)
      let report = try journal.exportStore(.scarybugs, to: folder.url.appending(path: "out"))
      #expect(report.items == 2 && report.problems.map(\.place) == ["A.scarybug"] && report.isComplete)
      #expect(report.problems[0].reason.contains("1.scarybug"))
    }
  }

  /// They were added once more, and one was said to be a deleted item that has changed in the file.
  @Test func exportedBugsAreRecognizedByTheirContents() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let blob = try journal.blobs.add(Made.png)
      try journal.importStore(.scaryBugs(in: export(journal, folder, "first")))
      // An export gives the new bug the number of the deleted one.
      try journal.commit { draft in
        try draft.deleteItem(1)
        let bug = try draft.addItem(kind: "bug", attributes: ["title": "New", "rating": 2])
        try draft.addImage(to: bug, name: "thumbnail", mediaType: "image/png", blob: blob)
        try draft.addItem(kind: "bug", attributes: ["title": "Other", "rating": 3])
      }
      let before = journal.state.contents
      let out = try export(journal, folder, "second")
      let report = try journal.importStore(.scaryBugs(in: out))
      #expect(report.problems.isEmpty && report.added == 0 && report.updated == 0 && report.deleted == 0)
      #expect(journal.state.contents == before)
      #expect(try journal.importStore(.scaryBugs(in: out)).revisions.isEmpty)
      // From now on, the app can delete them.
      let last = try export(journal, folder, "third")
      let newest = try #require(FileManager.default.contentsOfDirectory(atPath: last.path).max())
      try FileManager.default.removeItem(at: last.appending(path: newest))
      let removal = try journal.importStore(.scaryBugs(in: last))
      #expect(removal.problems.isEmpty && removal.deleted == 1)
    }
  }

  private func export(_ journal: CatalogJournal, _ folder: TemporaryFolder, _ name: String) throws -> URL {
    let out = folder.url.appending(path: name)
    try journal.exportStore(.scarybugs, to: out)
    return out
  }

  /// The path was shortened as a text, so the files were written elsewhere, and those of another app were imported.
  @Test func twoDotsAfterALinkLeadAboveItsTarget() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let files = FileManager.default
      try files.createDirectory(at: folder.url.appending(path: "far/deep"), withIntermediateDirectories: true)
      let link = folder.url.appending(path: "link").path
      try files.createSymbolicLink(atPath: link, withDestinationPath: "far/deep")
      try journal.exportStore(.scarybugs, to: URL(filePath: "\(link)/../out"))
      #expect(try self.files(folder.url.appending(path: "far/out")).count == 3)
      #expect(!files.fileExists(atPath: "\(folder.path)/out"))
      #expect(try LegacyStore.scaryBugs(in: URL(filePath: "\(link)/../out")).items.count == 1)
      let list = try PropertyListSerialization.data(
        fromPropertyList: [["title": "far"]], format: .xml, options: 0)
      _ = try folder.write("far/list.plist", list)
      #expect(
        try LegacyStore.propertyLists([URL(filePath: "\(link)/../list.plist")]).items.map {
          $0.attributes["title"]
        } == [.string("far")])
    }
  }

  @Test func aLinkInTheFolderIsNotWrittenThrough() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let victim = try folder.write("victim/data.plist", Data("precious".utf8))
      let out = folder.url.appending(path: "out")
      try FileManager.default.createDirectory(at: out, withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        at: out.appending(path: "1.scarybug"), withDestinationURL: victim.deletingLastPathComponent())
      for replacing in [false, true] {
        #expect(throws: LegacyError.self) {
          try journal.exportStore(.scarybugs, to: out, replacing: replacing)
        }
      }
      #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }
  }

  @Test func missingImagesAreReportedAndTheRestIsExported() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let blob = try #require(journal.state.image(2)?.blob)
      try Data("other bytes".utf8).write(to: journal.blobs.url(of: blob))
      let out = folder.url.appending(path: "out")
      let report = try journal.exportStore(.scarybugs, to: out)
      #expect(report.problems.map(\.place) == ["1.scarybug/fullImage.jpg"] && !report.isComplete)
      #expect(try files(out) == ["1.scarybug/data.plist", "1.scarybug/thumbImage.jpg"])
    }
  }

  @Test func manyFilesAreExportedReadableForOthersAndWithoutLeftovers() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      try journal.commit { draft in
        for number in 2...80 {
          try draft.addItem(
            kind: "bug", attributes: ["title": .string("Bug \(number)"), "rating": .double(1)])
        }
      }
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.scarybugs, to: out).written == 82)
      #expect(try LegacyStore.scaryBugs(in: out).items.count == 80)
      #expect(
        try FileManager.default.subpathsOfDirectory(atPath: out.path).allSatisfy { !$0.hasSuffix(".new") })
      for name in ["80.scarybug", "80.scarybug/data.plist"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: out.appending(path: name).path)
        let permissions = try #require(attributes[.posixPermissions] as? NSNumber)
        #expect(permissions.intValue & 0o444 == 0o444, "\(name)")
      }
    }
  }

  /// The file of each had the items of all.
  @Test func anExportHasNoItemsOfOtherSources() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let list = try folder.write("people", Made.persons([("Al", "1"), ("Ben", "2")]))
      try journal.importStore(.archives([list]))
      // Nothing was imported from preferences yet, so what there is becomes some.
      #expect(try journal.exportStore(.defaults, to: folder.url.appending(path: "first")).items == 2)
      let favorites = try Data(Made.persons([("Fay", "3")]))
      let preferences = try folder.write("prefs.plist", Made.propertyList(["favorites": favorites]))
      #expect(try journal.importStore(.defaults(preferences)).added == 1)
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.defaults, to: out).items == 1)
      #expect(try journal.exportStore(.archive, to: out).items == 2)
      let back = try LegacyStore.defaults(out.appending(path: "prefs.plist"))
      #expect(back.items.map(\.label) == ["Fay"])
      #expect(try LegacyStore.archives([out.appending(path: "people")]).items.map(\.label) == ["Al", "Ben"])
    }
  }

  /// The field was empty in the file, and the import of that file deleted the picture.
  @Test func aRenamedPictureStaysInItsField() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let note: [String: Any] = ["name": "A", "photo": Made.png]
      try journal.importStore(
        .propertyLists([folder.write("Notes.plist", Made.propertyList([note]))]))
      let person = Made.person("Ana", "1")
      person.set("photo", .data(Made.jpeg))
      try journal.importStore(
        .archives([folder.write("people", ArchiveNode.array([.node(person)]).archived())]))
      try journal.commit { draft in
        for image in draft.state.images { try draft.updateImage(image.id, name: "portrait") }
      }
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.plist, to: out).isComplete)
      #expect(try journal.exportStore(.archive, to: out).isComplete)
      #expect(try Made.read(out.appending(path: "Notes.plist")) as? NSArray == [note])
      let people = try LegacyStore.archives([out.appending(path: "people")])
      #expect(people.items[0].images.map(\.name) == ["photo"])
      #expect(try journal.importStore(.propertyLists([out.appending(path: "Notes.plist")])).revisions.isEmpty)
      #expect(try journal.importStore(people).revisions.isEmpty)
      #expect(journal.state.images.map(\.name) == ["portrait", "portrait"])
    }
  }

  /// Both were left out without a word.
  @Test func aPictureThatIsGoneOrHasNoPlaceInTheFileIsReported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let note: [String: Any] = ["name": "A", "photo": Made.png]
      try journal.importStore(
        .propertyLists([folder.write("Notes.plist", Made.propertyList([note]))]))
      let photo = try #require(journal.state.images.first { _ in true })
      let blob = try journal.blobs.add(Made.jpeg)
      let added = try journal.commit { draft in
        try draft.deleteImage(photo.id)
        return try draft.addImage(to: photo.item, name: "other", mediaType: "image/jpeg", blob: blob)
      }.value
      let report = try journal.exportStore(.plist, to: folder.url.appending(path: "out"))
      #expect(!report.isComplete)
      #expect(Set(report.problems.map(\.place)) == ["image:\(added)", "item:\(photo.item)"])
    }
  }

  /// The import of the exported files deleted the renamed picture.
  @Test func aRenamedFileOfABugIsNotDeletedByTheNextImport() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      try journal.importStore(.scaryBugs(in: export(journal, folder, "first")))
      try journal.commit { try $0.updateImage(2, name: "large") }
      let before = journal.state.contents
      try journal.importStore(.scaryBugs(in: export(journal, folder, "second")))
      #expect(journal.state.contents == before)
    }
  }

  @Test func readingNoFilesIsWrongUse() {
    let archives = #expect(throws: LegacyError.self) { try LegacyStore.archives([]) }
    let lists = #expect(throws: LegacyError.self) { try LegacyStore.propertyLists([]) }
    #expect(archives?.code == .wrongUse && lists?.code == .wrongUse)
    #expect(archives?.message == "no files were given; name at least one")
  }

  @Test func aStoreThatWasNeverImportedIsAnErrorWhenItIsNamed() throws {
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder)
      let out = folder.url.appending(path: "out")
      #expect(throws: LegacyError.self) { try journal.exportStore(.scarybugs, name: "tablet", to: out) }
      #expect(!FileManager.default.fileExists(atPath: out.path))
    }
  }
}
