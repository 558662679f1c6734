import CatalogModel
import Foundation
import JSON

enum RestoreBackup: Verb {
  static let text = """
    restore-backup: creates a journal from a backup in one file

    Creates the journal NEW from a file that backup --file has written, with the same history and digests. Everything is
    checked; if something is cut or altered, no journal is created. A backup in a folder is a journal already and needs no
    restore-backup.

    Arguments:
    FILE: the file, or - for standard input
    NEW: the folder of the journal to create
    [--json]

    $ journal restore-backup Books.jbak Books.journal  # recreates the journal
    $ ssh host cat Books.jbak | journal restore-backup - Books.journal  # the same through a pipe
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let name = arguments.operand("NEW")
    let (url, options) = (arguments.url("NEW"), try arguments.journalOptions())
    let receipt =
      arguments.operand("FILE") == "-"
      ? try CatalogJournal.restore(to: url, options: options, progress: terminal.showCopying) { count in
        try FileHandle.standardInput.read(upToCount: count) ?? Data()
      }
      : try CatalogJournal.restore(
        backupFile: arguments.url("FILE"), to: url, options: options, progress: terminal.showCopying)
    try terminal.answer { json in
      json.member("path", name)
      json.member("journal", receipt.journal.description)
      json.member("revision", receipt.revision)
      json.member("digest", receipt.digest.hex)
    } text: {
      try terminal.line("created \(name.printable) with revision \(receipt.revision)")
      try terminal.line("digest \(receipt.digest.hex)")
    }
  }
}
