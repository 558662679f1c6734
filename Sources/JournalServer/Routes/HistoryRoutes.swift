import CatalogModel
import EntitySearch
import Foundation
import HTTPServer
import JSON

// Routes of the history: entries, histories, blame, differences, the timeline, and the stream of new entries.

extension Route {
  static let history = get(
    "/api/entities/{entity}/history", "The changes of an entity, the newest first",
    [
      .entity, .at, .limit(200, atMost: 1000), .flag("digests", "return the digest of each entry too."),
    ],
    returns: """
      Changes as history --json prints them. The next request continues with at=next; null means that there are no \
      earlier changes.
      """,
    #"""
    {"history":[{"revision":2,"entity":"item:1",\#(Example.spelling),"event":{"operation":"update","entity":"item:1","previous":1,
    "changes":{"attributes":{"stars":5,"title":"Dune"}}},"changes":\#(Example.changes)}],"next":1}
    """#
  ) { try $0.history($1) }

  static let blame = get(
    "/api/entities/{entity}/blame", "Who set each part of an entity, when and why",
    [.entity, .at, .flag("origin", "for a restored value, return the entry that first set it.")],
    returns: "Lines as blame --json prints them.",
    #"{"blame":[{"entity":"item:1","field":"title","value":"Dune","revision":2,\#(Example.spelling)}]}"#
  ) { try $0.blame($1) }

  static let entries = get(
    "/api/entries", "Entries, by default the newest first",
    [
      .text("since", "Only entries since this date, or after this revision or tag. Dates are in UTC."),
      .text("until", "Only entries before this date, or up to and including this revision or tag."),
      .text("order", "Which entries come first: newest or oldest."),
      .text("author", "Only entries whose author contains this."),
      .text("note", "Only entries whose note contains this."),
      .count("events", "How many events of each entry to return", Entry.listedEventCount, in: 0...1000),
      .limit(50, atMost: 500),
    ],
    returns: """
      Entries as log --json prints them, with the first of their events and the number of all. If the events are large, \
      an entry has fewer than requested; /api/entries/{revision} has the others. The next request continues at next: \
      with until=next or, if the oldest come first, since=next-1. Damaged entries are listed in unreadable, each as an \
      error with its revision.
      """,
    #"""
    {"newest":3,"entries":[{"revision":2,\#(Example.spelling),"metadata":{},"digest":"…",
    "counts":{"add":0,"update":1,"delete":0},"eventCount":1,"events":[]}],"next":null}
    """#
  ) { try $0.entries($1) }

  static let entry = get(
    "/api/entries/{revision}", "An entry with old and new values",
    [.path("revision", "A revision, HEAD, or any other point."), .offset, .limit(100, atMost: 1000)],
    returns: """
      The entry as log --patch --json prints it, and the labels of its entities. If the events are large, it has fewer \
      than requested. The next request continues after the last one, up to eventCount.
      """,
    #"""
    {"entry":{"revision":2,\#(Example.spelling),"metadata":{},"digest":"…","eventCount":1,
    "events":[{"operation":"update","entity":"item:1","previous":1,"changes":\#(Example.changes)}]},"offset":0,
    "labels":{"item:1":"Dune"}}
    """#
  ) { try $0.entry($1) }

  static let diff = get(
    "/api/diff", "The differences between two points in time",
    [
      Parameter(name: "from", description: "The first point.", isRequired: true),
      .text("to", "The second point. By default now."), .text("entity", "Only this entity."), .offset,
      .limit(200, atMost: 1000),
    ],
    returns: """
      Lines as diff --json prints them. If they are large, there are fewer than requested. The next request continues \
      after the last one, up to total.
      """,
    #"""
    {"from":1,"to":3,"total":1,"offset":0,
    "differences":[{"entity":"item:1","operation":"update","changes":\#(Example.changes)}],"labels":{"item:1":"Dune"}}
    """#
  ) { try $0.diff($1) }

  static let timeline = get(
    "/api/timeline", "The number of entries by time and author",
    [
      .text("from", "The first moment, in RFC 3339. By default the date of the first entry."),
      .text("to", "The last moment, in RFC 3339. By default the date of the newest entry."),
      .count("buckets", "The number of parts into which that time is divided", 200, in: 1...2000),
    ],
    returns: """
      The parts of time that have entries, with counts for each author and, last, for all others. `unreadable` counts \
      damaged entries, if there are any. An author is null if it was erased. The counts include entries up to \
      `through`, because the history is read in the background.
      """,
    #"""
    {"newest":3,"through":3,"from":"2026-08-01T10:00:00.000000Z","to":"2026-08-05T08:00:00.000000Z","bucketCount":2,
    "authors":["ana","bob"],"others":false,"buckets":[{"bucket":0,"first":1,"last":2,"counts":[1,1,0]}]}
    """#
  ) { try $0.timeline($1) }

  static let events = get(
    "/api/events",
    "The entries after a revision, and new entries as they are committed, as server-sent events",
    details: """
      The id of an event is its revision. A client that reconnects with Last-Event-ID, as browsers do, misses none and \
      gets none twice.
      """,
    [
      Parameter(name: "after", description: "A revision. By default the newest.", form: .integer),
      .header("Last-Event-ID", "The same as after. If both are sent, this one counts.", .integer),
    ],
    answers: [
      Answer(
        status: 200, description: "Events named entry. The data of each is an entry as in /api/entries.",
        content: Content(
          mediaType: "text/event-stream", type: "string",
          example: #""id: 4\nevent: entry\ndata: {\"revision\":4,…}\n\n""#))
    ]
  ) { try $0.events($1) }
}

extension JournalAPI {
  fileprivate func entries(_ parameters: Parameters) throws -> HTTPResponse {
    let window = try journal.window(
      since: parameters.selector("since", else: .start), until: parameters.selector("until"))
    let (limit, eventLimit) = (try parameters.count("limit"), try parameters.count("events"))
    let author = parameters.text("author")?.lowercased()
    let note = parameters.text("note")?.lowercased()
    let order = parameters.text("order") ?? "newest"
    guard ["newest", "oldest"].contains(order) else { throw APIError.wrongUse("order is newest or oldest") }
    let isNewestFirst = order == "newest"
    let isFiltered = author != nil || note != nil
    /// Without a filter, the cursor fetches no more entries than are listed.
    func cursor(_ range: ClosedRange<Revision>, _ count: Int) -> EntryCursor {
      let (first, last) = (range.lowerBound, range.upperBound)
      let part = isNewestFirst ? max(first, last - count + 1)...last : first...min(last, first + count - 1)
      return journal.entries(isFiltered ? range : part, newestFirst: isNewestFirst)
    }
    return try .json { writer in
      writer.member("newest", journal.head.revision)
      var unreadable: [APIError] = []
      var rest = window.revisions
      var seen = 0
      try writer.array("entries") { writer in
        var count = 0
        var entries = rest.map { cursor($0, limit) }
        // A filter with few matches stops after 100,000 entries, and the client continues from there.
        while let range = rest, count < limit, seen < 100_000, writer.hasRoom {
          seen += 1
          let revision = isNewestFirst ? range.upperBound : range.lowerBound
          rest =
            range.count == 1
            ? nil : isNewestFirst ? range.lowerBound...revision - 1 : revision + 1...range.upperBound
          do {
            guard let entry = try entries?.next() else { break }
            if author.map({ entry.author.lowercased().contains($0) }) ?? true,
              note.map({ entry.note.lowercased().contains($0) }) ?? true
            {
              entry.writeOutline(to: &writer, eventLimit: eventLimit)
              count += 1
            }
          } catch let error as JournalError where error.code == .damaged {
            // A damaged entry must not hide the others.
            var error = APIError(error, hiding: journal.url.path)
            error.revision = revision
            unreadable.append(error)
            count += 1
            if let rest, count < limit { entries = cursor(rest, limit - count) }
          }
        }
      }
      writer.member("next", rest.map { isNewestFirst ? $0.upperBound : $0.lowerBound })
      if !unreadable.isEmpty { writer.member("unreadable", unreadable.map(\.json)) }
    }
  }

  fileprivate func entry(_ parameters: Parameters) throws -> HTTPResponse {
    let revision = try journal.revision(at: try RevisionSelector(parameters.step("revision")))
    guard revision > 0 else {
      throw APIError(404, "notFound", "revision 0 is the empty journal; it has no entry")
    }
    let entry = try journal.entry(at: revision)
    let (offset, limit) = (try parameters.count("offset"), try parameters.count("limit"))
    let events = entry.events.dropFirst(offset).prefix(limit)
    return try .json { writer in
      var shownCount = 0
      try writer.object("entry") { writer in
        writer.members([.members: entry.jsonHead, "eventCount": entry.events.count])
        shownCount = try writer.list("events", of: events) { event in
          Catalog.json(of: event, changing: try journal.parts(changedBy: event))
        }
      }
      writer.member("offset", offset)
      try writer.object("labels") { writer in
        for event in events.prefix(shownCount) {
          let point = event.operation == .delete ? revision - 1 : revision
          let entity = try journal.entity(event.entity, asOf: .revision(point))
          writer.member(
            Catalog.name(of: event.entity),
            entity.flatMap { Catalog.label(of: $0.record, of: event.entity.kind) })
        }
      }
    }
  }

  fileprivate func history(_ parameters: Parameters) throws -> HTTPResponse {
    let entity = try Catalog.entity(named: parameters.step("entity"))
    let revision = try journal.revision(at: parameters.selector("at"))
    let changes = try journal.history(
      of: entity, asOf: .revision(revision), limit: parameters.count("limit"),
      byteLimit: JSONWriter.listByteLimit)
    guard !changes.isEmpty else { throw try journal.absence(of: entity, at: revision, namingErasure: false) }
    let hasDigests = try parameters.flag("digests")
    return try .json { writer in
      let written = writer.list("history", of: changes, \.json)
      let next = changes[written - 1].previous
      writer.member("next", next > 0 ? next : nil)
      guard hasDigests else { return }
      try writer.object("digests") { writer in
        for change in changes.prefix(written) where !change.isPruned {
          writer.member("\(change.revision)", try journal.entry(at: change.revision).digest.hex)
        }
      }
    }
  }

  fileprivate func blame(_ parameters: Parameters) throws -> HTTPResponse {
    let entity = try Catalog.entity(named: parameters.step("entity"))
    let revision = try journal.revision(at: parameters.selector("at"))
    guard
      let blame = try journal.blame(entity, asOf: .revision(revision), findsOrigin: parameters.flag("origin"))
    else { throw try journal.absence(of: entity, at: revision, namingErasure: false) }
    let lines = blame.filter { !$0.key.isByteCount(of: entity.kind) }
    return .json(["blame": lines.map { $0.json(of: entity) }])
  }

  fileprivate func diff(_ parameters: Parameters) throws -> HTTPResponse {
    let from = try journal.revision(at: parameters.selector("from"))
    let to = try journal.revision(at: parameters.selector("to"))
    let (offset, limit) = (try parameters.count("offset"), try parameters.count("limit"))
    let entity = try parameters.text("entity").map { try Catalog.entity(named: $0) }
    let (total, page) = try differences(from: from, to: to, of: entity, offset, limit)
    return .json { writer in
      writer.members(["from": from, "to": to, "total": total, "offset": offset])
      let shown = writer.list("differences", of: page) { Catalog.json(of: $0) }
      writer.member("labels", labels(of: page.prefix(shown)))
    }
  }

  /// A page of the differences between two revisions, and the count of all differences. For the first page, the events
  /// between the revisions are read. For later pages, entities are looked up in both states.
  private func differences(
    from: Revision, to: Revision, of entity: EntityKey?, _ offset: Int, _ limit: Int
  ) throws -> (total: Int, page: [EntityDifference]) {
    let erasures = journal.erasureCount
    if entity == nil, let known = differences.known([from, to], asOf: erasures) {
      let (old, new) = (try version(at: from).state, try version(at: to).state)
      let page = known.dropFirst(offset).prefix(limit).map { entity in
        EntityDifference(entity: entity, old: old.record(of: entity), new: new.record(of: entity))
      }
      for state in [old, new] { if let failure = state.failure { throw failure } }
      return (known.count, page)
    }
    let found =
      try entity.map { try journal.diff(of: [$0], from: .revision(from), to: .revision(to)) }
      ?? journal.diff(from: .revision(from), to: .revision(to))
    if entity == nil, found.count > offset + limit {
      differences.keep(found.map(\.entity), of: [from, to], asOf: erasures)
    }
    return (found.count, Array(found.dropFirst(offset).prefix(limit)))
  }

  func labels(of differences: some Sequence<EntityDifference>) -> JSONObject {
    JSONObject(
      differences.map { difference in
        let record = difference.new ?? difference.old
        let label = record.flatMap { Catalog.label(of: $0, of: difference.entity.kind) }
        return (Catalog.name(of: difference.entity), label)
      })
  }

  fileprivate func timeline(_ parameters: Parameters) throws -> HTTPResponse {
    func moment(_ name: String) throws -> Int64? {
      guard let text = parameters.text(name) else { return nil }
      guard let timestamp = Timestamp(text) else {
        throw APIError.wrongUse("\(name) is a date such as 2026-08-01T10:00:00Z")
      }
      return timestamp.microseconds
    }
    let bucketCount = try parameters.count("buckets")
    timeline.catchUp()
    let histogram = timeline.histogram(
      from: try moment("from"), to: try moment("to"), bucketCount: bucketCount, authorCount: 7)
    let buckets = (histogram?.buckets ?? []).map { bucket -> JSONObject in
      [
        "bucket": bucket.place, "first": bucket.first, "last": bucket.last, "counts": bucket.counts,
        "unreadable": ifAny(bucket.unreadableCount > 0 ? bucket.unreadableCount : nil),
      ]
    }
    return .json([
      "newest": journal.head.revision, "through": histogram?.through ?? 0,
      "from": histogram.map { Timestamp(microseconds: $0.from).description },
      "to": histogram.map { Timestamp(microseconds: $0.to).description }, "bucketCount": bucketCount,
      "authors": histogram?.authors ?? [], "others": histogram?.hasOthers ?? false, "buckets": buckets,
    ])
  }

  fileprivate func events(_ parameters: Parameters) throws -> HTTPResponse {
    let newest = journal.head.revision
    let text = parameters.request.headers["last-event-id"] ?? parameters.text("after")
    guard let after = text.map({ Int($0) }) ?? newest else {
      throw APIError.wrongUse("after and Last-Event-ID are revisions")
    }
    let start = try journal.revision(at: .start)
    guard after >= start, after <= newest else {
      let isPruned = (0..<start).contains(after)
      throw APIError(
        isPruned ? 410 : 404, isPruned ? "pruned" : "notFound", "there is no revision \(after)")
    }
    // A failure must be reported before the status 200 is sent, or clients would connect again and again.
    _ = try journal.waitForEntry(after: after, atMost: .zero)
    if let failure = journal.nodeFailure { throw failure }
    return HTTPResponse(
      200, headers: [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")],
      body: .stream(length: nil, next: EventStream(self, after: after).nextPiece))
  }
}
