import CatalogModel
import Foundation
import JSON

/// `journal restore-backup FILE NEW`
enum RestoreBackup: Verb {
  static let name = "restore-backup"
  static let summary = "creates a journal from a backup in one file"
  static let explanation = """
    Creates the journal NEW from a file that backup --file has written, with the same history and digests. Everything is
    checked; if something is cut or altered, no journal is created. A backup in a folder is a journal already and needs no
    restore-backup.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.Operand(name: "FILE", help: "the file, or - for standard input", isPath: true),
      Syntax.Operand(name: "NEW", help: "the folder of the journal to create", isPath: true),
    ],
    options: [Syntax.json])
  static let examples = [
    (command: "journal restore-backup Books.jbak Books.journal", does: "recreates the journal"),
    (
      command: "ssh host cat Books.jbak | journal restore-backup - Books.journal",
      does: "the same through a pipe"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let (file, name) = (arguments.operand("FILE"), arguments.operand("NEW"))
    let url = URL(fileURLWithPath: name)
    let options = try arguments.journalOptions(layers: .manual)
    func show(_ progress: CopyProgress) { terminal.showCopying(progress) }
    let receipt: JournalReceipt
    if file == "-" {
      receipt = try CatalogJournal.restore(to: url, options: options, progress: show) { count in
        try FileHandle.standardInput.read(upToCount: count) ?? Data()
      }
    } else {
      receipt = try CatalogJournal.restore(
        backupFile: URL(fileURLWithPath: file), to: url, options: options, progress: show)
    }
    terminal.progress.clear()
    if arguments.has("--json") {
      try terminal.printJSON { writer in
        writer.member("path", name)
        writer.member("journal", receipt.journal.description)
        writer.member("revision", receipt.revision)
        writer.member("digest", receipt.digest.hex)
      }
      return .done
    }
    try terminal.output.line("created \(name.printable) with revision \(receipt.revision)")
    try terminal.output.line("digest \(receipt.digest.hex)")
    return .done
  }
}

extension Terminal {
  /// Shows the progress of a copy.
  func showCopying(_ state: CopyProgress) {
    progress.show {
      switch state.phase {
      case .copying: "copying: \(state.done.grouped) of \(state.all.grouped) entries"
      case .proving: "proving: \(state.done.grouped) of \(state.all.grouped) entries"
      }
    }
  }
}
