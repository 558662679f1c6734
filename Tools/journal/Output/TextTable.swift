import JSON

/// Prints rows in columns that are as wide as the first rows need. Later rows are printed as they come.
final class TextTable {
  struct Column {
    let title: String
    var isRight = false
    var width = 0
    var style: Style?
    /// Whether the column may be narrowed if the terminal is narrow.
    var isFlexible = false
    /// Whether the column was narrowed, so that its cells are cut.
    fileprivate(set) var isNarrowed = false

    fileprivate var fullWidth: Int { max(width, title.columns) }
  }

  private var columns: [Column]
  private let terminal: Terminal
  /// Whether the last column and narrowed ones are cut at the edge of the terminal.
  private let isCut: Bool
  private var rows: [[String]]? = []
  private let sampleCount: Int

  /// The least width to which a column is cut.
  private static let leastWidth = 8

  /// - Parameter sampleCount: the number of first rows whose widest cells decide the widths.
  init(_ columns: [Column], sampleCount: Int = .max, isCut: Bool = true, _ terminal: Terminal) {
    self.columns = columns
    self.sampleCount = sampleCount
    self.isCut = isCut
    self.terminal = terminal
  }

  static func print(
    _ columns: [Column], _ rows: [[String]], isCut: Bool = true, _ terminal: Terminal
  ) throws {
    let table = TextTable(columns, isCut: isCut, terminal)
    for row in rows { try table.add(row) }
    try table.end()
  }

  func add(_ row: [String]) throws {
    guard rows != nil else { return try print(row) }
    rows?.append(row)
    if rows?.count ?? 0 >= sampleCount { try end() }
  }

  /// Adds a row or, if JSON is requested, prints an object instead.
  func add(_ row: @autoclosure () throws -> [String], json: @autoclosure () throws -> JSONObject) throws {
    if terminal.isJSON { try terminal.printJSON(json()) } else { try add(row()) }
  }

  func end() throws {
    guard let rows, !rows.isEmpty else { return }
    self.rows = nil
    for index in columns.indices where sampleCount > 0 {
      columns[index].width = rows.reduce(columns[index].width) { max($0, $1[index].columns) }
    }
    if isCut, let width = terminal.width { narrow(to: width) }
    try terminal.line(terminal.styled(.bold, line(columns.map(\.title)) { text, _ in text }))
    for row in rows { try print(row) }
  }

  /// Narrows the widest flexible columns until the last column has room.
  private func narrow(to width: Int) {
    guard let last = columns.last else { return }
    var excess = last.isRight ? last.fullWidth : Self.leastWidth
    for column in columns.dropLast() { excess += column.fullWidth + 2 }
    excess -= width
    while excess > 0 {
      let flexible = columns.indices.dropLast().filter { columns[$0].isFlexible }
      guard let widest = flexible.max(by: { columns[$0].width < columns[$1].width }),
        columns[widest].width > Self.leastWidth
      else { return }
      columns[widest].width -= 1
      columns[widest].isNarrowed = true
      excess -= 1
    }
  }

  private func print(_ row: [String]) throws {
    try terminal.line(
      line(isCut ? cut(row) : row) { text, column in
        column.style.map { terminal.styled($0, text) } ?? text
      })
  }

  private func cut(_ cells: [String]) -> [String] {
    guard let width = terminal.width, let last = cells.last else { return cells }
    let cells = zip(cells, columns).map { cell, column in
      column.isNarrowed ? cell.cut(toColumns: column.width) : cell
    }
    if columns.last?.isRight == true { return cells }
    let taken = zip(cells, columns).dropLast().reduce(0) { $0 + 2 + max($1.1.fullWidth, $1.0.columns) }
    return cells.dropLast() + [last.cut(toColumns: max(width - taken, Self.leastWidth))]
  }

  private func line(_ cells: [String], _ styled: (String, Column) -> String) -> String {
    var line = ""
    for (index, (cell, column)) in zip(cells, columns).enumerated() {
      let gap = String(repeating: " ", count: max(0, column.fullWidth - cell.columns))
      if index > 0 { line += "  " }
      let isLast = index == columns.count - 1
      line += column.isRight ? gap + styled(cell, column) : styled(cell, column) + (isLast ? "" : gap)
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}

extension TextTable.Column {
  static func text(_ title: String) -> Self { Self(title: title) }
  static func flexible(_ title: String) -> Self { Self(title: title, isFlexible: true) }
  static func number(_ title: String) -> Self { Self(title: title, isRight: true) }
  static var revision: Self { Self(title: "REVISION", isRight: true, style: .yellow) }
  static func date(_ terminal: Terminal) -> Self { text(terminal.dateTitle()) }
}
