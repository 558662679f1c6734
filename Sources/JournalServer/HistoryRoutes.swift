import CatalogModel
import Foundation
import HTTPServer
import JSON

// Routes of the history: entries, histories, blame, differences, the timeline, and the stream of new entries.

extension JournalAPI {
  /// `GET /api/entries`: entries from `since` to `until`, by default the newest first.
  func entries(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(
      request, allowing: ["since", "until", "order", "author", "note", "limit", "events"])
    let window = try journal.window(
      since: try parameters.selector("since") ?? .start, until: try parameters.selector("until") ?? .head())
    let limit = try parameters.count("limit", else: 50, in: 1...500)
    let eventLimit = try parameters.count("events", else: Entry.listedEventCount, in: 0...1000)
    let author = parameters.text("author")?.lowercased()
    let note = parameters.text("note")?.lowercased()
    let order = parameters.text("order") ?? "newest"
    guard ["newest", "oldest"].contains(order) else { throw APIError.wrongUse("order is newest or oldest") }
    var writer = JSONWriter()
    var next: Revision?
    var count = 0
    var seen = 0
    writer.beginObject()
    writer.member("newest", journal.head.revision)
    writer.key("entries")
    writer.beginArray()
    var unreadable: [(revision: Revision, error: JournalError)] = []
    if var rest = window.revisions {
      let isNewestFirst = order == "newest"
      var cursor = journal.entries(rest, newestFirst: isNewestFirst)
      while true {
        let revision = isNewestFirst ? rest.upperBound : rest.lowerBound
        // A filter that finds little returns its position after a while, and the client continues from there.
        guard count < limit, seen < 100_000, writer.bytes.count < Self.listByteLimit else {
          next = revision
          break
        }
        seen += 1
        let isLast = rest.count == 1
        if !isLast {
          rest = isNewestFirst ? rest.lowerBound...revision - 1 : revision + 1...rest.upperBound
        }
        do {
          guard let entry = try cursor.next() else { break }
          if author.map({ entry.author.lowercased().contains($0) }) ?? true,
            note.map({ entry.note.lowercased().contains($0) }) ?? true
          {
            entry.writeOutline(to: &writer, eventLimit: eventLimit)
            count += 1
          }
        } catch let error as JournalError where error.code == .damaged {
          // A damaged entry must not hide the others.
          unreadable.append((revision, error))
          count += 1
          cursor = journal.entries(rest, newestFirst: isNewestFirst)
        }
        if isLast { break }
      }
    }
    writer.endArray()
    writer.key("next")
    if let next { writer.integer(next) } else { writer.null() }
    if !unreadable.isEmpty {
      writer.key("unreadable")
      writer.beginArray()
      for (revision, error) in unreadable {
        var error = APIError(error, hiding: journal.url.path)
        error.revision = revision
        error.write(to: &writer)
      }
      writer.endArray()
    }
    writer.endObject()
    writer.newline()
    return HTTPResponse(
      200, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .bytes(writer.bytes))
  }

