import CatalogModel
import EntitySearch
import Foundation
import JSON

/// One change of one part of an entity, as a flat row. All verbs print the same columns in the same order.
struct ChangeRow {
  static let columns = [
    "revision", "date", "clockDate", "author", "note", "entity", "label", "kind", "operation", "field", "old",
    "new",
  ]

  /// The entry that made the change, and what is attributed to it; nil for a difference, which several may have made.
  var entry: (revision: Revision, attribution: any Attributed)?
  let entity: EntityKey
  let label: String?
  /// The kind of an item, or `category`, `image`, `tag` or `rule`; nil if the item was erased.
  let kind: String?
  /// Nil for a value whose change is not known.
  let operation: String?
  /// Nil for an event that changes no part, or whose content was erased.
  let part: PartChange?

  /// The cells in the order of ``columns``. The old and the new value are JSON texts, so null differs from no value.
  fileprivate var cells: [Cell] {
    let attribution = entry?.attribution
    let isKnown = attribution?.isAnnotationErased == false
    func json(_ value: FieldValue?) -> Cell {
      guard let value, let part else { return .none }
      return .text(Catalog.shown(value, part.key, of: entity.kind).json)
    }
    return [
      entry.map { .number($0.revision) } ?? .none, Cell(attribution?.date.precise),
      Cell(attribution?.clockDate.precise), Cell(isKnown ? attribution?.author : nil),
      Cell(isKnown ? attribution?.note : nil), .text(Catalog.name(of: entity)), Cell(label), Cell(kind),
      Cell(operation), Cell(part.map { Catalog.name(of: $0.key, of: entity.kind) }), json(part?.old),
      json(part?.new),
    ]
  }

  fileprivate enum Cell: JSONWritable {
    case none
    case number(Int)
    case text(String)

    init(_ text: String?) { self = text.map { .text($0) } ?? .none }

    func write(to writer: inout JSONWriter) {
      switch self {
      case .none: writer.json("null")
      case .number(let number): number.write(to: &writer)
      case .text(let text): text.write(to: &writer)
      }
    }
  }
}

/// Prints rows as JSON lines, as CSV (RFC 4180), or as CSV with tabs between.
final class RowPrinter {
  private let terminal: Terminal
  /// Nil for JSON lines.
  private let separator: String?
  private let lineEnd: String

  /// Nil if none of `--rows`, `--csv` and `--tsv` is given.
  /// - Parameter options: the options of the verb that change what it prints otherwise, but not rows.
  /// - Throws: ``Failure`` if the options exclude each other.
  init?(_ arguments: Arguments, excluding options: [String] = [], _ terminal: Terminal) throws {
    let (isCSV, isTSV) = (arguments.has("--csv"), arguments.has("--tsv"))
    guard isCSV || isTSV || arguments.has("--rows") else { return nil }
    let others = [isCSV && isTSV ? "--tsv" : nil, isCSV || isTSV ? "--json" : nil] + options
    let form = isCSV ? "--csv" : isTSV ? "--tsv" : "--rows"
    for other in others.compactMap(\.self) where arguments.has(other) {
      throw arguments.misuse("\(form) and \(other) exclude each other")
    }
    self.terminal = terminal
    separator = isCSV ? "," : isTSV ? "\t" : nil
    // RFC 4180 demands CR LF. Programs that read tabs, such as cut and awk, would add the CR to the last cell.
    lineEnd = isCSV ? "\r\n" : "\n"
    if separator != nil { try print(ChangeRow.columns.map { .text($0) }) }
  }

  func print(_ row: ChangeRow) throws { try print(row.cells) }

  /// Prints a row for each part that an entity's event changed, or one row if there is none.
  func print(
    _ entry: (revision: Revision, attribution: any Attributed)?, _ entity: EntityKey, label: String?,
    kind: String?, _ operation: JournalEvent.Operation, _ parts: [PartChange]
  ) throws {
    let shown = parts.filter { !$0.key.isByteCount(of: entity.kind) }
    for part in shown.isEmpty ? [nil] : shown.map(Optional.some) {
      try print(
        ChangeRow(
          entry: entry, entity: entity, label: label, kind: kind, operation: operation.name, part: part))
    }
  }

  private func print(_ cells: [ChangeRow.Cell]) throws {
    guard let separator else {
      return try terminal.printJSON(JSONObject(zip(ChangeRow.columns, cells)))
    }
    let texts = cells.map { cell in
      switch cell {
      case .none: ""
      case .number(let number): "\(number)"
      case .text(let text): text.quoted(for: separator)
      }
    }
    terminal.progress.clear()
    try terminal.output.write(texts.joined(separator: separator) + lineEnd)
  }
}

extension String {
  /// The text as a cell of CSV: in quotation marks if it has a separator, a quotation mark or the end of a line.
  fileprivate func quoted(for separator: String) -> String {
    let mark = separator.utf8.first
    let isPlain = utf8.allSatisfy { byte in
      byte != mark && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\r")
    }
    if isPlain { return self }
    // Bytes are compared, because a quotation mark and a combining mark after it are one character.
    var bytes = [UInt8(ascii: "\"")]
    for byte in utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension EntityRecord {
  /// The kind of the item that has this record, or `category`, `image`, `tag` or `rule`.
  func kindName(of entity: EntityKey) -> String {
    entity.kind == .item ? self[field: ItemField.kind]?.string ?? "" : Catalog.kindName(of: entity.kind)
  }
}
