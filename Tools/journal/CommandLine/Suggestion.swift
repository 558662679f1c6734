enum Suggestion {
  /// A suggestion, such as ` (did you mean --reverse?)`; an empty text if no known word is similar.
  static func text(for word: String, among known: [String]) -> String {
    let near = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
      .min { $0.distance < $1.distance }
    guard let near, near.distance <= max(1, word.count / 3) else { return "" }
    return " (did you mean \(near.word)?)"
  }

  /// The least number of insertions, deletions, replacements and swaps of neighboring letters between two texts.
  static func distance(_ first: String, _ second: String) -> Int {
    let (a, b) = (Array(first), Array(second))
    var rows = [Array(0...b.count)]
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
