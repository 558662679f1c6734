import CatalogModel
import Foundation
import JSON
import LegacyStores

/// `journal erase JOURNAL ENTITY… --reason TEXT`
enum Erase: Verb {
  static let name = "erase"
  static let summary = "erases the content of entities from the whole history"
  static let explanation = """
    Erases the content of all events of the entities, and the bytes of images that nothing else names. The images of an
    item are erased with it. This can't be undone: the bytes are nowhere in the folder afterwards, not in the log,
    the layers and snapshots, or temporary files. Dates, digests and the order of events stay, so the journal still
    verifies, and earlier receipts still hold. A new entry records what was erased, when, by whom and why, unless nothing
    was left to erase.

    All layers and snapshots are removed. Layers are written anew automatically; snapshots must be taken again.

    --notes also erases the author, note and metadata of all entries that changed the entities, and of reverts, undos and
    redos whose default notes quote one of those. Other entries with the same text are named and stay. The next run of a
    backup removes the erased content from it; files of backup --file keep it until they are made again.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal, Syntax.Operand(name: "ENTITY", help: "such as item:42", isRepeated: true)],
    options: [
      Syntax.Option(
        name: "--reason", value: "TEXT", help: "why; becomes the note of the new entry", isRequired: true),
      Syntax.Option(
        name: "--notes", help: "also erase author, note and metadata of the entries that changed them"),
      Syntax.author, Syntax.json,
    ])
  static let examples = [
    (
      command: "journal erase Books.journal item:42 --reason 'asked for by letter of 3 May'",
      does: "item 42 and its images, for good"
    )
  ]

  private static let shownMentions = 10

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let reason = arguments.value("--reason"), !reason.isEmpty else {
      throw Failure(.wrongUse, "--reason TEXT is missing: say why it is erased; see journal help erase")
    }
    let entities = try arguments.operandValues("ENTITY").map { try Catalog.entity($0) }
    let url = URL(fileURLWithPath: arguments.operand("JOURNAL"))
    let options = try arguments.journalOptions(layers: .manual)
    let report = try CatalogJournal.erase(
      Set(entities), at: url, reason: reason, by: arguments.author,
      includingWords: arguments.has("--notes"), options: options
    ) { terminal.showCopying($0) }
    terminal.progress.clear()
    if !report.isEmpty { terminal.output.noteDone(entry: report.head.revision) }
    let after = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
    let memories = after.state.importMemories(of: report.entities).map { Catalog.name(of: $0.entity) }
    try after.close()
    if !memories.isEmpty {
      terminal.warn(
        "journal: imports remember something of what was erased, such as digests and keys; erase that too: "
          + memories.joined(separator: ", "))
    }
    let names = report.entities.map { Catalog.name(of: $0) }
    if arguments.has("--json") {
      try terminal.printJSON { writer in
        writer.key("entities")
        writer.beginArray()
        for name in names { writer.string(name) }
        writer.endArray()
        writer.member("events", report.eventCount)
        writer.member("images", report.imageCount)
        writer.member("annotations", report.annotations.count)
        if !report.mentions.isEmpty {
          writer.key("mentions")
          writer.beginArray()
          for revision in report.mentions { writer.integer(revision) }
          writer.endArray()
        }
        writer.member("revision", report.head.revision)
        writer.member("digest", report.head.digest.hex)
      }
      return .done
    }
    let list = names.joined(separator: ", ")
    if report.isEmpty {
      try terminal.output.line("nothing to erase: no content of \(list) is left")
      return .done
    }
    try terminal.output.line(
      "erased \(list): \(report.eventCount.counted("event")), "
        + report.imageCount.counted("image")
        + (report.annotations.isEmpty
          ? "" : ", the annotations of \(report.annotations.count.counted("entry", "entries"))"))
    if !report.mentions.isEmpty {
      let hidden = report.mentions.count - shownMentions
      try terminal.output.line(
        "the same text is in the notes or metadata of these entries, which stay: "
          + report.mentions.prefix(shownMentions).map(String.init).joined(separator: ", ")
          + (hidden > 0 ? " and \(hidden.grouped) more" : "")
          + "; to erase it there, erase what they changed with --notes")
    }
    try terminal.output.line("entry \(report.head.revision) records this; digest \(report.head.digest.hex)")
    return .done
  }
}
