import CatalogModel
import Foundation

/// An entry with its changes, for people.
struct EntryPage {
  let entry: Entry
  let journal: CatalogJournal
  let isFull: Bool
  let terminal: Terminal

  func print() throws {
    let tags = journal.state.tags.filter { $0.revision == entry.revision }.map(\.name)
    try Self.printHead(entry, tags: tags, isShort: false, terminal)
    let text = ChangeText(terminal: terminal, isFull: isFull)
    let labels = Labels(journal)
    for event in entry.events {
      let record = try journal.entity(
        event.entity, asOf: .revision(event.operation == .delete ? entry.revision - 1 : entry.revision))
      try text.printHeading(event.entity, event.operation, record?.record)
      try text.print(event, try journal.parts(changedBy: event), in: entry.revision, labels)
    }
  }

  /// Prints the header of an entry; the short form omits the digest.
  static func printHead(_ entry: Entry, tags: [String], isShort: Bool, _ terminal: Terminal) throws {
    let output = terminal.output
    let names = tags.isEmpty ? "" : " (\(tags.joined(separator: ", ").printable))"
    try output.line(terminal.styled(.yellow, "entry \(entry.revision)\(names)"))
    let text = { (date: Date) in isShort ? terminal.text(of: date) : terminal.preciseText(of: date) }
    try output.line("Date:    \(text(entry.date))")
    if let clockDate = entry.differingClockDate {
      try output.line("Clock:   \(text(clockDate))")
    }
    try output.line("Author:  \(entry.authorText)")
    if !isShort { try output.line("Digest:  \(entry.digest.hex)") }
    for (key, value) in entry.metadata.sorted(by: { ExactText($0.key) < ExactText($1.key) }) {
      try output.line("         \(key.printable) = \(value.printable)")
    }
    if !entry.note.isEmpty {
      try output.line()
      for line in entry.note.split(separator: "\n", omittingEmptySubsequences: false) {
        try output.line(line.isEmpty ? "" : "    \(String(line).printable)")
      }
    }
    try output.line()
  }
}
