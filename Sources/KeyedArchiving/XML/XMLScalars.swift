/// An integer as Apple's reader accepts it: decimal or, after `0x`, hexadecimal, with or without a sign. Nil also for
/// numbers of more than 128 bits.
func xmlInteger(_ content: [UInt8]) -> Int128? {
  var digits = trimmed(content)
  let sign = digits.first == UInt8(ascii: "-") ? "-" : ""
  if !sign.isEmpty || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
  let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
  if isHexadecimal { digits = digits.dropFirst(2) }
  // No second sign.
  guard let first = digits.first, first > UInt8(ascii: "-") else { return nil }
  return Int128(sign + String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
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
  // Everything after the year has a fixed form.
  let rest = Array(text.suffix(16))
  let form = Array("-00-00T00:00:00Z".utf8)
  guard rest.count == 16, (4...9).contains(text.count - 16), let year = number(text.dropLast(16)),
    zip(rest, form).allSatisfy({ $1 == UInt8(ascii: "0") ? isDigit($0) : $0 == $1 })
  else { return nil }
  let parts = [1, 4, 7, 10, 13].compactMap { number(rest[$0..<$0 + 2]) }
  let (month, day, hour, minute, second) = (parts[0], parts[1], parts[2], parts[3], parts[4])
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

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// A number of a few digits, without anything else.
private func number(_ text: ArraySlice<UInt8>) -> Int? {
  text.allSatisfy(isDigit) ? Int(String(decoding: text, as: UTF8.self)) : nil
}

private func trimmed(_ content: [UInt8]) -> ArraySlice<UInt8> {
  guard let first = content.firstIndex(where: { !isBlank($0) }),
    let last = content.lastIndex(where: { !isBlank($0) })
  else { return [] }
  return content[first...last]
}

private let base64Values: [UInt8?] = {
  var values = [UInt8?](repeating: nil, count: 256)
  let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
  return values
}()

/// The bytes that base64 text encodes, or nil if the text is invalid. Other characters are skipped, as in Foundation
/// and Python. The padding is required, and only skipped characters may follow it.
func base64(_ content: [UInt8]) -> [UInt8]? {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(content.count / 4 * 3)
  var bits: UInt32 = 0
  var bitCount = 0
  var padding = 0
  for character in content {
    if character == UInt8(ascii: "=") { padding += 1 }
    guard let value = base64Values[Int(character)] else { continue }
    guard padding == 0 else { return nil }
    bits = bits << 6 | UInt32(value)
    bitCount += 6
    if bitCount >= 8 {
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
  }
  // Two digits of the last four leave 4 bits, three leave 2 bits.
  let isComplete = bitCount == 0 ? padding == 0 : bitCount == 4 ? padding >= 2 : bitCount == 2 && padding >= 1
  return isComplete ? bytes : nil
}
