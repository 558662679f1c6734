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
    let isNewestFirst = order == "newest"
    return try .json { writer in
      writer.member("newest", journal.head.revision)
      var unreadable: [APIError] = []
      var rest = window.revisions
      var seen = 0
      try writer.array("entries") { writer in
        var count = 0
        var cursor = journal.entries(rest, newestFirst: isNewestFirst)
        // A filter that finds little returns its position after a while, and the client continues from there.
        while let range = rest, count < limit, seen < 100_000, writer.hasRoom {
          seen += 1
          let revision = isNewestFirst ? range.upperBound : range.lowerBound
          rest =
            range.count == 1
            ? nil : isNewestFirst ? range.lowerBound...revision - 1 : revision + 1...range.upperBound
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
            var error = APIError(error, hiding: journal.url.path)
            error.revision = revision
            unreadable.append(error)
            count += 1
            if let rest { cursor = journal.entries(rest, newestFirst: isNewestFirst) }
          }
        }
      }
      writer.member("next", rest.map { isNewestFirst ? $0.upperBound : $0.lowerBound })
      if !unreadable.isEmpty { writer.array("unreadable", of: unreadable) { $1.write(to: &$0) } }
    }
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
    let events = entry.events.dropFirst(offset).prefix(limit)
    return try .json { writer in
      var shownCount = 0
      try writer.object("entry") { writer in
        entry.writeHead(to: &writer)
        writer.member("eventCount", entry.events.count)
        shownCount = try writer.list("events", of: events) { writer, event in
          Catalog.write(event, changing: try journal.parts(changedBy: event), to: &writer)
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

  /// `GET /api/entities/item:42/history`, as `history --json` prints it.
  func history(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["at", "limit", "digests"])
    let entity = try Catalog.entity(named: name)
    let revision = try parameters.revision("at", else: .head(), in: journal)
    let limit = try parameters.count("limit", else: 200, in: 1...1000)
    let changes = try journal.history(
      of: entity, asOf: .revision(revision), limit: limit, byteLimit: JSONWriter.listByteLimit)
    guard !changes.isEmpty else { throw try absence(of: entity, at: revision) }
    let hasDigests = try parameters.flag("digests")
    return try .json { writer in
      let written = writer.list("history", of: changes) { $1.write(to: &$0) }
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

  /// `GET /api/entities/item:42/blame`, as `blame --json` prints it.
  func blame(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["at", "origin"])
    let entity = try Catalog.entity(named: name)
    let revision = try parameters.revision("at", else: .head(), in: journal)
    guard
      let blame = try journal.blame(entity, asOf: .revision(revision), findsOrigin: parameters.flag("origin"))
    else { throw try absence(of: entity, at: revision) }
    let lines = blame.filter { !$0.key.isByteCount(of: entity.kind) }
    return .json { $0.array("blame", of: lines) { $1.write(to: &$0, of: entity.kind) } }
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
      writer.member("from", from)
      writer.member("to", to)
      writer.member("total", page.total)
      writer.member("offset", offset)
      let shown = writer.list("differences", of: page.differences) { Catalog.write($1, to: &$0) }
      writeLabels(of: page.differences.prefix(shown), to: &writer)
    }
  }

  /// Writes short names of the entities, for people.
  func writeLabels(of differences: some Sequence<EntityDifference>, to writer: inout JSONWriter) {
    writer.object("labels") { writer in
      for difference in differences {
        writer.member(
          Catalog.name(of: difference.entity),
          (difference.new ?? difference.old).flatMap { Catalog.label(of: $0, of: difference.entity.kind) })
      }
    }
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
      writer.member("newest", journal.head.revision)
      writer.member("through", histogram?.through ?? 0)
      writer.member("from", histogram.map { Timestamp(microseconds: $0.from).description })
      writer.member("to", histogram.map { Timestamp(microseconds: $0.to).description })
      writer.member("bucketCount", bucketCount)
      writer.array("authors", of: histogram?.authors ?? []) { $0.value($1.map { .string($0) } ?? .null) }
      writer.member("others", histogram?.hasOthers ?? false)
      writer.array("buckets", of: histogram?.buckets ?? []) { writer, bucket in
        writer.object { writer in
          writer.member("bucket", bucket.place)
          writer.member("first", bucket.first)
          writer.member("last", bucket.last)
          writer.array("counts", of: bucket.counts) { $0.integer($1) }
          if bucket.unreadableCount > 0 { writer.member("unreadable", bucket.unreadableCount) }
        }
      }
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
