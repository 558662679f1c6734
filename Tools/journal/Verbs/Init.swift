import CatalogModel
import Foundation

enum Init: Verb {
  static let text = """
    init: creates an empty journal

    Creates a folder with an empty journal. Its parent folder must exist.

    Arguments: JOURNAL

    $ journal init Books.journal  # creates the folder Books.journal
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let path = arguments.operand("JOURNAL")
    let journal = try CatalogJournal.create(
      at: arguments.url("JOURNAL"), options: arguments.journalOptions(layers: .automatic))
    try terminal.line("created the empty journal \(path.printable)")
    try journal.close()
  }
}
