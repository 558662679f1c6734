import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum Init: Verb {
  static let text = """
    init: creates an empty journal, or one from a backup in one file

    Creates a folder with an empty journal. Its parent folder must exist. With --from-backup, the journal has the history
    and the digests of a file that backup --file has written. Everything is checked; if something is cut or altered, no
    journal is created. A backup in a folder is a journal already.

    Arguments: JOURNAL
    [--from-backup FILE]: the file, or - for standard input
    [--json]

    $ journal init Books.journal  # creates the folder Books.journal
    $ journal init Books.journal --from-backup Books.jbak  # recreates a journal from its backup
    $ ssh host cat Books.jbak | journal init Books.journal --from-backup -  # the same through a pipe
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let (name, url) = (arguments.operand("JOURNAL"), arguments.url("JOURNAL"))
    guard let file = arguments.value("--from-backup") else {
      let journal = try CatalogJournal.create(at: url, options: arguments.journalOptions(layers: .automatic))
      try terminal.answer(["path": name, "journal": journal.id.description]) {
        try terminal.line("created the empty journal \(name.printable)")
      }
      try journal.close()
      return
    }
    let options = try arguments.journalOptions()
    let receipt =
      file == "-"
      ? try CatalogJournal.create(at: url, options: options, progress: terminal.showCopying) { count in
        try FileHandle.standardInput.read(upToCount: count) ?? Data()
      }
      : try CatalogJournal.create(
        at: url, fromBackup: URL(fileURLWithPath: file), options: options, progress: terminal.showCopying)
    try terminal.answer([
      "path": name, "journal": receipt.journal.description, "revision": receipt.revision,
      "digest": receipt.digest.hex,
    ]) {
      try terminal.line("created \(name.printable) with revision \(receipt.revision)")
      try terminal.line("digest \(receipt.digest.hex)")
    }
  }
}
