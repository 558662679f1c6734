import Foundation
import KeyedArchiving
import TestSupport
import Testing

/// With the default limits, damaged archives give errors or other values, and never end the process.
@Suite struct ArchiveFuzzTests {
  private let archives: [[UInt8]]

  init() throws {
    archives = try KeyedCorpus.files().filter { $0.semantics != "-" || $0.name.contains("Dracula") }
      .map { [UInt8](try Data(contentsOf: $0.url)) }
      .filter { $0.count < 30_000 }
  }

  @Test func damagedArchivesAreReadOrRefused() throws {
    var random = SeededGenerator()
    let rounds = ProcessInfo.processInfo.environment["JOURNAL_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 200
    var opened = 0
    for _ in 0..<rounds {
      var bytes = archives.randomElement(using: &random)!
      for _ in 0..<Int.random(in: 1...6, using: &random) { damage(&bytes, &random) }
      if read(bytes) { opened += 1 }
    }
    #expect(opened > rounds / 20, "too much damage to test anything")
  }

  private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    let position = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[position] = UInt8.random(in: 0...255, using: &random)
    // A reference to another object, or a marker with another count. Most references are small numbers.
    case 2, 3: bytes[position] = UInt8.random(in: 0..<40, using: &random)
    case 4: bytes[position] = bytes[position] & 0xF0 | UInt8.random(in: 0..<16, using: &random)
    case 5: bytes[position] = bytes.randomElement(using: &random)!
    default:
      // Other contents of the same length. Numbers, names and offsets change, the structure stays.
      let length = min(Int.random(in: 1...8, using: &random), bytes.count - position)
      let source = Int.random(in: 0...(bytes.count - length), using: &random)
      bytes.replaceSubrange(position..<position + length, with: Array(bytes[source..<source + length]))
    }
  }

  /// Reads everything that can be read, and returns whether the archive could be opened.
  private func read(_ bytes: [UInt8]) -> Bool {
    guard let list = try? PropertyList(ArchiveBytes(bytes)) else { return false }
    _ = try? list.embeddedArchives().map { ($0.keyPath, try? $0.archive?.inspect()) }
    guard let archive = try? KeyedArchive(list) else { return false }
    _ = try? archive.topKeys
    _ = try? archive.inspect()
    for uid in 0..<min(archive.objectCount, 2000) {
      if let value = try? archive.object(uid) { tryAllViews(of: value) }
    }
    if let root = try? archive.root {
      _ = try? KeyedArchiveDecoder().decode(Anything.self, from: root)
    }
    return true
  }

  /// Any contents of an archive, decoded as a tree.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: AnyKey.self) {
        for key in container.allKeys { _ = try container.decodeIfPresent(Anything.self, forKey: key) }
      } else if var container = try? decoder.unkeyedContainer() {
        while !container.isAtEnd {
          if try !container.decodeNil() { _ = try container.decode(Anything.self) }
        }
      }
    }
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }
}

/// Uses every view of a value, and the elements of collections.
func tryAllViews(of value: ArchivedValue) {
  _ = (value.isNull, value.kind, value.integer, value.bool)
  _ = (try? value.string, try? value.double, try? value.decimal, try? value.data, try? value.date)
  _ = (try? value.uuid, try? value.url, try? value.color, try? value.color?.rgba, try? value.location)
  _ = try? value.attributedString
  _ = (try? value.indexPath, try? value.indexSet)
  _ = (try? value.array?.elements(), try? value.set?.elements(), try? value.countedSet)
  _ = (try? value.dictionary?.pairs(), try? value.hashTable?.elements())
  if case .object(let object) = value {
    for key in (try? object.keys) ?? [] { _ = (try? object[key], try? object.reference(forKey: key)) }
    _ = try? object.unkeyedValues.elements()
  }
}
