import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import LegacyStores

enum Erase: Verb {
  static let text = """
    erase: erases the content of entities from the whole history

    Erases the content of all events of the entities, and the bytes of images that nothing else names. The images of an
    item are erased with it. This can't be undone: the bytes are nowhere in the folder afterwards, not in the log,
    the layers and snapshots, or temporary files. Dates, digests and the order of events stay, so the journal still
    verifies, and earlier receipts still hold. A new entry records what was erased, when, by whom and why, unless nothing
    was left to erase.

    All layers and snapshots are removed. Layers are written anew automatically; snapshots must be taken again.

    --notes also erases the author, note and metadata of all entries that changed the entities, and of reverts, undos and
    redos whose default notes quote one of those. Other entries with the same text are named and stay. The next run of a
    backup removes the erased content from it; files of backup --file keep it until they are made again.

    Arguments: JOURNAL
    ENTITY…: such as item:42
    --reason TEXT: why; becomes the note of the new entry
    [--notes]: also erase author, note and metadata of the entries that changed them
    [--by AUTHOR], [--json]

    $ journal erase Books.journal item:42 --reason 'asked for by letter of 3 May'  # item 42 and its images,
      for good
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let entities = try arguments.values("ENTITY").map { try Catalog.entity($0) }
    let url = arguments.url("JOURNAL")
    let options = try arguments.journalOptions()
    let report = try CatalogJournal.erase(
      Set(entities), at: url, reason: arguments.value("--reason") ?? "", by: arguments.author,
      includingWords: arguments.has("--notes"), options: options, progress: terminal.showCopying)
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
    try terminal.answer([
      "entities": names, "events": report.eventCount, "images": report.imageCount,
      "annotations": report.annotations.count,
      "mentions": ifAny(report.mentions.isEmpty ? nil : report.mentions), "revision": report.head.revision,
      "digest": report.head.digest.hex,
    ]) {
      let list = names.joined(separator: ", ")
      if report.isEmpty { return try terminal.line("nothing to erase: no content of \(list) is left") }
      let annotations = report.annotations.count.counted("entry", "entries")
      try terminal.line(
        "erased \(list): \(report.eventCount.counted("event")), \(report.imageCount.counted("image"))"
          + (report.annotations.isEmpty ? "" : ", the annotations of \(annotations)"))
      if !report.mentions.isEmpty {
        try terminal.line(
          "the same text is in the notes or metadata of these entries, which stay: "
            + report.mentions.map(String.init).listed(upTo: 10)
            + "; to erase it there, erase what they changed with --notes")
      }
      try terminal.line("entry \(report.head.revision) records this; digest \(report.head.digest.hex)")
    }
  }
}