  /// `GET /api/entries/120`: an entry with old and new values, as `log --patch --json` prints it.
  func entry(_ request: HTTPRequest, _ selector: String) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["offset", "limit"])
    let revision = try journal.revision(at: try RevisionSelector(selector))
    guard revision > 0 else {
      throw APIError(404, "notFound", "revision 0 is the empty journal; it has no entry")
    }
    let entry = try journal.entry(at: revision)
    let offset = try parameters.count("offset", else: 0, in: 0...Int(Int32.max))
    let limit = try parameters.count("limit", else: 100, in: 1...1000)
    return try .json { writer in
      writer.beginObject()
      writer.key("entry")
      writer.beginObject()
      entry.writeHead(to: &writer)
      writer.member("eventCount", entry.events.count)
      writer.key("events")
      writer.beginArray()
      var shown: [JournalEvent] = []
      for event in entry.events.dropFirst(offset).prefix(limit)
      where writer.bytes.count < Self.listByteLimit {
        Catalog.write(event, changing: try journal.parts(changedBy: event), to: &writer)
        shown.append(event)
      }
      writer.endArray()
      writer.endObject()
      writer.member("offset", offset)
      writer.key("labels")
      writer.beginObject()
      for event in shown {
        let point = event.operation == .delete ? revision - 1 : revision
        let entity = try journal.entity(event.entity, asOf: .revision(point))
        writer.member(
          Catalog.name(of: event.entity),
          entity.flatMap { Catalog.label(of: $0.record, of: event.entity.kind) })
      }
      writer.endObject()
      writer.endObject()
    }
  }

  /// `GET /api/entities/item:42/history`, as `history --json` prints it.
  func history(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["at", "limit", "digests"])
    let entity = try Catalog.entity(named: name)
    let revision = try parameters.revision("at", else: .head(), in: journal)
    let limit = try parameters.count("limit", else: 200, in: 1...1000)
    let changes = try journal.history(
      of: entity, asOf: .revision(revision), limit: limit, byteLimit: Self.listByteLimit)
    guard !changes.isEmpty else { throw try absence(of: entity, at: revision) }
    let hasDigests = try parameters.flag("digests")
    return try .json { writer in
      writer.beginObject()
      writer.key("history")
      writer.beginArray()
      var written = 0
      for change in changes where writer.bytes.count < Self.listByteLimit {
        change.write(to: &writer)
        written += 1
      }
      writer.endArray()
      let next = changes[written - 1].previous
      writer.key("next")
      if next > 0 { writer.integer(next) } else { writer.null() }
      if hasDigests {
        writer.key("digests")
        writer.beginObject()
        for change in changes.prefix(written) where !change.isPruned {
          writer.member("\(change.revision)", try journal.entry(at: change.revision).digest.hex)
        }
        writer.endObject()
      }
      writer.endObject()
    }
  }

  /// `GET /api/entities/item:42/blame`, as `blame --json` prints it.
  func blame(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["at", "origin"])
    let entity = try Catalog.entity(named: name)
    let revision = try parameters.revision("at", else: .head(), in: journal)
    guard
      let blame = try journal.blame(entity, asOf: .revision(revision), findsOrigin: parameters.flag("origin"))
    else { throw try absence(of: entity, at: revision) }
    return .json { writer in
      writer.beginObject()
      writer.key("blame")
      writer.beginArray()
      for line in blame where !line.key.isByteCount(of: entity.kind) {
        line.write(to: &writer, of: entity.kind)
      }
      writer.endArray()
      writer.endObject()
    }
  }

  /// `GET /api/diff`, as `diff --json` prints it.
  func diff(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["from", "to", "entity", "offset", "limit"])
    guard parameters.text("from") != nil else { throw APIError.wrongUse("from is missing: a point in time") }
    let from = try parameters.revision("from", else: .start, in: journal)
    let to = try parameters.revision("to", else: .head(), in: journal)
    let offset = try parameters.count("offset", else: 0, in: 0...Int(Int32.max))
    let limit = try parameters.count("limit", else: 200, in: 1...1000)
    let page: DifferenceCache.Page
    if let name = parameters.text("entity") {
      let found = try journal.diff(
        of: [try Catalog.entity(named: name)], from: .revision(from), to: .revision(to))
      page = DifferenceCache.Page(
        total: found.count, differences: Array(found.dropFirst(offset).prefix(limit)))
    } else {
      page = try differences.page(from: from, to: to, offset: offset, limit: limit)
    }
    return .json { writer in
      writer.beginObject()
      writer.member("from", from)
      writer.member("to", to)
      writer.member("total", page.total)
      writer.member("offset", offset)
      writer.key("differences")
      writer.beginArray()
      var shown = 0
      for difference in page.differences where writer.bytes.count < Self.listByteLimit {
        Catalog.write(difference, to: &writer)
        shown += 1
      }
      writer.endArray()
      writeLabels(of: page.differences.prefix(shown), to: &writer)
      writer.endObject()
    }
  }

  /// Writes short names of the entities, for people.
  func writeLabels(of differences: some Sequence<EntityDifference>, to writer: inout JSONWriter) {
    writer.key("labels")
    writer.beginObject()
    for difference in differences {
      writer.member(
        Catalog.name(of: difference.entity),
        (difference.new ?? difference.old).flatMap { Catalog.label(of: $0, of: difference.entity.kind) })
    }
    writer.endObject()
  }

  /// `GET /api/timeline`: the number of entries by time and author.
  func timeline(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["from", "to", "buckets"])
    func moment(_ name: String) throws -> Int64? {
      guard let text = parameters.text(name) else { return nil }
      guard let timestamp = Timestamp(text) else {
        throw APIError.wrongUse("\(name) is a date such as 2026-08-01T10:00:00Z")
      }
      return timestamp.microseconds
    }
    let bucketCount = try parameters.count("buckets", else: 200, in: 1...2000)
    timeline.catchUp()
    let histogram = timeline.histogram(
      from: try moment("from"), to: try moment("to"), bucketCount: bucketCount, authorCount: 7)
    return .json { writer in
      writer.beginObject()
      writer.member("newest", journal.head.revision)
      writer.member("through", histogram?.through ?? 0)
      writer.member("from", histogram.map { Timestamp(microseconds: $0.from).description })
      writer.member("to", histogram.map { Timestamp(microseconds: $0.to).description })
      writer.member("bucketCount", bucketCount)
      writer.key("authors")
      writer.beginArray()
      for author in histogram?.authors ?? [] {
        if let author { writer.string(author) } else { writer.null() }
      }
      writer.endArray()
      writer.member("others", histogram?.hasOthers ?? false)
      writer.key("buckets")
      writer.beginArray()
      for (place, bucket) in histogram?.buckets ?? [] {
        writer.beginObject()
        writer.member("bucket", place)
        writer.member("first", bucket.first)
        writer.member("last", bucket.last)
        writer.key("counts")
        writer.beginArray()
        for count in bucket.counts { writer.integer(count) }
        writer.endArray()
        if bucket.unreadableCount > 0 { writer.member("unreadable", bucket.unreadableCount) }
        writer.endObject()
      }
      writer.endArray()
      writer.endObject()
    }
  }

  /// `GET /api/events`: the entries after a revision, and new entries as they are committed.
  func events(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["after"])
    let newest = journal.head.revision
    let text = request.headers["last-event-id"] ?? parameters.text("after")
    guard let after = text.map({ Int($0) }) ?? newest else {
      throw APIError.wrongUse("after and Last-Event-ID are revisions")
    }
    let start = try journal.revision(at: .start)
    guard after >= start, after <= newest else {
      let isPruned = (0..<start).contains(after)
      throw APIError(
        isPruned ? 410 : 404, isPruned ? "pruned" : "notFound", "there is no revision \(after)")
    }
    // After 200, clients would connect again and again.
    if feed.wait(after: after, atMost: .zero) == nil {
      throw feed.problem ?? JournalError.closed(path: journal.url.path)
    }
    return HTTPResponse(
      200, headers: [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")],
      body: .stream(length: nil, EventStream(journal, feed, after: after)))
  }
}
