import CBOR
import CatalogModel
import Foundation
import PropertyLists
import TestSupport

@testable import Journaling

/// The archive of a small catalog, and what reading it gives if it was altered and checksums are not compared.
struct ForgedArchive {
  /// The catalog, as the log has it.
  let version: Version<Catalog>
  let bytes: [UInt8]
  private let id: JournalID

  init(_ journal: CatalogJournal) throws {
    version = journal.version
    id = journal.id
    bytes = try Self.archive(version.state, version.head, id)
  }

  private static func archive(_ state: Catalog, _ head: Head, _ id: JournalID) throws -> [UInt8] {
    guard let parts = state.parts, let shape = StateShape(Catalog.self) else { return [] }
    let header = LayerHeader(
      journal: id, shape: shape, head: head, start: .start(shape),
      checkpoints: [LayerCheckpoint(revision: head.revision, eventCount: 0, parts)],
      indexes: [names, words])
    var bytes: [UInt8] = []
    _ = try unsafe LayerWriter.write([WholeState(parts: parts, revision: head.revision)], header) {
      piece in
      unsafe bytes.append(contentsOf: piece)
    }
    return bytes
  }

  /// An index on the names of some of the items.
  private static let names = IndexDefinition(
    IndexScope(table: 1, field: 0, text: "two"), AttributePath(["name"]))
  private static let words = IndexDefinition(names.scope, names.path, .words)

  // MARK: Altering

  /// Where an object begins.
  private func offset(_ number: Int) -> Int { self.number(tableStart + number * offsetWidth, offsetWidth) }
  private var offsetWidth: Int { Int(bytes[bytes.count - 26]) }
  private var objectCount: Int { number(bytes.count - 24, 8) }
  private var tableStart: Int { number(bytes.count - 8, 8) }

  private func number(_ start: Int, _ width: Int) -> Int {
    bytes[start..<start + width].reduce(0) { $0 << 8 | Int($1) }
  }

  /// The bytes with a few changes, most of them to the offsets and heads of objects.
  func altered(by mutator: inout Mutator) -> [UInt8] {
    var altered = bytes
    for _ in 0..<Int.random(in: 1...3, using: &mutator.random) {
      let object = Int.random(in: 0..<objectCount, using: &mutator.random)
      let (entry, start) = (tableStart + object * offsetWidth, offset(object))
      switch Int.random(in: 0..<8, using: &mutator.random) {
      case 0:
        return mutator.mutate(altered)
      case 1:
        // An object becomes another one.
        let other = tableStart + Int.random(in: 0..<objectCount, using: &mutator.random) * offsetWidth
        for index in 0..<offsetWidth { altered[entry + index] = bytes[other + index] }
      case 2:
        // The object gets another kind or another length.
        altered[start] = UInt8.random(in: .min ... .max, using: &mutator.random)
      case 3:
        altered[start] = altered[start] & 0xF0 | UInt8.random(in: 0..<16, using: &mutator.random)
      case 4:
        altered[bytes.count - Int.random(in: 1...32, using: &mutator.random)] ^=
          1 << UInt8.random(in: 0..<8, using: &mutator.random)
      default:
        // A reference, a number or a letter in the object changes.
        let index = min(start + Int.random(in: 1...40, using: &mutator.random), tableStart - 1)
        altered[index] =
          Bool.random(using: &mutator.random)
          ? altered[index] &+ 1 : UInt8.random(in: .min ... .max, using: &mutator.random)
      }
    }
    return altered
  }

  // MARK: Reading

  enum Outcome { case refused, replaced, read }

