import CBOR
import Foundation
import PropertyLists
import TestSupport
import Testing

@testable import Journaling

/// The entities of a layer in its blocks, against a plain list of the same versions.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct EntityBlocksTests {
  private typealias Version = (number: Int, revision: Revision, row: EntityRow?)

  /// Versions in the order of numbers and then of revisions; those without a row are deletions.
  private struct Given: LayerSource {
    let all: [Version]

    func versions(_ kind: Int) -> VersionCursor {
      var rest = all[...]
      return { () throws(ArchiveError) in
        rest.popFirst().map { version in
          EntityVersion(
            number: version.number, revision: version.revision,
            content: version.row.map { .row($0) } ?? .deleted(isErased: version.number % 2 == 0))
        }
      }
    }

    func rows(_ kind: Int) -> RowReader { { (version) throws(ArchiveError) in version.row } }
    func lines(_ index: Int) -> LineCursor { { () throws(ArchiveError) in nil } }
    func texts(_ list: Int) -> [String] { [] }
  }

  private static let shape = StateShape(
    schema: "sample/1", kinds: ["sample"], fieldNames: [["name"]], indexes: [], lists: [])

  /// The archive of a layer that keeps all versions.
  private static func archive(_ versions: [Version]) throws -> [UInt8] {
    let revisions = Set(versions.map(\.revision)).sorted()
    let highest = versions.map(\.number).max() ?? 0
    func checkpoint(_ revision: Revision) -> LayerCheckpoint {
      LayerCheckpoint(
        revision: revision, eventCount: revision,
        tables: [.init(highest: highest, count: 0, deletionCount: 0, erasedCount: 0)], textCounts: [])
    }
    let header = LayerHeader(
      journal: JournalID(), shape: shape,
      head: Head(revision: revisions.last ?? 0, timestamp: Timestamp(microseconds: 0), digest: .zero),
      start: .start(shape), checkpoints: revisions.map(checkpoint))
    var bytes: [UInt8] = []
    _ = try unsafe LayerWriter.write([Given(all: versions)], header) {
      unsafe bytes.append(contentsOf: $0)
    }
    return bytes
  }

  private static func open(_ bytes: [UInt8], _ versions: [Version]) throws(ArchiveError) -> LayerFile {
    try LayerFile(ArchiveBytes(bytes), revision: versions.map(\.revision).max() ?? 0, shape: shape)
  }

  /// Entities with some versions each, which mostly differ in one part.
  private static func versions(
    _ entityCount: Int, versionLimit: Int, byteLimit: Int, _ random: inout SeededGenerator
  ) -> [Version] {
    var versions: [Version] = []
    var number = 0
    for _ in 0..<entityCount {
      number += Int.random(in: 1...3, using: &random)
      var revision = 0
      var created = 0
      var attributes: [String: FieldValue] = [:]
      for part in 0..<Int.random(in: 0...6, using: &random) {
        let text = String(
          repeating: "\(number) ", count: .random(in: 0...max(byteLimit / 4, 1), using: &random))
        attributes["part \(part)"] = .string(text)
      }
      for _ in 0..<Int.random(in: 1...versionLimit, using: &random) {
        revision += Int.random(in: 1...300, using: &random)
        if Int.random(in: 0..<8, using: &random) == 0 {
          versions.append((number, revision, nil))
          created = 0
          continue
        }
        if created == 0 { created = revision }
        attributes["turn"] = .integer(Int64(revision))
        if Int.random(in: 0..<5, using: &random) == 0 { attributes["turn"] = nil }
        let record = EntityRecord(attributes, fields: [0: .string("kind \(number % 3)")])
        versions.append((number, revision, EntityRow(record: record, created: created, modified: revision)))
      }
    }
    return versions
  }

  private static func all(_ cursor: VersionCursor, _ rows: RowReader) throws -> [Version] {
    var found: [Version] = []
    while let version = try cursor() {
      found.append((version.number, version.revision, try rows(version)))
      #expect(version.isErased == (found.last?.row == nil && version.number % 2 == 0))
    }
    return found
  }

  private static func isSame(_ left: [Version], _ right: [Version]) -> Bool {
    left.elementsEqual(right) { $0.number == $1.number && $0.revision == $1.revision && $0.row == $1.row }
  }

  @Test(arguments: [(300, 4, 40), (60, 60, 20), (3, 5_000, 8), (20, 40, 20_000), (1, 1, 4), (2_000, 1, 0)])
  func theBlocksHaveTheVersions(_ entityCount: Int, _ versionLimit: Int, _ byteLimit: Int) throws {
    var random = SeededGenerator(#function)
    let versions = Self.versions(entityCount, versionLimit: versionLimit, byteLimit: byteLimit, &random)
    let file = try Self.open(try Self.archive(versions), versions)
    #expect(Self.isSame(try Self.all(file.versions(0), file.rows(0)), versions))

    let numbers = Set(versions.map(\.number))
    let last = versions.map(\.revision).max() ?? 0
    for _ in 0..<30 {
      let revision = Int.random(in: 0...last + 1, using: &random)
      let from = Int.random(in: 0...(numbers.max() ?? 0) + 2, using: &random)
      var newest: [Int: Version] = [:]
      for version in versions where version.revision <= revision { newest[version.number] = version }
      let expected = newest.values.filter { $0.number >= from }.sorted { $0.number < $1.number }
      let found = try Self.all(file.newestVersions(0, from: from, asOf: revision), file.rows(0))
      #expect(Self.isSame(found, expected), "as of \(revision) from \(from)")
      // Looked up at random, by one reader and by a new one each time.
      let rows = file.rows(0)
      for _ in 0..<40 {
        let number = Int.random(in: 0...(numbers.max() ?? 0) + 2, using: &random)
        let version = try file.version(0, number, asOf: revision)
        #expect(version?.revision == newest[number]?.revision)
        #expect(try file.row(0, number, asOf: revision) == newest[number].map { $0.row })
        if let version { #expect(try rows(version) == newest[number]?.row) }
      }
    }
  }

  /// The versions of a large entity do not repeat it.
  @Test func smallChangesOfALargeEntityTakeFewBytes() throws {
    let text = FieldValue.string(String(repeating: "long ", count: 20_000))
    let versions = (1...500).map { revision -> Version in
      let record = EntityRecord(["text": text, "turn": .integer(Int64(revision))])
      return (1, revision, EntityRow(record: record, created: 1, modified: revision))
    }
    let bytes = try Self.archive(versions)
    // Each block has it once.
    #expect(bytes.count < 5 * 100_000)
    let file = try Self.open(bytes, versions)
    #expect(Self.isSame(try Self.all(file.versions(0), file.rows(0)), versions))
  }

  /// Checksums do not help against a forged file, because anyone can compute them.
  @Test func alteredBlocksGiveErrorsOrEntities() throws {
    var random = SeededGenerator(#function)
    let versions = Self.versions(40, versionLimit: 6, byteLimit: 40, &random)
    let bytes = try Self.archive(versions)
    var failureCount = 0
    for _ in 0..<1_500 {
      var altered = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        altered[Int.random(in: altered.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      do throws(ArchiveError) {
        let file = try Self.open(altered, versions)
        for revision in [1, 200, 1_000] {
          let cursor = try file.newestVersions(0, from: 0, asOf: revision)
          let rows = file.rows(0)
          var last = 0
          while let version = try cursor() {
            #expect(version.number > last && version.revision > 0)
            last = version.number
            guard let row = try rows(version) else { continue }
            #expect(throws: Never.self) { try row.record.checkEncoding() }
          }
          for number in 0...120 {
            if let version = try file.version(0, number, asOf: revision) { _ = try rows(version) }
            _ = try file.row(0, number, asOf: revision)
          }
        }
      } catch {
        failureCount += 1
      }
    }
    #expect(failureCount > 100)
  }
}
