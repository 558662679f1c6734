import Foundation

struct Arguments {
  private let verb: String
  private var given: [String: [String]] = [:]

  /// Parses the command line after the verb.
  ///
  /// An option's value is the next word, or is appended to the option: `--at=7` for a long option, `-n7` for a short
  /// one. After `--`, everything is an operand.
  /// - Throws: ``Failure`` with ``ExitCode/wrongUse`` if the words do not fit the syntax.
  init(_ words: [String], of verb: String, syntax: Syntax) throws(Failure) {
    self.verb = verb
    var values: [String] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        values += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        values.append(word)
        continue
      }
      let (name, attached) = Self.split(word, syntax: syntax)
      guard let option = syntax.allOptions.first(where: { $0.name == name }) else {
        let known = syntax.allOptions.map(\.name)
        throw misuse("unknown option \(name)\(Suggestion.text(for: name, among: known))")
      }
      guard given[name] == nil || option.isRepeated else { throw misuse("\(name) is given twice") }
      if let placeholder = option.value {
        guard let value = attached ?? rest.popFirst() else {
          throw misuse("\(name) needs a value: \(name) \(placeholder)")
        }
        if value.isEmpty, let advice = option.insteadOfEmpty { throw misuse("\(name) is empty: \(advice)") }
        given[name, default: []].append(value)
      } else {
        guard attached == nil else { throw misuse("\(name) takes no value") }
        given[name] = [""]
      }
    }
    if !has("--help") { try assign(values, syntax) }
  }

  private mutating func assign(_ values: [String], _ syntax: Syntax) throws(Failure) {
    for (index, operand) in syntax.operands.enumerated() {
      if index < values.count {
        given[operand.name] = operand.isRepeated ? Array(values[index...]) : [values[index]]
        if self.values(operand.name).contains(""), let advice = operand.insteadOfEmpty {
          throw misuse("\(operand.name) is empty; \(advice)")
        }
      } else if !operand.isOptional {
        throw misuse("\(operand.name) is missing (\(operand.help))")
      }
    }
    if values.count > syntax.operands.count, syntax.operands.last?.isRepeated != true {
      throw misuse("there is one argument too many: \(values[syntax.operands.count].printable)")
    }
    for option in syntax.options where !option.isOptional && value(option.name)?.isEmpty ?? true {
      throw misuse("\(option.usage) is missing (\(option.help))")
    }
  }

  private static func split(_ word: String, syntax: Syntax) -> (name: String, value: String?) {
    if word.hasPrefix("--") {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (String(parts[0]), parts.count == 2 ? String(parts[1]) : nil)
    }
    if word == "-h" { return ("--help", nil) }
    let name = String(word.prefix(2))
    let takesValue = syntax.options.contains { $0.name == name && $0.value != nil }
    return takesValue && word.count > 2 ? (name, String(word.dropFirst(2))) : (word, nil)
  }

  func misuse(_ message: String) -> Failure { Failure.wrongUse("\(message); see journal help \(verb)") }

  func url(_ name: String) -> URL { URL(fileURLWithPath: operand(name)) }

  func operand(_ name: String) -> String { value(name) ?? "" }

  func value(_ name: String) -> String? { given[name]?.first }

  func values(_ name: String) -> [String] { given[name] ?? [] }

  func has(_ name: String) -> Bool { given[name] != nil }

  /// The value of an option as a whole number of at least 0; nil if the option was not given.
  /// - Throws: ``Failure`` with ``ExitCode/wrongUse`` if the value is anything else.
  func count(_ name: String) throws(Failure) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw Failure.wrongUse("\(name) needs a whole number from 0 on, not \"\(text.printable)\"")
    }
    return number
  }

  /// The value of an option as a length of time in seconds: `45s`, `30m`, `12h`, `3d` or `2w`; nil if the option was not
  /// given.
  /// - Throws: ``Failure`` with ``ExitCode/wrongUse`` if the value is anything else.
  func seconds(_ name: String) throws(Failure) -> Double? {
    guard let text = value(name) else { return nil }
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()), number >= 0 else {
      throw Failure.wrongUse(
        "\(name) needs a time such as 45s, 30m, 12h, 3d or 2w, not \"\(text.printable)\"")
    }
    return Double(number) * unit
  }
}
