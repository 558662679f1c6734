/// The texts of positions: an integer and a fraction, as in David Greenspan's "Implementing Fractional Indexing".
///
/// The first character is the integer's sign and length: "a" to "z" for one to 26 digits, "Z" to "A" for negative ones.
/// So the texts compare by their bytes as the numbers do. A fraction does not end with a zero.
enum OrderText {
  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  private static let zero = digits[0]
  private static let last = digits[61]
  /// The least integer. No position is below it.
  private static let least = [UInt8(ascii: "A")] + Array(repeating: zero, count: 26)

  static func isPlace(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.allSatisfy({ digits.contains($0) }), let length = wholeLength(bytes), length <= bytes.count
    else {
      return false
    }
    return bytes.last != zero || bytes.count == length && bytes != least
  }

  /// A text between two positions, of which `low` must be below `high`. Nil stands for an end of the list.
  static func between(_ low: String?, _ high: String?) -> String {
    String(decoding: between(low.map { Array($0.utf8) }, high.map { Array($0.utf8) }), as: UTF8.self)
  }

  private static func between(_ low: [UInt8]?, _ high: [UInt8]?) -> [UInt8] {
    switch (low, high) {
    case (nil, nil): return Array(ListOrder.start.text.utf8)
    case (nil, let high?):
      let (whole, fraction) = split(high)
      if whole == least { return whole + middle([], fraction) }
      // If a position has a fraction, its integer alone is below it.
      return fraction.isEmpty ? stepped(whole, up: false) ?? least + middle([], nil) : whole
    case (let low?, nil):
      let (whole, fraction) = split(low)
      return stepped(whole, up: true) ?? whole + middle(fraction, nil)
    case (let low?, let high?):
      let (lowWhole, lowFraction) = split(low)
      let (highWhole, highFraction) = split(high)
      if lowWhole == highWhole { return lowWhole + middle(lowFraction, highFraction) }
      if let next = stepped(lowWhole, up: true), next.lexicographicallyPrecedes(high) { return next }
      return lowWhole + middle(lowFraction, nil)
    }
  }

  /// A fraction between two others. Nil stands for 1.
  private static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8] {
    var result: [UInt8] = []
    var low = low[...]
    var high = high.map { $0[...] }
    while true {
      let lowDigit = low.popFirst().map(value) ?? 0
      // After its last digit, `high` continues with zeros. These are never reached, because `high` is above `low`.
      let highDigit = high.map { $0.first.map(value) ?? 0 } ?? 62
      if high?.isEmpty == false { high?.removeFirst() }
      if highDigit - lowDigit > 1 {
        result.append(digits[(lowDigit + highDigit) / 2])
        return result
      }
      guard lowDigit < highDigit else {
        result.append(digits[lowDigit])
        continue
      }
      // If `high` has more digits, they can be dropped. If not, any fraction above `low` will do.
      if high?.isEmpty == false {
        result.append(digits[highDigit])
        return result
      }
      result.append(digits[lowDigit])
      high = nil
    }
  }

  private static func value(_ digit: UInt8) -> Int { digits.firstIndex(of: digit) ?? 0 }

  private static func wholeLength(_ text: [UInt8]) -> Int? {
    switch text.first {
    case let head? where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(head):
      Int(head - UInt8(ascii: "a")) + 2
    case let head? where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(head):
      Int(UInt8(ascii: "Z") - head) + 2
    default: nil
    }
  }

  private static func split(_ text: [UInt8]) -> (whole: [UInt8], fraction: [UInt8]) {
    let length = wholeLength(text) ?? 0
    return (Array(text.prefix(length)), Array(text.dropFirst(length)))
  }

  /// The next or the previous integer; nil if there is none, or if it would be ``least``.
  private static func stepped(_ whole: [UInt8], up: Bool) -> [UInt8]? {
    let (end, restart) = up ? (last, zero) : (zero, last)
    var number = whole
    for index in number.indices.dropFirst().reversed() {
      if number[index] != end {
        number[index] = digits[value(number[index]) + (up ? 1 : -1)]
        return number == least ? nil : number
      }
      number[index] = restart
    }
    let head = whole[0]
    switch (head, up) {
    case (UInt8(ascii: "Z"), true): return [UInt8(ascii: "a"), restart]
    case (UInt8(ascii: "a"), false): return [UInt8(ascii: "Z"), restart]
    case (UInt8(ascii: "z"), true), (UInt8(ascii: "A"), false): return nil
    default:
      // Integers get longer away from zero.
      let isLonger = (head >= UInt8(ascii: "a")) == up
      return [up ? head + 1 : head - 1] + number.dropFirst(isLonger ? 1 : 2) + (isLonger ? [restart] : [])
    }
  }
}
