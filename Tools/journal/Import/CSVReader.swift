import Foundation

/// Reads CSV (RFC 4180) record by record. Lines end with LF or CR LF, and cells in quotation marks may have any text.
///
/// As PostgreSQL does, the reader distinguishes an empty cell from an empty text in quotation marks.
final class CSVReader {
  struct Record {
    /// The number of the line on which the record begins, from 1.
    let line: Int
    /// Nil for an empty cell without quotation marks.
    let cells: [String?]
  }

  private let lines: LineReader

  init(_ file: FileHandle, _ path: String) { lines = LineReader(file, path) }

  /// The next record; nil after the last one. Empty lines are skipped.
  /// - Throws: ``LineProblem`` if the text is not CSV, ``Failure`` if the file can't be read.
  func next() throws -> Record? {
    while let first = try lines.nextWithEnd() {
      let start = lines.number
      var text = Array(start == 1 && first.starts(with: [0xEF, 0xBB, 0xBF]) ? first.dropFirst(3) : first)
      if text.allSatisfy({ $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { continue }
      var cells: [String?] = []
      var position = 0
      while true {
        cells.append(try cell(&text, &position, start))
        guard position < text.count, text[position] == UInt8(ascii: ",") else { break }
        position += 1
      }
      return Record(line: start, cells: cells)
    }
    return nil
  }

  /// Reads a cell, and further lines while it is in quotation marks. Leaves the position at what follows.
  private func cell(_ text: inout [UInt8], _ position: inout Int, _ start: Int) throws -> String? {
    let quote = UInt8(ascii: "\"")
    guard position < text.count, text[position] == quote else {
      let end =
        text[position...].firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\n") } ?? text.count
      var content = text[position..<end]
      if end == text.count || text[end] == UInt8(ascii: "\n"), content.last == UInt8(ascii: "\r") {
        content.removeLast()
      }
      if content.contains(quote) {
        throw LineProblem(
          lines.number, "a quotation mark inside a cell; put the cell in quotation marks, and double it")
      }
      position = end
      return content.isEmpty ? nil : try Self.text(content, lines.number)
    }
    let opening = lines.number
    var content: [UInt8] = []
    position += 1
    while true {
      guard let end = text[position...].firstIndex(of: quote) else {
        content += text[position...]
        guard let next = try lines.nextWithEnd() else {
          throw LineProblem(opening, "the quotation mark that begins a cell is never closed")
        }
        (text, position) = (Array(next), 0)
        continue
      }
      content += text[position..<end]
      position = end + 1
      guard position < text.count, text[position] == quote else { break }
      content.append(quote)
      position += 1
    }
    let rest = text[position...]
    guard
      rest.isEmpty || rest.first == UInt8(ascii: ",") || rest.elementsEqual([0x0A])
        || rest.elementsEqual([0x0D, 0x0A])
        || rest.elementsEqual([0x0D])
    else {
      throw LineProblem(
        lines.number, "text after a closing quotation mark; write a quotation mark inside a cell twice")
    }
    return try Self.text(content[...], opening)
  }

  private static func text(_ bytes: ArraySlice<UInt8>, _ line: Int) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw LineProblem(line, "it is not UTF-8; convert the file, for example with iconv")
    }
    return text
  }
}
