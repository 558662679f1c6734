import CatalogModel
import EntitySearch
import HTTPServer
import JSON

/// The entries after a revision as an endless stream of server-sent events. The `id` of an event is the revision of
/// its entry, from which a client continues after an interruption.
final class EventStream {
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
    // Entries that were published before the waiting ended can still be sent.
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
  /// The default number of events of each entry in a list.
  static var listedEventCount: Int { 20 }

  /// Writes the entry as `log --json` prints it, but only with its first events, and with the number of events of
  /// each operation.
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
