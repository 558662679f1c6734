import CatalogModel
import Foundation
import TestSupport
import Testing

/// Journals in memory.
@Suite struct InMemoryTests {
  @Test func allThatAJournalDoesWorksInMemory() async throws {
    let journal = try CatalogJournal.inMemory()
    var states = journal.states.makeAsyncIterator()
    #expect(await states.next()?.items.first { _ in true } == nil)
    let cup = try await journal.commit(by: "ana", note: "found") { draft in
      try draft.addItem(kind: "cup", attributes: ["name": "Café"])
    }.value
    #expect(await states.next()?.item(cup)?["name"]?.string == "Café")
    let photo = Data("a photo".utf8)
    let blob = try journal.blobs.add(photo)
    try await journal.commit(by: "ana") { draft in
      _ = try draft.addImage(to: cup, name: "cup.jpg", mediaType: "image/jpeg", blob: blob)
    }
    try await journal.commit(by: "bob") { try $0.updateItem(cup, set: ["name": "Tasse"]) }

    #expect(try journal.state(asOf: .head(back: 1)).item(cup)?["name"]?.string == "Café")
    #expect(try journal.history(of: .item(cup)).count == 2)
    #expect(try journal.diff(from: .revision(1), to: .head()).count == 2)
    let plan = try #require(try journal.planUndo(by: "bob"))
    try await journal.commit(plan, by: "bob")
    #expect(journal.state.item(cup)?["name"]?.string == "Café")
    #expect(try journal.blobs.data(of: blob) == photo)
    #expect(try Data(contentsOf: journal.blobs.url(of: blob)) == photo)
    let found = try journal.verify(deep: true)
    #expect(found.isSound && found.blobCount == 1, "\(found.problems)")

    // It can be copied to a folder.
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Kept.journal")
      try journal.copy(to: url)
      let kept = try CatalogJournal.open(at: url, checking: .everything)
      #expect(kept.head == journal.head)
      #expect(try kept.blobs.data(of: blob) == photo)
      try kept.close()
    }
    try journal.close()
    await #expect(throws: JournalError.self) { try await journal.commit { try $0.deleteItem(cup) } }
    // A state can still be read after its journal was closed.
    let last = journal.state
    #expect(last.item(cup)?["name"]?.string == "Café")
  }

  @Test func releasingAJournalInMemoryRemovesItsFolder() throws {
    var journal: CatalogJournal? = try .inMemory()
    let url = try #require(journal?.url)
    _ = try journal?.blobs.add(Data("a photo".utf8))
    #expect(FileManager.default.fileExists(atPath: url.path))
    journal = nil
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func twoJournalsInMemoryAreIndependent() throws {
    let (one, other) = (try CatalogJournal.inMemory(), try CatalogJournal.inMemory())
    try one.commit { _ = try $0.addItem(kind: "cup") }
    #expect(one.id != other.id && one.head.revision == 1 && other.head.revision == 0)
    try one.close()
    try other.commit { _ = try $0.addItem(kind: "cup") }
    try other.close()
  }
}
