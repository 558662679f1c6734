import Foundation
package import Journaling

/// The state that the reliability tests commit to: pages that are written over and over, some with a blob.
///
/// It is the smallest state that has everything a crash could break: adds, updates, deletes, and
/// entities that name blobs.
package struct Logbook: EventSourced {
  package static let schema = "logbook/1"
  package static let kindNames = ["page"]

  package private(set) var pages = EntityTable()

  package init() {}

  package func record(of entity: EntityKey) -> EntityRecord? { pages[entity.number]?.record }

  package func revision(of entity: EntityKey) -> Revision { pages.revision(of: entity.number) }

  // The table's own `apply` won't do, because pages may be added in any order of their numbers.
  package mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    if pages.isErased(event) {
      _ = try pages.applyErased(event, at: revision, in: Self.self)
      return
    }
    let number = event.entity.number
    switch (event.change, pages[number]) {
    case (.add(let record), nil): pages.add(number, record, at: revision)
    case (.update(let changes), let page?): pages.update(number, to: page.applying(changes, at: revision))
    case (.delete, _?): pages.delete(number, at: revision)
    default:
      throw JournalError(.damaged, "\(Self.name(of: event.entity)) can't be changed so", revision: revision)
    }
  }

  package var parts: StateParts? { StateParts(tables: [pages]) }

  package init?(parts: StateParts) {
    guard let pages = parts.tables.first else { return nil }
    self.pages = pages
  }

  package static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob] {
    guard case .data(let bytes)? = record["sha256"], case .integer(let count)? = record["byteCount"],
      let digest = ContentDigest(bytes: Array(bytes))
    else { return [] }
    return [Blob(digest: digest, byteCount: Int(count))]
  }
}

extension EntityKey {
  package static func page(_ number: Int) -> EntityKey {
    EntityKey(kind: EntityKind(rawValue: 0), number: number)
  }
}

extension Draft where State == Logbook {
  /// Adds a page, or updates it if it exists.
  package mutating func write(_ number: Int, _ text: String, blob: Blob? = nil) throws {
    var attributes: [String: FieldValue] = ["text": .string(text)]
    if let blob {
      attributes["sha256"] = .data(Data(blob.digest.bytes))
      attributes["byteCount"] = .integer(Int64(blob.byteCount))
    }
    if state.pages[number] == nil {
      try add(.page(number), EntityRecord(attributes))
    } else {
      try update(.page(number), to: EntityRecord(attributes))
    }
  }
}
