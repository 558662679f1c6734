import CatalogModel
import HTTPServer
import JSON

/// The entries after a revision as an endless stream of server-sent events. The `id` of each event is its revision.
/// After an interruption, a client continues from that revision.
final class EventStream: HTTPBodySource {
  /// The interval of comments that keep the connection alive and detect clients that have disappeared.
  private static var heartbeat: Duration { .seconds(15) }

  private let api: JournalAPI
  private var last: Revision
  private var isBegun = false

  init(_ api: JournalAPI, after revision: Revision) {
    self.api = api
    last = revision
  }

  func nextPiece() throws -> [UInt8]? {
    if !isBegun {
      isBegun = true
      return Array("retry: 1000\n\n".utf8)
    }
    let found = api.journal.waitForEntries(after: last, atMost: Self.heartbeat) { api.isServing }
    // What was published before the waiting ended can still be read.
    let newest = found ?? (api.isServing ? api.journal.head.revision : last)
    guard newest > last else { return found == nil ? nil : Array(": nothing new\n\n".utf8) }
    api.timeline.catchUp()
    let entry = try api.journal.entry(at: last + 1)
    last = entry.revision
    var writer = JSONWriter()
    entry.writeOutline(to: &writer, eventLimit: Entry.listedEventCount)
    return Array("id: \(entry.revision)\nevent: entry\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
  }
}

extension Entry {
  /// How many events of each entry a list shows, unless the request names another number.
  static var listedEventCount: Int { 20 }

  /// Writes the entry as `log --json` prints it, with the first of its events, the number of its events, and the number
  /// for each operation. Events that begin beyond the limit of a list are left out.
  func writeOutline(to writer: inout JSONWriter, eventLimit: Int) {
    let counts = [JournalEvent.Operation.add, .update, .delete].map { operation in
      (operation.name, events.count { $0.operation == operation })
    }
    writer.object { writer in
      writer.members([.members: jsonHead, "counts": JSONObject(counts), "eventCount": events.count])
      writer.list("events", of: events.prefix(eventLimit)) { Catalog.json(of: $0) }
    }
  }
}
