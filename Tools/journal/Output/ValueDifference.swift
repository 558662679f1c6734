import CatalogModel

/// The differences of two nested values.
enum ValueDifference {
  /// The innermost places that differ, each with its path, such as `name.official` or `borders[2]`.
  static func leaves(
    _ old: FieldValue?, _ new: FieldValue?, path: String
  ) -> [(path: String, old: FieldValue?, new: FieldValue?)] {
    switch (old, new) {
    case (let old?, let new?) where old == new: return []
    case (.dictionary(let old)?, .dictionary(let new)?):
      let keys = Set(old.keys).union(new.keys).sorted { ExactText($0) < ExactText($1) }
      return keys.flatMap { leaves(old[$0], new[$0], path: "\(path).\($0)") }
    case (.array(let old)?, .array(let new)?):
      return (0..<max(old.count, new.count)).flatMap { index in
        leaves(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil,
          path: "\(path)[\(index)]")
      }
    default: return [(path, old, new)]
    }
  }
}

/// The lines in which two texts differ, with some lines around them.
struct LineDifference {
  /// Each begins with `+`, `-` or a blank; `@@ line 12` names the line in the new text where a group begins.
  let lines: [String]

  /// Texts with more lines are not compared line by line: that would take too long.
  private static let limit = 20_000

  init(_ old: String, _ new: String, context: Int) {
    let (old, new) = (Self.split(old), Self.split(new))
    guard old.count <= Self.limit, new.count <= Self.limit else {
      lines = ["@@ \(old.count.counted("line")) became \(new.count.counted("line"))"]
      return
    }
    let steps = Self.steps(old, new)
    var isShown = [Bool](repeating: false, count: steps.count)
    for (index, step) in steps.enumerated() where step.sign != " " {
      let last = context > steps.count ? steps.count - 1 : min(steps.count - 1, index + context)
      let first = context > steps.count ? 0 : max(0, index - context)
      for near in first...last { isShown[near] = true }
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
    text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { ExactText(String($0)) }
  }

  private static func steps(_ old: [ExactText], _ new: [ExactText]) -> [(sign: Character, line: String)] {
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var steps: [(sign: Character, line: String)] = []
    var (i, j) = (0, 0)
    while i < old.count || j < new.count {
      if i < old.count, removed.contains(i) {
        steps.append(("-", old[i].text))
        i += 1
      } else if j < new.count, inserted.contains(j) {
        steps.append(("+", new[j].text))
        j += 1
      } else {
        steps.append((" ", new[j].text))
        i += 1
        j += 1
      }
    }
    return steps
  }
}

/// Shortens long texts around their difference.
enum CutText {
  /// Both texts in about this many characters. What they have in common at either end is cut, except for some context.
  static func pair(_ first: String, _ second: String, limit: Int) -> (String, String) {
    if fits(first, limit), fits(second, limit) { return (first, second) }
    // Bytes are compared, because a text of a megabyte takes long as characters.
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

  /// A text that differs from another after `prefix` bytes and until `suffix` bytes before its end.
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
