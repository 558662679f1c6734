import CatalogModel

enum ValueDifference {
  /// The innermost parts whose bytes differ, with paths such as `name.official` or `borders[2]`.
  static func leaves(
    _ old: FieldValue?, _ new: FieldValue?, path: String
  ) -> [(path: String, old: FieldValue?, new: FieldValue?)] {
    switch (old, new) {
    case (let old?, let new?) where old.isIdentical(to: new): return []
    case (.dictionary(let old)?, .dictionary(let new)?):
      let (before, after) = (members(old), members(new))
      return Set(before.keys).union(after.keys).sorted().flatMap { key in
        leaves(before[key], after[key], path: "\(path).\(key.text)")
      }
    case (.array(let old)?, .array(let new)?):
      return (0..<max(old.count, new.count)).flatMap { index in
        leaves(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil,
          path: "\(path)[\(index)]")
      }
    default: return [(path, old, new)]
    }
  }

  private static func members(_ dictionary: [String: FieldValue]) -> [ExactText: FieldValue] {
    Dictionary(uniqueKeysWithValues: dictionary.map { (ExactText($0.key), $0.value) })
  }
}

/// The lines in which two texts differ, with `context` lines around them.
struct LineDifference {
  /// Each line begins with `+`, `-` or a blank. `@@ line 12` names the line of the new text where a group begins. A
  /// carriage return at the end is part of a line.
  let lines: [String]

  init(_ old: String, _ new: String, context: Int) {
    let steps = Self.steps(Self.split(old), Self.split(new))
    let isFull = context > steps.count
    var isShown = [Bool](repeating: isFull, count: steps.count)
    for (index, step) in steps.enumerated() where !isFull && step.sign != " " {
      for near in max(0, index - context)...min(steps.count - 1, index + context) { isShown[near] = true }
    }
    var lines: [String] = []
    var number = 1
    var isInGroup = false
    for (index, step) in steps.enumerated() {
      if isShown[index] {
        if !isInGroup { lines.append("@@ line \(number)") }
        lines.append("\(step.sign) \(step.line)")
      }
      isInGroup = isShown[index]
      if step.sign != "-" { number += 1 }
    }
    self.lines = lines
  }

  private static func split(_ text: String) -> [ExactText] {
    // Splits by bytes, because splitting a megabyte by characters takes long.
    text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      ExactText(String(Substring(line)))
    }
  }

  private static func steps(_ old: [ExactText], _ new: [ExactText]) -> [(sign: Character, line: String)] {
    var steps: [(sign: Character, line: String)] = []
    var (i, j) = (0, 0)
    for (nextI, nextJ) in CommonElements.pairs(old, new) + [(old.count, new.count)] {
      for line in old[i..<nextI] { steps.append(("-", line.text)) }
      for line in new[j..<nextJ] { steps.append(("+", line.text)) }
      if nextJ < new.count { steps.append((" ", new[nextJ].text)) }
      (i, j) = (nextI + 1, nextJ + 1)
    }
    return steps
  }
}

/// The longest common subsequence of two arrays, by the algorithm of Myers. Time and memory grow with the
/// square of the number of differences.
enum CommonElements {
  /// The most differences to find. If there are more, everything between the common ends counts as different.
  private static let differenceLimit = 2_000

  static func pairs<Element: Hashable>(_ old: [Element], _ new: [Element]) -> [(Int, Int)] {
    let start = zip(old, new).prefix { $0 == $1 }.count
    let most = min(old.count, new.count) - start
    let end = zip(old.suffix(most).reversed(), new.suffix(most).reversed()).prefix { $0 == $1 }.count
    // Numbers are compared faster than texts.
    var numbers: [Element: Int] = [:]
    func number(_ element: Element) -> Int {
      if let known = numbers[element] { return known }
      numbers[element] = numbers.count
      return numbers.count - 1
    }
    let middle = pairs(old[start..<old.count - end].map(number), new[start..<new.count - end].map(number))
    return (0..<start).map { ($0, $0) } + middle.map { ($0 + start, $1 + start) }
      + (0..<end).map { (old.count - end + $0, new.count - end + $0) }
  }

  /// Finds, for each number of differences, the furthest place on each diagonal, where x minus y is constant.
  private static func pairs(_ a: [Int], _ b: [Int]) -> [(Int, Int)] {
    /// A run of equal elements, and the index of the run before it on the way; -1 if it is the first.
    typealias Run = (x: Int, y: Int, count: Int, before: Int)
    var runs: [Run] = []
    let limit = min(a.count + b.count, differenceLimit)
    // The search begins at x = 0 on the diagonal above the first one.
    var reached = [(x: Int, run: Int)](repeating: (0, -1), count: 2 * limit + 3)
    for count in 0...limit {
      for diagonal in stride(from: -count, through: count, by: 2) {
        let (below, above) = (reached[limit + diagonal], reached[limit + diagonal + 2])
        let isAdded = diagonal == -count || diagonal != count && below.x < above.x
        var (x, run) = isAdded ? above : (below.x + 1, below.run)
        let start = x
        while x < a.count, x - diagonal < b.count, a[x] == b[x - diagonal] { x += 1 }
        if x > start {
          runs.append((start, start - diagonal, x - start, run))
          run = runs.count - 1
        }
        reached[limit + diagonal + 1] = (x, run)
        guard x >= a.count, x - diagonal >= b.count else { continue }
        var way: [Run] = []
        while run >= 0 {
          way.append(runs[run])
          run = runs[run].before
        }
        return way.reversed().flatMap { run in (0..<run.count).map { (run.x + $0, run.y + $0) } }
      }
    }
    return []
  }
}

enum CutText {
  /// Shortens two texts to about `limit` characters around their difference, with some context.
  static func pair(_ first: String, _ second: String, limit: Int) -> (String, String) {
    if fits(first, limit), fits(second, limit) { return (first, second) }
    // Compares bytes, because comparing a megabyte by characters takes long.
    let (a, b) = (first.utf8, second.utf8)
    let prefix = commonCount(a, b)
    let suffix = min(commonCount(a.reversed(), b.reversed()), min(a.count, b.count) - prefix)
    return (cut(first, prefix, suffix, limit), cut(second, prefix, suffix, limit))
  }

  private static func fits(_ text: String, _ limit: Int) -> Bool {
    text.utf8.count <= limit || text.dropFirst(limit).isEmpty
  }

  private static func commonCount(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) -> Int {
    var count = 0
    for (a, b) in zip(first, second) {
      guard a == b else { break }
      count += 1
    }
    return count
  }

  /// Cuts a text whose first `prefix` and last `suffix` bytes equal those of the other text.
  private static func cut(_ text: String, _ prefix: Int, _ suffix: Int, _ limit: Int) -> String {
    let around = 12
    let (start, end) = (text.startIndex, text.endIndex)
    let firstDifference = text.utf8.index(start, offsetBy: prefix)
    let lastDifference = text.utf8.index(end, offsetBy: -suffix)
    let from =
      fits(text, limit) ? start : text.index(firstDifference, offsetBy: -around, limitedBy: start) ?? start
    let to = min(
      text.index(lastDifference, offsetBy: around, limitedBy: end) ?? end,
      text.index(from, offsetBy: limit, limitedBy: end) ?? end)
    return (from > start ? "…" : "") + String(text[from..<to]) + (to < end ? "…" : "")
  }
}
