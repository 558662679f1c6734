import CatalogModel
import Foundation
import JSON
import JournalServer

/// `journal commit JOURNAL [FILE]`
enum CommitVerb: Verb {
  static let name = "commit"
  static let summary = "adds, changes and deletes entities as JSON says, as one entry"
  static let explanation = """
    Reads events in JSON from FILE, or from standard input, and makes them one entry. It is durable when the verb ends.
    The JSON is an array of events, or an object as POST /api/commits takes it:

      {"author":"ana","note":"read it","metadata":{},"events":[…]}

    An event has the form that log --json prints, without numbers for what is new:

      {"operation":"add","entity":"item","as":"dune","changes":{"kind":"book","attributes":{"title":"Dune"}}}
      {"operation":"update","entity":"item:42","changes":{"attributes":{"stars":5},"removed":["lent"]}}
      {"operation":"delete","entity":"item:7"}
      {"operation":"add","entity":"image","changes":{"item":"dune","file":"cover.png"}}

    "as" is a name by which later events refer to an added item or category. "file" names a file with the bytes of an
    image, seen from the current folder; name and mediaType follow from it unless they are given. "previous":9 in an
    update or a delete demands that revision 9 changed the entity last: otherwise nothing is written, and the exit code
    is 1.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "FILE", help: "a file with the events; by default standard input", isOptional: true,
        isPath: true),
    ],
    options: [
      Syntax.Option(
        name: "--by", value: "AUTHOR", help: "the author; by default the one in the JSON, or your login name"),
      Syntax.Option(name: "--note", value: "TEXT", help: "the note; by default the one in the JSON"),
      Syntax.json,
    ])
  static let examples = [
    (command: "journal commit Books.journal events.json --by ana", does: "makes an entry of a file"),
    (
      command:
        #"echo '[{"operation":"update","entity":"item:42","changes":{"attributes":{"stars":5}}}]' | journal commit Books.journal"#,
      does: "changes one attribute"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let bytes = try read(arguments.optionalOperand("FILE"), terminal)
    var value: FieldValue
    do throws(JSONError) {
      value = try FieldValue(json: bytes, decodingWrappers: true, exactly: true)
    } catch {
      throw Failure(.wrongUse, "the events can't be read: \(error)")
    }
    if value.array != nil { value = .dictionary(["events": value]) }
    // Before images are stored, the form of everything is checked.
    let places = filePlaces(in: value)
    var checked = value
    for place in places { replaceFile(at: place, of: &checked) { _ in (noBytes, []) } }
    _ = try CommitDocument(checked)
    let journal = try arguments.openForCommit(terminal)
    for place in places { try replaceFile(at: place, of: &value) { try store($0, in: journal) } }
    let document = try CommitDocument(value)
    let commit = try journal.commit(
      by: arguments.value("--by") ?? document.author ?? arguments.author,
      note: arguments.value("--note") ?? document.note ?? "", metadata: document.metadata,
      expecting: document.expectations.map { .entity($0.entity, at: $0.revision) }
    ) { try document.apply(to: &$0) }
    if !commit.isEmpty { terminal.output.noteDone(entry: commit.revision) }
    try print(commit.isEmpty ? nil : try journal.entry(at: commit.revision), arguments, terminal)
    try journal.close()
    return .done
  }

  private static func read(_ path: String?, _ terminal: Terminal) throws -> [UInt8] {
    let path = path ?? "-"
    if path == "-", isatty(STDIN_FILENO) == 1 {
      terminal.warn("reading events from the terminal, until Ctrl-D")
    }
    return Array(try inputFile(path))
  }

  // MARK: Images

  /// The events that name a file.
  private static func filePlaces(in value: FieldValue) -> [Int] {
    let events = value.dictionary?["events"]?.array ?? []
    return events.indices.filter { index in
      let event = events[index].dictionary
      return event?["entity"]?.string?.hasPrefix("image") == true
        && event?["changes"]?.dictionary?["file"]?.string != nil
    }
  }

  /// Stands for an image that is not stored yet.
  private static let noBytes = Blob(digest: .zero, byteCount: 0)

  /// Stores the bytes of a file.
  /// - Returns: the image, and its first bytes.
  private static func store(_ path: String, in journal: CatalogJournal) throws -> (Blob, head: [UInt8]) {
    let blob: Blob
    do { blob = try journal.blobs.add(contentsOf: URL(fileURLWithPath: path)) } catch {
      guard (error as? JournalError)?.code == .notFound else { throw error }
      throw Failure(.wrongUse, "there is no file \(path.printable) for an image")
    }
    return (blob, Array(try journal.blobs.reader(of: blob, isChecked: false).piece(at: 0, byteCount: 16)))
  }

  /// Replaces the file that an event names by the digest of the image.
  private static func replaceFile(
    at index: Int, of value: inout FieldValue, _ image: (_ path: String) throws -> (Blob, head: [UInt8])
  ) rethrows {
    guard var body = value.dictionary, var events = body["events"]?.array,
      var event = events[index].dictionary, var changes = event["changes"]?.dictionary,
      let path = changes.removeValue(forKey: "file")?.string
    else { return }
    let (blob, head) = try image(path)
    changes["sha256"] = .string(blob.digest.hex)
    changes["byteCount"] = .integer(Int64(blob.byteCount))
    if event["operation"]?.string == "add" {
      let name = URL(fileURLWithPath: path).lastPathComponent
      if changes["name"] == nil { changes["name"] = .string(name) }
      if changes["mediaType"] == nil { changes["mediaType"] = .string(MediaType.of(name: name, head: head)) }
    }
    event["changes"] = .dictionary(changes)
    events[index] = .dictionary(event)
    body["events"] = .array(events)
    value = .dictionary(body)
  }

  // MARK: Printing

  /// - Parameter entry: nil if nothing changed.
  private static func print(_ entry: Entry?, _ arguments: Arguments, _ terminal: Terminal) throws {
    if arguments.has("--json") {
      var writer = JSONWriter()
      if let entry {
        entry.write(to: &writer)
      } else {
        writer.beginObject()
        writer.key("revision")
        writer.null()
        writer.endObject()
      }
      writer.newline()
      try terminal.output.write(writer.bytes)
      return
    }
    guard let entry else {
      return try terminal.output.line("nothing to do: everything is as requested already")
    }
    try terminal.output.line(
      terminal.styled(
        .bold, "entry \(entry.revision): \(entry.events.count.counted("entity", "entities")) changed"))
    for event in entry.events {
      try terminal.output.line("\(event.operation.sign) \(Catalog.name(of: event.entity))")
    }
  }
}