  /// Opens altered bytes as a layer, and does everything with them that can be done with a state.
  func look(_ altered: [UInt8]) -> Outcome {
    let revision = version.revision
    guard let truth = version.state.parts, let shape = StateShape(Catalog.self),
      let contents = try? LayerFile(ArchiveBytes(altered), revision: revision, shape: shape)
    else { return .refused }
    let replaced = Flag()
    let checkpoint = LayerCheckpoint(revision: revision, eventCount: 0, truth)
    let footer = LayerFooter(
      byteCount: altered.count, pageChecksums: [], entryDigest: version.digest, schema: Catalog.schema,
      generation: 1, start: .start(shape), checkpoints: [checkpoint])
    let faults = ReadFaults()
    let layer = Layer(LayerName(from: 0, to: revision), footer, contents, faults: faults) {
      [bytes] (_) throws(JournalError) in
      replaced.isSet = true
      guard let whole = try? LayerFile(ArchiveBytes(bytes), revision: revision, shape: shape) else {
        throw JournalError(.io, "the archive can't be read")
      }
      return whole
    }
    let stack = LayerStack([layer], at: checkpoint, faults: faults)
    guard let lists = (try? stack.lists(shape)) ?? nil, let state = Catalog(parts: stack.parts(shape, lists))
    else { return .refused }
    read(state)
    _ = try? Self.archive(state, version.head, id)
    change(state)
    return replaced.isSet ? .replaced : .read
  }

  private func read(_ state: Catalog) {
    var count = 0
    for item in state.items {
      count += item.attributes.count + item.kind.utf8.count + (item.category?.number ?? 0) % 7
    }
    for category in state.categories {
      count += state.items(in: category.id).reduce(0) { $0 + $1.id.number % 7 }
    }
    for image in state.images { count += image.name.utf8.count + image.mediaType.utf8.count }
    for kind in state.kinds { count += state.items(ofKind: kind).reduce(0) { sum, _ in sum + 1 } }
    for kind in 0..<UInt8(4) {
      for number in [.min, -1, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, .max - 1, .max] {
        let entity = EntityKey(kind: EntityKind(rawValue: kind), number: number)
        count += state.record(of: entity)?.bytes.count ?? 0
        count += state.revision(of: entity) % 7
      }
    }
    for item in 0..<60 { count += state.images(of: EntityID(item)).reduce(0) { sum, _ in sum + 1 } }
    if let items = state.parts?.tables[1], let index = LayeredIndex(items, Self.names) {
      for reversed in [false, true] {
        var lines = index.makeIterator(in: ValueRange.all.lines, reversed: reversed)
        while let line = lines.next() { count += line.member % 7 }
      }
      count += ValueIndex(items, Self.names).count
    }
    if let items = state.parts?.tables[1], let index = TextIndex(inLayersOf: items, Self.words) {
      for word in ["item", "1", "17", ""] {
        for isPrefix in [false, true] { count += index.hits(ofAll: [(Array(word.utf8), isPrefix)]).count }
      }
    }
    count += state.problems().count
    _ = StateDigest.digest(of: state)
  }

  /// Commits to the state, as far as that is possible without a disk.
  private func change(_ state: Catalog) {
    var draft = Draft(base: Version(head: version.head, state: state), date: version.head.date)
    for item in state.items.prefix(12) {
      try? draft.updateItem(item.id, set: ["altered": .bool(true)])
      if item.id.number % 3 == 0 { try? draft.deleteItem(item.id) }
    }
    for category in state.categories.prefix(3) { try? draft.deleteCategory(category.id) }
    for number in 1...4 { _ = try? draft.addItem(kind: "kind \(number)") }
    read(draft.state)
    guard let (events, after) = try? draft.finish() else { return }
    read(after)
    let header = EntryHeader(
      date: version.head.timestamp, clockDate: version.head.timestamp, schemaVersion: 1,
      previousDigest: version.digest)
    var salts = RandomBytes()
    _ = try? EntryCoding.seal(
      header, EntryAnnotation(), events: events, revision: version.revision + 1, journal: id, salts: &salts,
      logLimit: .max)
  }
}

/// A flag that one thread sets.
private final class Flag: @unchecked Sendable {
  // Unchecked, because only the thread that reads the state asks for the replacement.
  var isSet = false
}
