import CatalogModel
import Foundation
import JSON
import JournalServer

enum CommitVerb: Verb {
  static let text = """
    commit: adds, changes and deletes entities as JSON says, as one entry

    Reads events in JSON from FILE, or from standard input, and makes them one entry. It is durable when the verb ends.
    The JSON is an array of events, or an object as POST /api/commits takes it:

      {"author":"ana","note":"read it","metadata":{},"date":"2026-08-01T10:00:00Z","events":[…]}

    "date" is when it happened, by default now. The entry keeps it as the clock's date; the date that orders entries is
    never before that of the entry before.

    An event has the form that log --json prints, without numbers for what is new:

      {"operation":"add","entity":"item","as":"dune","changes":{"kind":"book","attributes":{"title":"Dune"}}}
      {"operation":"update","entity":"item:42","changes":{"attributes":{"stars":5},"removed":["lent"]}}
      {"operation":"delete","entity":"item:7"}
      {"operation":"add","entity":"image","changes":{"item":"dune","file":"cover.png"}}
      {"operation":"add","entity":"rule","changes":{"form":"unique","kind":"book","attributes":{"paths":[["isbn"]]}}}

    "as" is a name by which later events refer to an added entity, as entity, item or category. "file" names a file with
    the bytes of an image, seen from the current folder; name and mediaType follow from it unless they are given.
    "previous":9 in an update or a delete demands that revision 9 changed the entity last: otherwise nothing is written,
    and the exit code is 1. A rule of an item's kind holds for every change: the forms are unique, required and
    reference.

    Arguments: JOURNAL
    [FILE]: a file with the events; by default standard input
    [--by AUTHOR]: the author; by default the one in the JSON, or your login name
    [--note TEXT]: the note; by default the one in the JSON
    [--json]

    $ journal commit Books.journal events.json --by ana  # makes an entry of a file
    $ echo '[{"operation":"update","entity":"item:42","changes":{"attributes":{"stars":5}}}]' | journal commit
      Books.journal  # changes one attribute
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let bytes = try read(arguments.value("FILE"), terminal)
    var value: FieldValue
    do throws(JSONError) {
      value = try FieldValue(json: bytes, decodingWrappers: true, exactly: true)
    } catch {
      throw Failure.wrongUse("the events can't be read: \(error)")
    }
    if value.array != nil { value = .dictionary(["events": value]) }
    // A first pass with empty images checks the form of all events before any image is stored.
    let noBytes = Blob(digest: .zero, byteCount: 0)
    _ = try CommitDocument(replacingFiles(in: value) { _ in (noBytes, []) })
    let journal = try arguments.openForCommit(terminal)
    let document = try CommitDocument(replacingFiles(in: value) { try store($0, in: journal) })
    let commit = try journal.commit(
      by: arguments.value("--by") ?? document.author ?? arguments.author,
      note: arguments.value("--note") ?? document.note ?? "", metadata: document.metadata,
      date: document.date, expecting: document.expectations.map { .entity($0.entity, at: $0.revision) }
    ) { try document.apply(to: &$0) }
    if !commit.isEmpty { terminal.output.noteDone(entry: commit.revision) }
    try print(commit.isEmpty ? nil : try journal.entry(at: commit.revision), terminal)
  }

  private static func read(_ path: String?, _ terminal: Terminal) throws -> [UInt8] {
    let path = path ?? "-"
    if path == "-", isatty(STDIN_FILENO) == 1 {
      terminal.warn("reading events from the terminal, until Ctrl-D")
    }
    return Array(try inputFile(path))
  }

  /// Stores the bytes of an image. Returns the blob and its first 16 bytes.
  private static func store(_ path: String, in journal: CatalogJournal) throws -> (Blob, head: [UInt8]) {
    let blob: Blob
    do { blob = try journal.blobs.add(contentsOf: URL(fileURLWithPath: path)) } catch {
      guard (error as? JournalError)?.code == .notFound else { throw error }
      throw Failure.wrongUse("there is no file \(path.printable) for an image")
    }
    return (blob, Array(try journal.blobs.reader(of: blob, isChecked: false).piece(at: 0, byteCount: 16)))
  }

  /// In events of images, replaces the name of a file by the digest and the size of the file's bytes.
  private static func replacingFiles(
    in value: FieldValue, _ image: (_ path: String) throws -> (Blob, head: [UInt8])
  ) rethrows -> FieldValue {
    guard var body = value.dictionary, let events = body["events"]?.array else { return value }
    body["events"] = .array(
      try events.map { event in
        guard var members = event.dictionary, members["entity"]?.string?.hasPrefix("image") == true,
          var changes = members["changes"]?.dictionary,
          let path = changes.removeValue(forKey: "file")?.string
        else { return event }
        let (blob, head) = try image(path)
        changes["sha256"] = .string(blob.digest.hex)
        changes["byteCount"] = .integer(Int64(blob.byteCount))
        if members["operation"]?.string == "add" {
          let name = URL(fileURLWithPath: path).lastPathComponent
          changes["name"] = changes["name"] ?? .string(name)
          changes["mediaType"] = changes["mediaType"] ?? .string(MediaType.of(name: name, head: head))
        }
        members["changes"] = .dictionary(changes)
        return .dictionary(members)
      })
    return .dictionary(body)
  }

  private static func print(_ entry: Entry?, _ terminal: Terminal) throws {
    guard let entry else {
      return try terminal.answer(["revision": nil as Revision?]) {
        try terminal.line("nothing to do: everything is as requested already")
      }
    }
    if terminal.isJSON { return try terminal.printJSON(entry.json) }
    try terminal.line(
      terminal.styled(
        .bold, "entry \(entry.revision): \(entry.events.count.counted("entity", "entities")) changed"))
    for event in entry.events {
      try terminal.line("\(event.operation.sign) \(Catalog.name(of: event.entity))")
    }
  }
}
