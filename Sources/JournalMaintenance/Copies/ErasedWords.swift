import Journaling

/// The annotations that an erasure erases, and where else their texts are.
///
/// Call ``find(in:)`` for all entries in order, and then ``findMentions(in:)``.
struct ErasedWords {
  /// The entries whose annotations are erased: entries that changed an erased entity, and reverts, undos and redos
  /// whose default notes quote such an entry.
  private(set) var entries: Set<Revision>
  /// Other entries whose notes or metadata have the first line of an erased note, because a person wrote it there; and
  /// entries that quote a pruned entry that may have changed an erased entity.
  private(set) var mentions: Set<Revision> = []
  /// Whether any of `entries` has an annotation that was not erased yet.
  private(set) var isNew = false
  /// The first lines of the notes of `entries`.
  private var subjects: [Revision: Substring] = [:]
  /// The first lines in the form in which they are compared: some words, without case and punctuation.
  private var texts: Set<String> = []
  private var wordCounts: Set<Int> = []
  /// The pruned entries that are known to have changed an erased entity.
  private let past: Set<Revision>
  /// The revision up to which pruned entries may have changed an erased entity; 0 if no pruned entry can have done so.
  private let pruned: Revision
  /// The number of words that are compared, however long the notes are.
  private static let comparedCount = 16

  /// - Parameters:
  ///   - touched: the entries that changed an erased entity.
  ///   - past: the pruned entries that are known to have changed an erased entity.
  ///   - base: the revision up to which history was pruned; 0 if no history was pruned.
  init(touched: Set<Revision>, past: Set<Revision>, base: Revision) {
    entries = touched
    self.past = past
    pruned = past.isEmpty ? 0 : base
  }

  /// Adds an entry that changed an erased entity. Call ``find(in:)`` for the entry next.
  mutating func touch(_ revision: Revision) { entries.insert(revision) }

  /// Adds an entry to `entries` if it quotes one of them, and records the texts of each entry in `entries`.
  mutating func find(in entry: EntryDecoder) throws(JournalError) {
    guard let annotation = try entry.annotation(), entries.contains(entry.revision) || isCopy(annotation)
    else {
      return
    }
    entries.insert(entry.revision)
    isNew = true
    subjects[entry.revision] = annotation.note.subject
    let text = RevertNote.quotation(in: annotation) ?? annotation.note.drop { $0.isWhitespace }
    let words = Self.words(of: text.prefix { !$0.isNewline }).prefix(Self.comparedCount)
    guard !words.isEmpty else { return }
    texts.insert(words.joined(separator: " "))
    wordCounts.insert(words.count)
  }

  private func isCopy(_ annotation: EntryAnnotation) -> Bool {
    guard let origin = annotation.reverted, entries.contains(origin) || past.contains(origin),
      let quotation = RevertNote.quotation(in: annotation)
    else { return false }
    // If the quoted note was erased earlier, any note in the form of a quotation counts as one.
    return subjects[origin].map { $0 == quotation } ?? true
  }

  /// Adds an entry to `mentions` if its annotation stays and has one of the texts.
  mutating func findMentions(in entry: EntryDecoder) throws(JournalError) {
    guard !entries.contains(entry.revision), let annotation = try entry.annotation() else { return }
    let mayQuote = annotation.reverted.map { $0 <= pruned || mentions.contains($0) } ?? false
    if mayQuote && RevertNote.quotation(in: annotation) != nil
      || ([annotation.note] + annotation.metadata.values).contains(where: hasText)
    {
      mentions.insert(entry.revision)
    }
  }

  private func hasText(_ text: String) -> Bool {
    let words = Self.words(of: text[...])
    return wordCounts.contains { count in
      count <= words.count
        && (0...words.count - count).contains {
          texts.contains(words[$0..<$0 + count].joined(separator: " "))
        }
    }
  }

  /// The words of a text, without case and punctuation.
  private static func words(of text: Substring) -> [Substring] {
    text.lowercased()[...].split { !$0.isLetter && !$0.isNumber }
  }
}
