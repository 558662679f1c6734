import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
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
    let found = try journal.verify(.deep)
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

  /// The folder of a journal in a global variable stayed for ever.
  @Test func aLaterJournalRemovesTheFolderOfOneWhoseProcessEnded() throws {
    let files = FileManager.default
    let journal = try CatalogJournal.inMemory()
    let place = journal.url.deletingLastPathComponent()
    let id = UUID().uuidString.lowercased()
    func url(_ name: String) -> URL { place.appending(path: name, directoryHint: .isDirectory) }
    let old = ["Memory-1-\(id).journal", "Memory-1-\(id).journal.\(id).new"]
    // It would be old after a minute.
    let soon = Int(Date().timeIntervalSince1970) + 3_600
    let others = ["Memory-\(soon)-\(id).journal", "Memory-1-\(id).journal.old"]
    for name in old + others {
      // Journals of other tests may remove it as soon as it has its name.
      let copy = url("copy-\(UUID())")
      try files.copyItem(at: journal.url, to: copy)
      try files.moveItem(at: copy, to: url(name))
    }
    defer { for name in others { try? files.removeItem(at: url(name)) } }
    let open = url("Memory-2-\(id).journal")
    try files.moveItem(at: journal.url, to: open)

    try CatalogJournal.inMemory().close()
    for name in old {
      // A journal of another test may be removing it just now.
      for _ in 0..<3000 where files.fileExists(atPath: url(name).path) { usleep(10_000) }
      #expect(!files.fileExists(atPath: url(name).path), "\(name)")
    }
    for name in others { #expect(files.fileExists(atPath: url(name).path), "\(name)") }
    #expect(files.fileExists(atPath: open.path))
    try journal.close()
    #expect(!files.fileExists(atPath: open.path))
  }

  /// The folder stayed: that of a creation that failed, and that of a journal whose removal failed. In a process of its
  /// own, because other tests need descriptors.
  @Test func withTooFewDescriptorsNoFolderIsLeft() async {
    await #expect(processExitsWith: .success) {
      try withTemporaryFolder { folder in
        unsafe setenv("TMPDIR", folder.path, 1)
        try #require(FileManager.default.temporaryDirectory.path.hasPrefix(folder.path))
        var (failed, made) = (0, 0)
        for count in 3...60 {
          withDescriptors(atMost: count) {
            do {
              try CatalogJournal.inMemory().close()
              made += 1
            } catch {
              #expect((error as? JournalError)?.code == .outOfResources, "\(count) descriptors: \(error)")
              failed += 1
            }
          }
          let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
          #expect(left == [], "\(count) descriptors")
        }
        #expect(failed > 0 && made > 0)
      }
    }
  }

  /// Pruning said to close the journal first, and reading that HEAD is missing.
  @Test func whatNeedsTheJournalClosedSaysThatItIsInMemory() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { _ = try $0.addItem(kind: "cup") }
    let url = journal.url
    var attempts: [() throws -> Void] = [
      { _ = try CatalogJournal.prune(before: .head(), at: url) },
      { _ = try CatalogJournal.prune(before: .head(), at: url, isDryRun: true) },
      { _ = try CatalogJournal.erase([.item(1)], at: url, reason: "by law") },
      { _ = try CatalogJournal.collectGarbage(at: url) },
      { _ = try CatalogJournal.openUpToDamage(at: url) },
    ]
    for mode in [CatalogJournal.Mode.readWrite, .readOnly, .follow] {
      attempts.append { _ = try CatalogJournal.open(at: url, mode: mode) }
    }
    for attempt in attempts {
      let error = #expect(throws: JournalError.self) { try attempt() }
      #expect(error?.code == .wrongUse)
      #expect(error?.message.contains("is in memory") == true, "\(String(describing: error))")
    }
    #expect(journal.state.itemCount == 1)
    try journal.close()
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
