import CatalogModel

// Who made an entry, when and why, as all tables and texts print it.

/// Replaces an erased author or content.
let erasedText = "(erased)"

extension Attributed {
  /// The author in a sentence.
  var authorText: String {
    isAnnotationErased ? erasedText : author.isEmpty ? "(no author)" : author.printable
  }

  /// The author in a column of a table; empty if there is none.
  func authorCell(width: Int = 20) -> String {
    isAnnotationErased ? erasedText : author.printable.cut(toColumns: width)
  }
}

extension Terminal {
  /// The first line of the note that is not blank, followed by the clock's date in brackets if it differs from the entry's.
  func note(of entry: some Attributed) -> String {
    let clock = entry.differingClockDate.map { "[clock: \(text(of: $0))]" }
    return [entry.subject.printable, clock ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// `bob: spelling`, or only the author if there is no note.
  func authorAndNote(of entry: some Attributed) -> String {
    let note = note(of: entry)
    return entry.authorText + (note.isEmpty ? "" : ": \(note)")
  }
}
