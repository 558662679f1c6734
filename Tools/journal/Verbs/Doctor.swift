import CatalogModel
import Foundation
import JSON

/// `journal doctor JOURNAL`
enum Doctor: Verb {
  static let name = "doctor"
  static let summary = "diagnoses a journal, and says what to do about each problem"
  static let explanation = """
    Checks everything in a journal's folder and changes nothing. If the journal opens, it is verified as with
    verify --deep. If it does not open, each file is checked separately, and the number of proven entries is printed:
    salvage can save those. For a shared journal it also shows where the log is, how far behind this node is, and how the
    server flushes commits. It checks that the server has the same history, reads the entries that this node has not
    seen, and asks the server whether it has each image that this node has not fetched. Exits with 1 if something is
    missing or altered, here or on the server. Leftover files, a server that can't be reached, and altered layers and
    snapshots, which are made of the entries, are not damage.
    """
  static let syntax = Syntax(operands: [Syntax.journal], options: [Syntax.json])
  static let examples = [(command: "journal doctor Books.journal", does: "lists problems and remedies")]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let options = try arguments.journalOptions(layers: .manual)
    let diagnosis = try CatalogJournal.diagnose(
      URL(fileURLWithPath: arguments.operand("JOURNAL")), options: options
    ) { done, all in
      terminal.progress.show { "reading: \(done.grouped) of \(all.grouped) entries" }
    }
    terminal.progress.clear()
    if arguments.has("--json") {
      try printJSON(diagnosis, terminal)
    } else {
      if let sharing = diagnosis.sharing {
        let count = diagnosis.unfetchedBlobCount
        let images: [(name: String, text: String)] =
          count == 0 ? [] : [("images", "\(count.grouped) not fetched yet, and not read")]
        try terminal.printList(sharing.lines + images)
      }
      for finding in diagnosis.findings {
        let mark = finding.isDamage ? terminal.styled(.red, "damage") : terminal.styled(.yellow, "note")
        try terminal.output.line("\(mark): \("\(finding)".printable)")
        try terminal.output.line("    \(finding.advice)")
      }
      let last = diagnosis.lastRevision
      if diagnosis.isSound {
        try terminal.output.line("all is well up to entry \(diagnosis.provenRevision)")
      } else if diagnosis.opens {
        try terminal.output.line("the journal opens")
      } else if !diagnosis.findings.contains(where: \.isDamage) {
        try terminal.output.line("the journal does not open with this program")
      } else {
        try terminal.output.line(
          "the journal does not open; \(diagnosis.provenRevision) of \(last.counted("entry", "entries")) are proven"
        )
      }
    }
    return diagnosis.isSound ? .done : .no
  }

  private static func printJSON(_ diagnosis: Diagnosis, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("sound", diagnosis.isSound)
    writer.member("opens", diagnosis.opens)
    writer.member("provenRevision", diagnosis.provenRevision)
    writer.member("lastRevision", diagnosis.lastRevision)
    if let sharing = diagnosis.sharing {
      sharing.write(to: &writer)
      writer.member("unfetchedBlobs", diagnosis.unfetchedBlobCount)
    }
    writer.key("findings")
    writer.beginArray()
    for finding in diagnosis.findings {
      writer.beginObject()
      writer.member("damage", finding.isDamage)
      writer.member("message", finding.message)
      writer.member("advice", finding.advice)
      writer.key("revision")
      if let revision = finding.revision { writer.integer(revision) } else { writer.null() }
      writer.member("path", finding.path)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
