import CatalogModel
import EntitySearch
import Foundation
import JSON

extension EntityQuery {
  /// A remark after nothing was found: the text looks like a condition, or a condition may mean a field of
  /// the catalog, whose name begins with `@`.
  var hint: String {
    if let text, text.contains("="), !text.contains(" ") {
      return "; for a condition, write --where \(text.printable)"
    }
    return conditions.map { Catalog.hint(forFieldWithoutSign: $0.field) }.first { !$0.isEmpty } ?? ""
  }
}

extension Arguments {
  /// - Parameter point: the point in time at which a category has its name.
  /// - Throws: ``Failure`` if there is no such category, or the text is empty; ``JournalError`` if a
  ///   condition has no operator.
  func query(
    _ journal: CatalogJournal, text: String? = nil, asOf point: RevisionSelector
  ) throws -> EntityQuery {
    if let text, text.isEmpty { throw Failure.wrongUse("TEXT is empty; leave it out to find everything") }
    let conditions = try values("--where").map {
      try EntityQuery.Condition(parsing: $0, timeZone: timeZone)
    }
    return EntityQuery(
      text: text, kind: value("--kind"),
      categories: try value("--category").map { try journal.categories(named: $0, asOf: point) },
      conditions: conditions)
  }

  /// The parts that an option's value names, separated by commas; nil if the option was not given.
  /// - Throws: ``Failure`` if the value names none; ``JournalError`` if no kind of entity has a field of that name.
  func parts(_ option: String) throws -> NamedParts? {
    guard let text = value(option) else { return nil }
    guard !text.allSatisfy({ $0 == "," || $0.isWhitespace }) else {
      throw Failure.wrongUse("\(option) names no attribute")
    }
    return try NamedParts(text.split(separator: ",").map(String.init))
  }
}

/// Reads a file or a pipe; `-` is standard input.
/// - Throws: ``Failure`` with ``ExitCode/wrongUse`` and the reason.
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
