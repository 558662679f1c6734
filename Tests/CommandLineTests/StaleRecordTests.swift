import CatalogModel
import Foundation
import TestSupport
import Testing

/// A file `ERASING` that was brought back, as by a program that syncs folders.
@Suite struct StaleRecordTests {
  @Test func doctorAndVerifyNameARecordThatWasBroughtBackAndTheNextOpeningRemovesIt() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("erase", path, "item:1", "--reason", "by law").code == 0)
      let app = try CatalogJournal.open(at: URL(filePath: path))
      let erasure = app.head
      let blob = try app.blobs.add(Data("hello".utf8))
      try app.commit { draft in
        let item = try draft.addItem(kind: "find")
        try draft.addImage(to: item, name: "again.png", mediaType: "image/png", blob: blob)
      }
      try app.close()
      let record = "\(path)/ERASING"
      let text = "erasing 1 \(erasure.revision) \(erasure.digest.hex)\n\(blob.digest.hex)\n"
      try Data(text.utf8).write(to: URL(filePath: record))
      let doctor = try check("doctor", path, prints: "Open the journal for writing")
      #expect(doctor.output.contains("note: another program has brought back the record"), "\(doctor)")
      let verify = try journal("verify", path)
      #expect(
        verify.code == 0 && (verify.output + verify.error).contains("the next opening for writing removes it")
      )
      #expect(try journal("gc", path).output == "removed 0 images of 0 bytes\n")
      #expect(!FileManager.default.fileExists(atPath: record))
      #expect(try journal("verify", path, "--deep").output.contains("all is well"))
      // One whose last line was cut.
      try Data(text.dropLast(3).utf8).write(to: URL(filePath: record))
      let found = try journal("doctor", path)
      #expect(found.code == 0 && found.output.contains("note: ERASING can't be parsed"), "\(found)")
      #expect(try journal("gc", path).output == "removed 0 images of 0 bytes\n")
      #expect(!FileManager.default.fileExists(atPath: record))
      #expect(try journal("verify", path, "--deep").output.contains("all is well"))
      // Its entry was pruned since.
      try Data(text.utf8).write(to: URL(filePath: record))
      #expect(try journal("prune", path, "--before", "HEAD").code == 0)
      try Data(text.utf8).write(to: URL(filePath: record))
      #expect(try journal("tag", path, "kept").code == 0)
      #expect(!FileManager.default.fileExists(atPath: record))
      #expect(try journal("verify", path, "--deep").output.contains("all is well"))
    }
  }
}
