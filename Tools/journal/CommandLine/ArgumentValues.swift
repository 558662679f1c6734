import CBOR
import CatalogModel
import EntitySearch
import Foundation
import JSON

extension EntityQuery {
  /// Advice for a search that found nothing: to write `--where` before a text that looks like a condition, or `@`
  /// before the name of a field of the catalog. Empty if neither applies.
  var hint: String {
    if let text, text.contains("="), !text.contains(" ") {
      return "; for a condition, write --where \(text.printable)"
    }
    return conditions.map { Catalog.hint(forFieldWithoutSign: $0.field) }.first { !$0.isEmpty } ?? ""
  }
}

extension Misfit {
  /// What the misfit is.
  /// - Parameter kind: the kind of the entities that were searched; nil for all.
  func text(kind: String?) -> String {
    switch self {
    case .unknown(let part, let others):
      "\(kind.map { "nothing of the kind \($0.printable)" } ?? "nothing") has \(part.printable)"
        + Suggestion.text(for: part, among: others.sorted()).printable
    case .otherType(let part, let example):
      "\(part.printable) has other values, such as \(example.json.printable.shortened(to: 40)), \(example.typeName)"
    }
  }
}

extension FieldValue {
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .unsigned, .double: "a number"
    case .string: "a text"
    case .data: "data"
    case .date: "a date"
    case .array: "an array"
    case .dictionary: ValueKey(self).hasType(of: ValueKey(.integer(0))) ? "a number" : "an object"
    }
  }
}

extension Arguments {
  /// Makes the query that a text, `--words`, `--kind`, `--category` and `--where` describe.
  /// - Parameter point: the point in time at which to look up the name of a category.
  /// - Throws: ``Failure`` if there is no such category or the text is empty; ``JournalError`` if a condition has no
  ///   operator.
  func query(
    _ journal: CatalogJournal, text: String? = nil, asOf point: RevisionSelector
  ) throws -> EntityQuery {
    if let text, text.isEmpty { throw Failure.wrongUse("TEXT is empty; leave it out to find everything") }
    let words = value("--words")
    if let words, WordPattern(words).isEmpty {
      throw Failure.wrongUse("--words has no word: \(words.printable)")
    }
    let conditions = try values("--where").map {
      try EntityQuery.Condition(parsing: $0, timeZone: timeZone)
    }
    return EntityQuery(
      text: text, words: words, kind: value("--kind"),
      categories: try value("--category").map { try journal.categories(named: $0, asOf: point) },
      conditions: conditions)
  }

  /// The names that an option's value lists, separated by commas; empty if the option was not given.
  /// - Throws: ``Failure`` if one of the names is empty; ``JournalError`` if no kind of entity has a field with the name.
  func names(_ option: String) throws -> [String] {
    guard let text = value(option) else { return [] }
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    for name in names {
      let name = option == "--order" ? String(name.trimmingPrefix("-")) : name
      if name.isEmpty { throw Failure.wrongUse("\(option) has an empty name: \(text.printable)") }
      if name.hasPrefix("@"), !name.hasPrefix("@@") { _ = try NamedParts([name]) }
    }
    return names
  }

  /// The attributes and fields that an option's value lists, separated by commas; nil if the option was not given.
  /// - Throws: ``Failure`` if the list is empty; ``JournalError`` if no kind of entity has a field that the list names.
  func parts(_ option: String) throws -> NamedParts? {
    guard let text = value(option) else { return nil }
    guard !text.allSatisfy({ $0 == "," || $0.isWhitespace }) else {
      throw Failure.wrongUse("\(option) names no attribute")
    }
    return try NamedParts(text.split(separator: ",").map(String.init))
  }
}

/// Reads a file or a pipe. The path `-` means standard input.
/// - Throws: ``Failure`` with ``ExitCode/wrongUse`` and the reason if the file can't be read.
func inputFile(_ path: String) throws(Failure) -> Data {
  func failure(_ code: Int32) -> Failure {
    Failure.wrongUse("\(path.printable) can't be read: \(systemMessage(code))")
  }
  if path == "-" {
    do { return try FileHandle.standardInput.readToEnd() ?? Data() } catch { throw failure(errno) }
  }
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw failure(errno) }
  let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  do { return try file.readToEnd() ?? Data() } catch { throw failure(errno) }
}
