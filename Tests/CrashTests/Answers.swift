import Foundation
import JournalMaintenance
import Journaling
import LogbookModel

/// The answers of a journal to everything that it can be asked, or the errors that it threw.
struct Answers: Sendable {
  private var answers: [String: Result<String, any Error>] = [:]
  private var problems: [JournalHealth.Problem] = []

  /// - Throws: what opening throws.
  init(_ url: URL, _ mode: Journal<Logbook>.Mode) throws {
    let journal = try Journal<Logbook>.open(at: url, mode: mode)
    answers["head"] = .success("\(journal.head)")
    answers["state"] = .success(Self.text(of: journal.state))
    for revision in 1...4 {
      answers["entry \(revision)"] = Result { "\(try journal.entry(at: revision))" }
      answers["as of \(revision)"] = Result { Self.text(of: try journal.state(asOf: .revision(revision))) }
    }
    for page in 1...2 {
      answers["history \(page)"] = Result { "\(try journal.history(of: .page(page)))" }
    }
    answers["blob"] = Result { try journal.bytesOfBlob() }
    problems = try journal.verify(.deep).problems
    try journal.close()
  }

  /// The first answer that differs and is not an error of the journal; or that an answer was refused although
  /// verification found nothing.
  func problem(against expected: Answers) -> String? {
    var isRefused = false
    for (question, answer) in expected.answers {
      switch (answers[question], answer) {
      case (.success(let found)?, .success(let right)) where found == right: continue
      case (.failure(let error)?, _):
        guard error is JournalError else { return "\(question): not a journal's error: \(error)" }
        isRefused = true
      case (let found, let right): return "\(question): \(found.map { "\($0)" } ?? "none"), not \(right)"
      }
    }
    return isRefused && problems.isEmpty ? "something can't be read, and verify says that all is well" : nil
  }

  /// The same if only a snapshot was damaged: every answer must be given, and verification must name the snapshot and
  /// nothing else.
  func problemWithoutSnapshot(against expected: Answers) -> String? {
    if let problem = problem(against: expected) { return problem }
    for (question, answer) in answers {
      if case .failure(let error) = answer, (try? expected.answers[question]?.get()) != nil {
        return "\(question): refused: \(error)"
      }
    }
    if problems.isEmpty { return "a snapshot is damaged, and verify says that all is well" }
    let others = problems.filter { !($0.path ?? "").contains("/snapshots/") }
    return others.isEmpty ? nil : "verify finds \(others)"
  }

  private static func text(of state: Logbook) -> String {
    state.pages.map { "\($0.number): \($0.row)" }.joined(separator: "\n")
  }
}

extension Journal where State == Logbook {
  /// The bytes of the one blob, which the first entry names.
  fileprivate func bytesOfBlob() throws -> String {
    let entry = try entry(at: 1)
    guard case .add(let record)? = entry.events.first?.change else { return "" }
    return try Logbook.blobs(in: record, of: EntityKey.page(1).kind)
      .map { try blobs.data(of: $0).base64EncodedString() }.joined()
  }
}
