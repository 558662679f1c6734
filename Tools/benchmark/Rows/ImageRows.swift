import CatalogModel
import Foundation

/// Adding images, against writing and flushing the same files: each in its own commit, as a person adds them, and all
/// in one commit, as an import does.
func imageRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if bench.rows.contains(.images) {
    rows.append(try await imageRow(bench, .images, oneCommit: false))
  }
  if bench.rows.contains(.imagesImport) {
    rows.append(try await imageRow(bench, .imagesImport, oneCommit: true))
  }
  return rows
}

private func imageRow(_ bench: Workbench, _ name: RowName, oneCommit: Bool) async throws -> ReportRow {
  let count = oneCommit ? (bench.isQuick ? 200 : 1_000) : (bench.isQuick ? 30 : 150)
  let url = bench.newPath("images.journal")
  let journal = try CatalogJournal.create(at: url)
  let folder = try bench.newFolder("files")
  defer {
    try? journal.close()
    bench.discard(url)
    bench.discard(folder)
  }
  let item = try await journal.commit { try $0.addItem(kind: SampleData.kind) }.value
  let content = SampleData.bytes(count: 1 << 20, seed: bench.seed)
  var stamp: UInt64 = 0

  let race = Race(
    work: oneCommit ? "images, one commit" : "images, a commit each",
    operations: count, roundLimit: 3,
    contestants: [
      Contestant(name: "Journal") { count in
        stamp += UInt64(count)
        let first = stamp
        return try timedThreads(1) { _ in
          try addImages(content, count: count, firstStamp: first, oneCommit: oneCommit, to: item, of: journal)
        }
      },
      // Durable at the same moments as the journal's: the folder is flushed as often as an entry is.
      Contestant(name: oneCommit ? "files, folder flushed once" : "files, folder flushed each") { count in
        stamp += UInt64(count)
        return try FilesPeer.write(
          content, count: count, firstStamp: stamp, flushFolderEach: !oneCommit, in: folder)
      },
    ])
  let results = try await race.run(on: bench)
  let how = oneCommit ? "one commit for \(race.operations)" : "a commit each"
  return ReportRow(
    name, "adding images of 1 MB, \(how)", unit: "images",
    of: results, against: [(1, .atLeast(0.7))])
}

/// Adds images that differ in their first 8 bytes.
private func addImages(
  _ content: Data, count: Int, firstStamp: UInt64, oneCommit: Bool, to item: Catalog.Item.ID,
  of journal: CatalogJournal
) throws {
  var content = content
  var blobs: [Blob] = []
  func commit() throws {
    try journal.commit { draft in
      for blob in blobs {
        _ = try draft.addImage(to: item, name: "photo.jpg", mediaType: "image/jpeg", blob: blob)
      }
    }
    blobs.removeAll()
  }
  // An import adds several at a time; a person one.
  let together = oneCommit ? 16 : 1
  for start in stride(from: 0, to: count, by: together) {
    let images = (start..<min(start + together, count)).map { number in
      let stamp = firstStamp + UInt64(number)
      for index in 0..<8 { content[index] = UInt8(truncatingIfNeeded: stamp >> (8 * UInt64(index))) }
      return content
    }
    blobs += try journal.blobs.add(images)
    if !oneCommit { try commit() }
  }
  if oneCommit { try commit() }
}
