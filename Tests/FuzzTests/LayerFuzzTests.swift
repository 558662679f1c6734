import CBOR
import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// Alters archives of layers and corrects the checksums, as only an attacker does. Such a layer can give a wrong state,
/// which `verify(.deep)` finds. But it can't end the process, and reading it takes bounded time.
@Suite struct LayerFuzzTests {
  @Test(.timeLimit(.minutes(60))) func anAlteredArchiveIsRefusedOrReplacedOrRead() throws {
    let seed = SeededGenerator().seed
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder, seed)
      let archive = try ForgedArchive(journal)
      #expect(archive.look(archive.bytes) == .read)
      var outcomes: [ForgedArchive.Outcome: Int] = [:]
      var mutator = Mutator(seed: seed)
      for _ in cases(1500) { outcomes[archive.look(archive.altered(by: &mutator)), default: 0] += 1 }
      print("altered archives of \(archive.bytes.count) bytes: \(outcomes)")
      for outcome in [ForgedArchive.Outcome.refused, .replaced, .read] {
        #expect(outcomes[outcome, default: 0] > 0)
      }
      try journal.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) func aJournalOpensWhateverItsLayerSays() throws {
    let seed = SeededGenerator().seed
    try withTemporaryFolder { folder in
      let journal = try makeJournal(folder, seed)
      let url = journal.url
      try journal.dropSnapshot(at: journal.takeSnapshot().revision)
      journal.waitForLayers()
      let archive = try ForgedArchive(journal)
      let layer = try #require(journal.chain.layers.last)
      let (name, footer) = (layer.name, try #require(layer.footer))
      try journal.close()
      var mutator = Mutator(seed: seed)
      for round in cases(60) {
        let altered = archive.altered(by: &mutator)
        try forge(name, footer, altered, url)
        var policy = LayerPolicy.manual
        policy.memoryByteCount = round % 2 == 0 ? 0 : 1 << 20
        let opened = try CatalogJournal.open(at: url, options: JournalOptions(layers: policy))
        #expect(opened.head == archive.version.head)
        let problems = try opened.verify(.deep).problems
        let isAltered = altered != archive.bytes
        // A text for people, or bytes between objects, are not part of the state.
        #expect(problems.isEmpty || isAltered)
        // If the state that it gives is wrong, that is a problem of the folder.
        let snapshots = url.appending(path: "snapshots")
        let paths = [snapshots.appending(path: name.fileName).path, snapshots.path]
        #expect(problems.allSatisfy { paths.contains($0.path ?? "") }, "\(problems)")
        _ = opened.state.problems()
        try opened.takeSnapshot(asOf: .revision(2))
        try opened.close()
      }
    }
  }

  private func makeJournal(_ folder: TemporaryFolder, _ seed: UInt64) throws -> CatalogJournal {
    var random = SeededGenerator(seed: seed)
    let journal = try CatalogJournal.create(
      at: folder.url.appending(path: "Log.journal"), options: JournalOptions(layers: .manual))
    let blob = try journal.blobs.add(Data("blob".utf8))
    try journal.commit { draft in
      for number in 1...4 { _ = try draft.addCategory(name: "category \(number)", color: nil) }
      for number in 1...24 {
        _ = try draft.addItem(
          kind: ["one", "two", "zwölf"][number % 3],
          category: number % 5 == 0 ? nil : EntityID(1 + number % 4),
          attributes: ["name": .string("item \(number)"), "any": .random(using: &random)])
      }
    }
    try journal.commit { draft in
      for item in 1...4 {
        _ = try draft.addImage(to: EntityID(item), name: "image \(item)", mediaType: "image/png", blob: blob)
      }
    }
    try journal.commit { draft in
      for item in [2, 3, 11, 24] { try draft.deleteItem(EntityID(item)) }
      try draft.deleteCategory(3)
      try draft.updateItem(5, set: ["name": .string("$null"), "list": .array([.null, .integer(1)])])
    }
    return journal
  }

  /// Replaces the bytes of a layer, and writes a footer with checksums that match them. The journal must be closed.
  private func forge(_ name: LayerName, _ footer: LayerFooter, _ bytes: [UInt8], _ url: URL) throws {
    try Data(bytes).write(to: url.appending(path: "snapshots/\(name.fileName)"))
    let journal = try CatalogJournal.open(at: url, mode: .readOnly)
    defer { try? journal.close() }
    var footer = footer
    footer.byteCount = bytes.count
    footer.pageChecksums = stride(from: 0, to: bytes.count, by: LayerFooter.pageByteCount).map { start in
      CRC32C.checksum(bytes[start..<min(start + LayerFooter.pageByteCount, bytes.count)])
    }
    try journal.chain.footers.write(name, footer)
  }
}
