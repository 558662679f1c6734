/// An integer as Apple's reader accepts it: decimal or, after `0x`, hexadecimal, with or without a sign.
enum XMLInteger: Equatable {
  case signed(Int64)
  case unsigned(UInt64)
  /// An integer that fits into neither.
  case tooLarge

  init?(_ content: [UInt8]) {
    var digits = trimmed(content)
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
    let isHexadecimal = digits.starts(with: Array("0x".utf8)) || digits.starts(with: Array("0X".utf8))
    if isHexadecimal { digits = digits.dropFirst(2) }
    let radix: UInt64 = isHexadecimal ? 16 : 10
    guard !digits.isEmpty else { return nil }

    var magnitude: UInt64 = 0
    var overflows = false
    for byte in digits {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digit < radix else { return nil }
      let (product, first) = magnitude.multipliedReportingOverflow(by: radix)
      let (sum, second) = product.addingReportingOverflow(UInt64(digit))
      magnitude = sum
      overflows = overflows || first || second
    }
    if overflows {
      self = .tooLarge
    } else if isNegative {
      self = magnitude <= 1 << 63 ? .signed(Int64(truncatingIfNeeded: 0 &- magnitude)) : .tooLarge
    } else if let value = Int64(exactly: magnitude) {
      self = .signed(value)
    } else {
      self = .unsigned(magnitude)
    }
  }
}

/// A decimal number, or `nan`, `inf` or `infinity`, with or without a sign.
func xmlReal(_ content: [UInt8]) -> Double? {
  let text = String(decoding: trimmed(content), as: UTF8.self).lowercased()
  switch text {
  // C's `printf` gives NaN a sign, and Microsoft's adds a word.
  case "nan", "+nan", "-nan", "-nan(ind)": return .nan
  case "inf", "+inf", "infinity", "+infinity": return .infinity
  case "-inf", "-infinity": return -.infinity
  default:
    // Property lists have no hexadecimal real numbers, and no words but those above.
    let isDecimal = text.utf8.allSatisfy { "0123456789+-.e".utf8.contains($0) }
    return isDecimal ? Double(text) : nil
  }
}

/// Seconds since 2001 from a date such as `2001-01-31T23:59:59Z`. The year may have a sign, and more digits.
func xmlDate(_ content: [UInt8]) -> Double? {
  var text = trimmed(content)
  let isNegative = text.first == UInt8(ascii: "-")
  if isNegative { text = text.dropFirst() }
  guard text.last == UInt8(ascii: "Z") else { return nil }
  // Everything after the year has a fixed form.
  let rest = Array(text.suffix(16))
  guard rest.count == 16, (4...9).contains(text.count - 16), let year = digits(text.dropLast(16)),
    rest[0] == UInt8(ascii: "-"), let month = digits(rest[1..<3]),
    rest[3] == UInt8(ascii: "-"), let day = digits(rest[4..<6]),
    rest[6] == UInt8(ascii: "T"), let hour = digits(rest[7..<9]),
    rest[9] == UInt8(ascii: ":"), let minute = digits(rest[10..<12]),
    rest[12] == UInt8(ascii: ":"), let second = digits(rest[13..<15])
  else { return nil }
  let signedYear = isNegative ? -year : year
  guard 1...12 ~= month, 1...dayCount(signedYear, month) ~= day, hour < 24, minute < 60, second < 60 else {
    return nil
  }
  let days = dayNumber(signedYear, month, day) - dayNumber(2001, 1, 1)
  return Double(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// The days from the start of year 0 in the Gregorian calendar, which is used for all years, as in ISO 8601.
private func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
  // Years are counted from March, so that the leap day is the last day of a year.
  let shifted = month > 2 ? year : year - 1
  let leapDays = floorDivision(shifted, 4) - floorDivision(shifted, 100) + floorDivision(shifted, 400)
  let monthFromMarch = (month + 9) % 12
  return 365 * shifted + leapDays + (153 * monthFromMarch + 2) / 5 + day
}

private func dayCount(_ year: Int, _ month: Int) -> Int {
  switch month {
  case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
  case 4, 6, 9, 11: 30
  default: 31
  }
}

private func floorDivision(_ number: Int, _ divisor: Int) -> Int {
  number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor)
}

/// A number of at most nine digits, without anything else.
private func digits(_ text: some Collection<UInt8>) -> Int? {
  guard !text.isEmpty, text.count <= 9 else { return nil }
  var number = 0
  for byte in text {
    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
    number = number * 10 + Int(byte - UInt8(ascii: "0"))
  }
  return number
}

private func trimmed(_ content: [UInt8]) -> ArraySlice<UInt8> {
  guard let first = content.firstIndex(where: { !isBlank($0) }),
    let last = content.lastIndex(where: { !isBlank($0) })
  else { return [] }
  return content[first...last]
}

/// The bytes that base64 text encodes, or nil if the text is invalid. Other characters are skipped, as in Foundation
/// and Python. The padding is required, and only skipped characters may follow it.
func base64(_ content: [UInt8]) -> [UInt8]? {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(content.count / 4 * 3)
  var bits: UInt32 = 0
  var count = 0
  var padding = 0
  for character in content {
    let value: UInt8
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "/"): value = 63
    case UInt8(ascii: "="):
      padding += 1
      continue
    default: continue
    }
    guard padding == 0 else { return nil }
    bits = bits << 6 | UInt32(value)
    count += 1
    if count % 4 == 0 {
      bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
      bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
      bytes.append(UInt8(truncatingIfNeeded: bits))
    }
  }
  switch (count % 4, padding) {
  case (0, 0): break
  case (2, 2...): bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
  case (3, 1...):
    bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
    bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
  default: return nil
  }
  return bytes
}
