import CatalogModel
import Foundation

/// `journal init JOURNAL`
enum Init: Verb {
  static let name = "init"
  static let summary = "creates an empty journal"
  static let explanation = "Creates a folder with an empty journal. Its parent folder must exist."
  static let syntax = Syntax(operands: [Syntax.journal])
  static let examples = [
    (command: "journal init Books.journal", does: "creates the folder Books.journal")
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let path = arguments.operand("JOURNAL")
    let journal = try CatalogJournal.create(
      at: URL(fileURLWithPath: path), options: arguments.journalOptions(layers: .automatic))
    try terminal.output.line("created the empty journal \(path.printable)")
    try journal.close()
    return .done
  }
}
