import CatalogModel
import Foundation
import JSON

/// A table in a file: the rows of a CSV file, or a JSON object on each line.
struct TableFile {
  struct Row {
    let line: Int
    let attributes: [String: FieldValue]
  }

  enum Form: String { case csv, jsonl }

  let path: String
  let form: Form
  /// The column that identifies a row.
  let key: String
  /// The types of columns; others are texts in CSV, and as they are in JSON.
  let types: [String: ColumnType]
  /// The zone of dates that name no zone.
  let timeZone: TimeZone

  /// Calls `body` with each row, or with what is wrong with it.
  /// - Returns: the names of all columns.
  /// - Throws: ``Failure`` if the file can't be read, ``LineProblem`` if nothing after a line can be read, and the errors
  ///   of `body`.
  func forEachRow(_ body: (Result<Row, LineProblem>) throws -> Void) throws -> Set<String> {
    let file = try LineReader.open(path)
    return try form == .csv ? forEachRecord(of: file, body) : forEachObject(of: file, body)
  }

  private func forEachRecord(
    of file: FileHandle, _ body: (Result<Row, LineProblem>) throws -> Void
  ) throws -> Set<String> {
    let reader = CSVReader(file, path)
    guard let header = try reader.next() else { throw LineProblem(1, "the names of the columns are missing") }
    let names = header.cells.map { $0 ?? "" }
    if names.contains("") { throw LineProblem(header.line, "a column has no name") }
    guard names.contains(key) else { throw Failure.wrongUse("there is no column \(key.printable)") }
    // Names that differ only in how Unicode encodes their characters are equal too: no item can have both.
    guard Set(names).count == names.count else {
      throw LineProblem(header.line, "two columns have the same name")
    }
    let columns = names.map { ($0, types[$0] ?? .text) }
    while let record = try reader.next() {
      guard record.cells.count == names.count else {
        let (found, wanted) = (record.cells.count.counted("cell"), names.count.counted("name"))
        try body(.failure(LineProblem(record.line, "it has \(found), and the first line \(wanted)")))
        continue
      }
      var attributes: [String: FieldValue] = [:]
      var problem: LineProblem?
      for (cell, (name, type)) in zip(record.cells, columns) {
        guard let cell, type == .text || !cell.isEmpty else { continue }
        do throws(Failure) { attributes[name] = try type.value(of: cell, in: timeZone) } catch {
          problem = problem ?? LineProblem(record.line, "\(name) \(error.description)")
        }
      }
      try body(problem.map { .failure($0) } ?? .success(Row(line: record.line, attributes: attributes)))
    }
    return Set(names)
  }

  private func forEachObject(
    of file: FileHandle, _ body: (Result<Row, LineProblem>) throws -> Void
  ) throws -> Set<String> {
    let lines = LineReader(file, path)
    var names: Set<String> = []
    while let line = try lines.next() {
      if line.allSatisfy({ $0 == UInt8(ascii: " ") }) { continue }
      let row: Result<Row, LineProblem>
      do { row = .success(Row(line: lines.number, attributes: try attributes(of: line))) } catch {
        row = .failure(LineProblem(lines.number, error.description))
      }
      if case .success(let row) = row { names.formUnion(row.attributes.keys) }
      try body(row)
    }
    return names
  }

  private func attributes(of line: ArraySlice<UInt8>) throws(Failure) -> [String: FieldValue] {
    let value: FieldValue
    do throws(JSONError) { value = try FieldValue(json: line, decodingWrappers: true, exactly: true) } catch {
      throw Failure.no("column \(error.column): \(error.message)")
    }
    guard var attributes = value.dictionary else { throw Failure.no("it is not an object") }
    for (name, type) in types {
      guard case .string(let text)? = attributes[name] else { continue }
      do { attributes[name] = try type.value(of: text, in: timeZone) } catch {
        throw Failure.no("\(name) \(error.description)")
      }
    }
    return attributes
  }
}

/// How the texts of a column are read. Nothing is guessed.
enum ColumnType: String, CaseIterable {
  case text, int, double, bool, date, json

  /// Parses `stars=int`.
  static func parse(_ text: String) throws(Failure) -> (name: String, type: ColumnType) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard let type = parts.last.flatMap({ ColumnType(rawValue: String($0)) }), parts.count > 1 else {
      let known = allCases.map(\.rawValue).enumerated
      throw Failure.wrongUse(
        "--type is COLUMN=TYPE, such as stars=int; the types are \(known), not \"\(text.printable)\"")
    }
    return (parts.dropLast().joined(separator: "="), type)
  }

  /// - Throws: ``Failure`` that says what the text is not.
  func value(of text: String, in timeZone: TimeZone) throws(Failure) -> FieldValue {
    func wrong(_ what: String) -> Failure {
      Failure.no("is no \(what): \"\(text.printable.shortened(to: 40))\"")
    }
    switch self {
    case .text: return .string(text)
    case .json, .int, .double, .bool:
      var loss: String?
      var value: FieldValue?
      do throws(JSONError) { value = try FieldValue(json: text, decodingWrappers: true, exactly: true) } catch
      {
        if error.code == .inexactValue || error.code == .numberOutOfRange { loss = error.message }
      }
      if let loss { throw Failure.no("has \(loss): \"\(text.printable.shortened(to: 40))\"") }
      switch (self, value) {
      case (.json, let value?): return value
      case (.int, .integer?), (.int, .unsigned?), (.double, .double?), (.bool, .bool?): return value ?? .null
      case (.double, .integer(let number)?):
        guard let double = Double(exactly: number) else { throw wrong("number that a double can keep") }
        return .double(double)
      case (.int, _): throw wrong("whole number")
      case (.double, _): throw wrong("number")
      case (.bool, _): throw wrong("true or false")
      default: throw wrong("JSON")
      }
    case .date:
      let found = try? Timestamp(text) ?? Timestamp(calendarDate: text, in: timeZone)
      guard let date = found?.date else { throw wrong("date such as 2026-08-01 or 2026-08-01T10:00:00Z") }
      return .date(date)
    }
  }
}
