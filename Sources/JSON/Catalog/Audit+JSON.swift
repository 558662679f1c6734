package import CatalogModel
package import EntitySearch
package import Foundation

// Entries, histories, blame and plans in JSON, as the command line prints them with `--json` and the HTTP API returns
// them.

extension Date {
  /// RFC 3339 with microseconds, in UTC.
  package var precise: String { Timestamp(self)?.description ?? "?" }
}

extension JSONObject {
  /// When, by whom and why an entry was made. The clock's date is there only if it differs. Author and note are null if
  /// they were erased; if there is no entry to read, the date is null too.
  package static func attribution(of entry: (some Attributed)?) -> JSONObject {
    let isKnown = entry?.isAnnotationErased == false
    return [
      "date": entry?.date.precise, "clockDate": ifAny(entry?.differingClockDate?.precise),
      "author": isKnown ? entry?.author : nil, "note": isKnown ? entry?.note : nil,
    ]
  }
}

extension Journal where State == Catalog {
  /// The revision of the first entry of the history up to a version, or nil if there is none.
  package func firstRevision(through version: Version<Catalog>) throws -> Revision? {
    let first = try revision(at: .start) + 1
    return version.revision >= first ? first : nil
  }

  /// The entry of a revision; nil if it was pruned or is damaged.
  package func readableEntry(at revision: Revision) throws -> Entry? {
    try readable { try entry(at: revision) }
  }

  /// The result of `body`; nil if an entry that it reads was pruned or is damaged.
  package func readable<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let error as JournalError where [.pruned, .damaged].contains(error.code) {
      return nil
    }
  }

  /// The journal's counts, as `stat --json` prints them.
  package func counts(of version: Version<Catalog>) throws -> JSONObject {
    let first = try firstRevision(through: version)
    return [
      "id": id.description, "revision": version.revision, "base": ifAny(base?.revision),
      "firstDate": try first.flatMap { try readableEntry(at: $0) }?.date.precise,
      "date": first == nil ? nil : version.date.precise, "digest": version.digest.hex,
      "items": version.state.itemCount, "categories": version.state.categoryCount,
      "images": version.state.imageCount,
    ]
  }
}

extension Entry {
  /// The entry as `log --json` prints it.
  package var json: JSONObject { [.members: jsonHead, "events": events.map { Catalog.json(of: $0) }] }

  /// All members except the events.
  package var jsonHead: JSONObject {
    let metadata = metadata.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return [
      "revision": revision, .members: JSONObject.attribution(of: self),
      "metadata": isAnnotationErased ? nil : JSONObject(metadata.map { ($0.key, $0.value) }),
      "digest": digest.hex,
    ]
  }
}

extension EntityChange {
  /// One event of a history as `history --json` prints it.
  package var json: JSONObject {
    [
      "revision": revision, .members: JSONObject.attribution(of: self),
      "pruned": ifAny(isPruned ? true : nil),
      "event": Catalog.json(of: event), "changes": Catalog.json(of: parts, of: event.entity.kind),
    ]
  }
}

extension Blame {
  /// Who set a part, as `blame --json` prints it.
  package func json(of kind: EntityKind) -> JSONObject {
    [
      "field": Catalog.name(of: key, of: kind), "value": Catalog.shown(value, key, of: kind),
      "revision": revision, .members: JSONObject.attribution(of: self),
      "pruned": ifAny(isPruned ? true : nil),
    ]
  }
}

extension FoundEntity {
  /// A found entity, as `find --json` prints it.
  package var json: JSONObject { ["entity": Catalog.name(of: entity), "label": label, "kind": kind] }
}

extension Catalog.Tag {
  /// A tag and who made it, as `tag --json` prints it.
  /// - Parameter entry: the entry of revision ``created``; nil if it can't be read.
  package func json(made entry: Entry?) -> JSONObject {
    ["name": name, "revision": revision, .members: JSONObject.attribution(of: entry)]
  }
}

extension RestorePlan {
  /// What a plan would do or has done, as `restore --json` prints it.
  /// - Parameter revision: the revision of its entry, or nil if there is none.
  package func json(revision: Revision?, isDryRun: Bool) -> JSONObject {
    [
      "revision": revision, "dryRun": isDryRun, "changes": changes.map { Catalog.json(of: $0) },
      "undoes": undoes.map(\.json), "conflicts": conflicts.map(\.json),
    ]
  }
}

extension LaterEdit {
  fileprivate var json: JSONObject {
    let fields = fields.filter { !$0.isByteCount(of: entity.kind) }
    return [
      "revision": revision, .members: JSONObject.attribution(of: self), "entity": Catalog.name(of: entity),
      "fields": fields.map { Catalog.name(of: $0, of: entity.kind) },
    ]
  }
}
