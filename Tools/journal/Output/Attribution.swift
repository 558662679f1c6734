import CatalogModel
import Foundation
import JSON

/// The text that is printed for an erased author or erased content.
let erasedText = "(erased)"

extension Attributed {
  var authorText: String {
    isAnnotationErased ? erasedText : author.isEmpty ? "(no author)" : author.printable
  }

  func authorCell(width: Int = 20) -> String {
    isAnnotationErased ? erasedText : author.printable.cut(toColumns: width)
  }
}

extension Terminal {
  /// The first line of the note that is not blank, and the clock's date if it differs from the entry's date.
  func note(of entry: some Attributed) -> String {
    let clock = entry.differingClockDate.map { "[clock: \(text(of: $0))]" }
    return [entry.subject.printable, clock ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// - Parameter isShort: whether to omit the digest and fractions of seconds.
  func printHead(of entry: Entry, tags: [String], isShort: Bool = false) throws {
    let names = tags.isEmpty ? "" : " (\(tags.joined(separator: ", ").printable))"
    try line(styled(.yellow, "entry \(entry.revision)\(names)"))
    let text = { (date: Date) in isShort ? self.text(of: date) : self.preciseText(of: date) }
    try line("Date:    \(text(entry.date))")
    if let clockDate = entry.differingClockDate { try line("Clock:   \(text(clockDate))") }
    try line("Author:  \(entry.authorText)")
    if !isShort { try line("Digest:  \(entry.digest.hex)") }
    for (key, value) in entry.metadata.sorted(by: { ExactText($0.key) < ExactText($1.key) }) {
      try line("         \(key.printable) = \(value.printable)")
    }
    if !entry.note.isEmpty {
      try line()
      for text in entry.note.split(separator: "\n", omittingEmptySubsequences: false) {
        try line(text.isEmpty ? "" : "    \(String(text).printable)")
      }
    }
    try line()
  }

  /// The author and the note: `bob: spelling`.
  func authorAndNote(of entry: some Attributed) -> String {
    let note = note(of: entry)
    return entry.authorText + (note.isEmpty ? "" : ": \(note)")
  }
}
