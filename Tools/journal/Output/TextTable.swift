/// Prints rows in aligned columns. Their widths are given, so that rows can be printed as they come, or are those of
/// all rows.
struct TextTable {
  enum Alignment {
    case left
    case right
  }

  struct Column {
    let title: String
    var alignment = Alignment.left
    /// The least width, in columns of the terminal.
    var width = 0
    var style: Style?
    /// Whether it may be narrowed if the terminal is too narrow for all columns.
    var isFlexible = false
    /// Whether it was narrowed, so that its cells are cut.
    fileprivate(set) var isNarrowed = false
  }

  private(set) var columns: [Column]
  /// Whether the last column, and those that were narrowed, are cut so that rows end at the edge of the terminal.
  let isCut: Bool

  /// How much of a text is left at least.
  private static let leastWidth = 8

  /// A table whose columns have given widths, for rows that are not all known yet.
  init(_ columns: [Column], isCut: Bool = false) {
    self.columns = columns
    self.isCut = isCut
  }

  /// A table whose columns are as wide as these rows need or, if it is cut, as the terminal has room for.
  init(_ columns: [Column], fitting rows: [[String]], isCut: Bool, _ terminal: Terminal) {
    self.columns = columns.enumerated().map { index, column in
      var column = column
      column.width = rows.reduce(column.width) { max($0, $1[index].columns) }
      return column
    }
    self.isCut = isCut
    if isCut, let width = terminal.width { narrow(to: width) }
  }

  /// Narrows the widest of the flexible columns until the last one has room.
  private mutating func narrow(to width: Int) {
    guard let last = columns.last else { return }
    var excess = last.alignment == .right ? max(last.width, last.title.columns) : Self.leastWidth
    for column in columns.dropLast() { excess += max(column.width, column.title.columns) + 2 }
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

  func printTitles(_ terminal: Terminal) throws {
    try terminal.output.line(terminal.styled(.bold, line(columns.map(\.title)) { text, _ in text }))
  }

  /// Prints one row; its texts must be printable already.
  func printRow(_ cells: [String], _ terminal: Terminal) throws {
    try terminal.output.line(
      line(isCut ? cut(cells, terminal) : cells) { text, column in
        column.style.map { terminal.styled($0, text) } ?? text
      })
  }

  /// The cells, those of narrowed columns and the last one cut to fit.
  private func cut(_ cells: [String], _ terminal: Terminal) -> [String] {
    guard let width = terminal.width, let last = cells.last else { return cells }
    let cells = zip(cells, columns).map { cell, column in
      column.isNarrowed ? cell.cut(toColumns: column.width) : cell
    }
    if columns.last?.alignment == .right { return cells }
    let taken = zip(cells, columns).dropLast().reduce(0) { sum, cell in
      sum + 2 + max(cell.1.width, cell.1.title.columns, cell.0.columns)
    }
    return cells.dropLast() + [last.cut(toColumns: max(width - taken, Self.leastWidth))]
  }

  private func line(_ cells: [String], _ styled: (String, Column) -> String) -> String {
    var line = ""
    for (index, (cell, column)) in zip(cells, columns).enumerated() {
      let gap = String(repeating: " ", count: max(0, max(column.width, column.title.columns) - cell.columns))
      if index > 0 { line += "  " }
      switch column.alignment {
      case .right: line += gap + styled(cell, column)
      // The last column needs no padding.
      case .left: line += styled(cell, column) + (index == columns.count - 1 ? "" : gap)
      }
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}

extension TextTable {
  /// Prints titles and rows at once.
  static func print(
    _ columns: [Column], _ rows: [[String]], isCut: Bool = false, _ terminal: Terminal
  ) throws {
    let table = TextTable(columns, fitting: rows, isCut: isCut, terminal)
    try table.printTitles(terminal)
    for row in rows { try table.printRow(row, terminal) }
  }
}
