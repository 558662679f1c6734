import CatalogModel
import Foundation
import TestSupport
import Testing

/// Files that other programs have put back, or left without their other half.
@Suite struct DoctorTests {
  private let files = FileManager.default

  @Test func entriesInFilesThatAreNoLongerPartOfTheLogAreNamed() throws {
    try withJournal { folder, path in
      let old = folder.path("Old.journal")
      try files.copyItem(atPath: path, toPath: old)
      let log = try logName(in: old)
      try addItem(to: path)
      let newest = try addItem(to: path)
      // LevelDB ignores a log with a number below that of its own.
      try files.copyItem(atPath: "\(path)/entries/\(log)", toPath: "\(old)/entries/000001.log")
      let lost = "entries up to \(newest), and the log ends with entry"
      let doctor = try check("doctor", old, code: 1, prints: lost)
      #expect(doctor.output.contains("salvage makes a journal"), "\(doctor)")
      let saved = folder.path("Saved.journal")
      #expect(try journal("salvage", old, "--to", saved).code == 0)
      #expect(try journal("doctor", saved).output.contains("all is well up to entry \(newest)"))
    }
  }

  @Test func aLayerAndASnapshotWithoutAFooterAreNamed() throws {
    try withJournal { _, path in
      #expect(try journal("snapshot", path, "take").code == 0)
      for name in try snapshots(in: path) where name.hasSuffix(".record") {
        try files.removeItem(atPath: "\(path)/snapshots/\(name)")
      }
      let doctor = try check("doctor", path, prints: "note: the snapshot has no footer")
      #expect(doctor.output.contains("note: the layer has no footer"), "\(doctor)")
      #expect(doctor.output.contains("all is well"), "\(doctor)")
      for name in try snapshots(in: path) { try files.removeItem(atPath: "\(path)/snapshots/\(name)") }
      #expect(try !journal("doctor", path).output.contains("footer"))
    }
  }

  @Test func aLayerAndASnapshotFromBeforeAnErasureAreNamed() throws {
    try withJournal { folder, path in
      #expect(try journal("snapshot", path, "take").code == 0)
      let old = folder.path("old")
      try files.copyItem(atPath: "\(path)/snapshots", toPath: old)
      #expect(try journal("erase", path, "item:1", "--reason", "by law").code == 0)
      for name in try files.contentsOfDirectory(atPath: old) {
        try files.copyItem(atPath: "\(old)/\(name)", toPath: "\(path)/snapshots/\(name)")
      }
      try addItem(to: path)
      let doctor = try check("doctor", path, prints: "note: the snapshot is from before an erasure")
      #expect(doctor.output.contains("note: the layer is from before an erasure"), "\(doctor)")
      for name in try snapshots(in: path) { try files.removeItem(atPath: "\(path)/snapshots/\(name)") }
      #expect(try !journal("doctor", path).output.contains("note: "))
    }
  }

  /// A journal with some items, whose log is in one file.
  private func withJournal(_ body: (TemporaryFolder, String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      try CatalogJournal.create(at: URL(filePath: path)).close()
      for _ in 0..<3 { try addItem(to: path) }
      try body(folder, path)
    }
  }

  /// - Returns: the revision of the new entry.
  @discardableResult
  private func addItem(to path: String) throws -> Int {
    let app = try CatalogJournal.open(at: URL(filePath: path))
    try app.commit { _ = try $0.addItem(kind: "book") }
    defer { try? app.close() }
    return app.head.revision
  }

  private func snapshots(in path: String) throws -> [String] {
    try files.contentsOfDirectory(atPath: "\(path)/snapshots")
  }

  private func logName(in path: String) throws -> String {
    try #require(files.contentsOfDirectory(atPath: "\(path)/entries").first { $0.hasSuffix(".log") })
  }
}
