import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum Doctor: Verb {
  static let text = """
    doctor: diagnoses a journal, and says what to do about each problem

    Checks everything in a journal's folder and changes nothing. If the journal opens, it is verified as with
    verify --deep. If it does not open, each file is checked separately, and the number of proven entries is printed:
    salvage can save those. For a shared journal it also shows where the log is, how far behind this node is, and how the
    server flushes commits. It checks that the server has the same history, reads the entries that this node has not
    seen, and asks the server whether it has each image that this node has not fetched. Exits with 1 if something is
    missing or altered, here or on the server. Leftover files, a server that can't be reached, and altered layers and
    snapshots, which are made of the entries, are not damage.

    Arguments: JOURNAL, [--json]

    $ journal doctor Books.journal  # lists problems and remedies
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let diagnosis = try CatalogJournal.diagnose(
      arguments.url("JOURNAL"), options: arguments.journalOptions()
    ) { terminal.showProgress("reading", $0, of: $1) }
    let findings = diagnosis.problems.map { finding -> JSONObject in
      [
        "damage": finding.isDamage, "message": finding.message, "advice": finding.advice,
        "revision": finding.revision, "path": finding.path,
      ]
    }
    try terminal.answer([
      "sound": !diagnosis.isDamaged, "opens": diagnosis.opens, "provenRevision": diagnosis.checkedRevision,
      "lastRevision": diagnosis.lastRevision, "shared": ifAny(diagnosis.sharing?.json),
      "unfetchedBlobs": ifAny(diagnosis.sharing.map { _ in diagnosis.unfetchedBlobCount }),
      "findings": findings,
    ]) {
      try print(diagnosis, terminal)
    }
    if diagnosis.isDamaged { terminal.code = .no }
  }

  private static func print(_ diagnosis: JournalHealth, _ terminal: Terminal) throws {
    if let sharing = diagnosis.sharing {
      let count = diagnosis.unfetchedBlobCount
      let images = count == 0 ? [] : [("images", "\(count.grouped) not fetched yet, and not read")]
      try terminal.printList(sharing.lines + images, width: 12)
    }
    for finding in diagnosis.problems {
      let mark = finding.isDamage ? terminal.styled(.red, "damage") : terminal.styled(.yellow, "note")
      try terminal.line("\(mark): \("\(finding)".printable)")
      try terminal.line("    \(finding.advice)")
    }
    let outcome =
      if !diagnosis.isDamaged {
        "all is well up to entry \(diagnosis.checkedRevision)"
      } else if diagnosis.opens {
        "the journal opens"
      } else if diagnosis.damage == nil {
        "the journal does not open with this program"
      } else {
        "the journal does not open; \(diagnosis.checkedRevision) of "
          + "\(diagnosis.lastRevision.counted("entry", "entries")) are proven"
      }
    try terminal.line(outcome)
  }
}
