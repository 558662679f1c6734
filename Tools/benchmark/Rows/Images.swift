import CatalogModel
import Files
import Foundation

/// Measures adding images, with a commit for each or one for all, against writing and flushing the same files.
func images(_ bench: Workbench, oneCommit: Bool) async throws {
  let count = oneCommit ? (bench.isQuick ? 200 : 1_000) : (bench.isQuick ? 30 : 150)
  let journal = try CatalogJournal.create(at: bench.path("images.journal"))
  let item = try await journal.commit { try $0.addItem(kind: Sample.kind) }.value
  let files = bench.path("files")
  try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
  let folder = try Folder<PeerFailure>(files.path, followsLinks: true, hook: nil)

  // Bytes that no file system can compress.
  var random = SeededGenerator(seed: bench.seed)
  var content = Data((0..<1 << 17).flatMap { _ in withBytes(of: random.next()) })
  var stamp: UInt64 = 0
  /// An image whose first bytes differ from those of every image before it.
  func image() -> Data {
    stamp += 1
    content.replaceSubrange(0..<8, with: withBytes(of: stamp))
    return content
  }
  func addImages() throws {
    var blobs: [Blob] = []
    func commit() throws {
      try journal.commit { draft in
        for blob in blobs {
          _ = try draft.addImage(to: item, name: "photo.jpg", mediaType: "image/jpeg", blob: blob)
        }
      }
      blobs.removeAll()
    }
    // As many images as an import adds at a time.
    let together = oneCommit ? 16 : 1
    for start in stride(from: 0, to: count, by: together) {
      blobs += try journal.blobs.add((start..<min(start + together, count)).map { _ in image() })
      if !oneCommit { try commit() }
    }
    if oneCommit { try commit() }
  }
  func writeFiles() throws {
    for _ in 0..<count {
      let image = image()
      let file = try folder.file("\(stamp)", .creating)
      try unsafe image.withUnsafeBytes { try unsafe file.write($0, at: 0) }
      try file.flush()
      if !oneCommit { try folder.flush() }
    }
    if oneCommit { try folder.flush() }
  }
  let how = oneCommit ? "one commit for \(count)" : "a commit each"
  var race = Race(bench, "adding images of 1 MB, \(how)", operations: count, rounds: 3)
  race.add("Journal") { try timed(addImages) }
  // The folder is flushed once for each entry of the journal.
  race.add(oneCommit ? "files, folder flushed once" : "files, folder flushed each") { try timed(writeFiles) }
  try await race.report(.rate("images"), .against(1, atLeast: 0.7))
}

private func withBytes(of word: UInt64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
}
