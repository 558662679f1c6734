package import CatalogModel
package import EntitySearch
package import Foundation

// The JSON of `--json` and of the HTTP API.

extension Date {
  /// RFC 3339 with microseconds, in UTC.
  package var precise: String { Timestamp(self)?.description ?? "?" }
}

extension JSONObject {
  /// The date, author and note of an entry. `clockDate` is a member only if it differs from the date. An erased
  /// author and note are null. If `entry` is nil, the date is null too.
  package static func attribution(of entry: (some Attributed)?) -> JSONObject {
    let isKnown = entry?.isAnnotationErased == false
    return [
      "date": entry?.date.precise, "clockDate": ifAny(entry?.differingClockDate?.precise),
      "author": isKnown ? entry?.author : nil, "note": isKnown ? entry?.note : nil,
    ]
  }
}

extension Journal where State == Catalog {
  /// The first revision of the history; nil if it is later than the version.
  package func firstRevision(through version: Version<Catalog>) throws -> Revision? {
    let first = try revision(at: .start) + 1
    return version.revision >= first ? first : nil
  }

  package func readableEntry(at revision: Revision) throws -> Entry? {
    try readable { try entry(at: revision) }
  }

  /// The result of `body`; nil if an entry that `body` reads was pruned or is damaged.
  package func readable<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let error as JournalError where [.pruned, .damaged].contains(error.code) {
      return nil
    }
  }

  /// - Parameter firstDate: the date of the first entry; nil if there is none, or if it is damaged.
  package func counts(of version: Version<Catalog>, firstDate: Date?) throws -> JSONObject {
    [
      "id": id.description, "revision": version.revision, "base": ifAny(base?.revision),
      "firstDate": firstDate?.precise,
      "date": try firstRevision(through: version) == nil ? nil : version.date.precise,
      "digest": version.digest.hex, "items": version.state.itemCount,
      "categories": version.state.categoryCount, "images": version.state.imageCount,
    ]
  }
}

extension Entry {
  package var json: JSONObject { [.members: jsonHead, "events": events.map { Catalog.json(of: $0) }] }

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
  package var json: JSONObject {
    [
      "revision": revision, "entity": Catalog.name(of: event.entity),
      .members: JSONObject.attribution(of: self), "pruned": ifAny(isPruned ? true : nil),
      "event": Catalog.json(of: event), "changes": Catalog.json(of: parts, of: event.entity.kind),
    ]
  }
}

extension Blame {
  package func json(of entity: EntityKey) -> JSONObject {
    [
      "entity": Catalog.name(of: entity), "field": Catalog.name(of: key, of: entity.kind),
      "value": Catalog.shown(value, key, of: entity.kind),
      "revision": revision, .members: JSONObject.attribution(of: self),
      "pruned": ifAny(isPruned ? true : nil),
    ]
  }
}

extension FoundEntity {
  /// - Parameter catalog: the state as of the point in time of the search.
  package func json(in catalog: Catalog) -> JSONObject {
    [
      "entity": Catalog.name(of: entity), "label": label, "kind": kind,
      "revision": deleted ?? catalog.revision(of: entity),
      "periods": ifAny(periods.isEmpty ? nil : periods.map(\.json)),
    ]
  }
}

extension MatchPeriod {
  fileprivate var json: JSONObject { ["start": start.json, "end": end?.json] }
}

extension MatchPeriod.Border {
  fileprivate var json: JSONObject {
    [
      "revision": revision, .members: JSONObject.attribution(of: self),
      "pruned": ifAny(isPruned ? true : nil),
    ]
  }
}

extension Catalog.Tag {
  /// - Parameter entry: the entry that made the tag, of revision ``created``; nil if it can't be read.
  package func json(made entry: (some Attributed)?) -> JSONObject {
    ["name": name, "revision": revision, .members: JSONObject.attribution(of: entry)]
  }
}

extension RestorePlan {
  /// - Parameter revision: the revision of the plan's entry; nil if the plan was not committed.
  package func json(revision: Revision?, isDryRun: Bool) -> JSONObject {
    [
      "revision": revision, "dryRun": isDryRun, "changes": changes.map { Catalog.json(of: $0) },
      "undoes": undoes.map(\.json), "conflicts": conflicts.map(\.json),
      "problem": ifAny(problem),
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
