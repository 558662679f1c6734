import Foundation

/// An integer as Apple's reader accepts it: decimal or, after `0x`, hexadecimal, with or without a sign. Nil for other
/// texts, and for numbers of more than 128 bits.
func xmlInteger(_ content: ArraySlice<UInt8>) -> Int128? {
  var digits = trimmed(content)
  let isNegative = digits.first == UInt8(ascii: "-")
  if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
  if digits.count < 19, let small = number(digits) { return Int128(isNegative ? -small : small) }
  let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
  if isHexadecimal { digits = digits.dropFirst(2) }
  // A second sign is invalid.
  guard let first = digits.first, first > UInt8(ascii: "-") else { return nil }
  let text = (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self)
  return Int128(text, radix: isHexadecimal ? 16 : 10)
}

/// A decimal number, or `nan`, `inf` or `infinity`, with or without a sign; nil for other texts.
func xmlReal(_ content: ArraySlice<UInt8>) -> Double? {
  let text = String(decoding: trimmed(content), as: UTF8.self).lowercased()
  switch text {
  // C's `printf` may write NaN with a sign, and Microsoft's also with `(ind)`.
  case "nan", "+nan", "-nan", "-nan(ind)": return .nan
  case "inf", "+inf", "infinity", "+infinity": return .infinity
  case "-inf", "-infinity": return -.infinity
  default:
    // Property lists have no hexadecimal real numbers, and no words but those above.
    let isDecimal = text.utf8.allSatisfy { "0123456789+-.e".utf8.contains($0) }
    return isDecimal ? Double(text) : nil
  }
}

/// Seconds since 2001 from a date such as `2001-01-31T23:59:59Z`; nil for other texts. The year may have a minus sign
/// and up to nine digits.
func xmlDate(_ content: ArraySlice<UInt8>) -> Double? {
  var text = trimmed(content)
  let isNegative = text.first == UInt8(ascii: "-")
  if isNegative { text = text.dropFirst() }
  // Everything after the year has a fixed form.
  let rest = Array(text.suffix(16))
  guard (20...25).contains(text.count), let year = number(text.dropLast(16)),
    zip(rest, "-00-00T00:00:00Z".utf8).allSatisfy({ $1 == UInt8(ascii: "0") ? isDigit($0) : $0 == $1 })
  else { return nil }
  func part(_ place: Int) -> Int32 { Int32(rest[place]) * 10 + Int32(rest[place + 1]) - 11 * 0x30 }
  let (month, day) = (part(1) - 1, part(4))
  var time = unsafe tm()
  unsafe (time.tm_year, time.tm_mon, time.tm_mday) = (Int32(isNegative ? -year : year) - 1900, month, day)
  unsafe (time.tm_hour, time.tm_min, time.tm_sec) = (part(7), part(10), part(13))
  guard part(7) < 24, part(10) < 60, part(13) < 60 else { return nil }
  let seconds = unsafe timegm(&time)
  // `timegm` has moved a day that does not exist into the next month.
  guard unsafe time.tm_mon == month, unsafe time.tm_mday == day else { return nil }
  // Integers are subtracted, so that the result is rounded only once, also for distant years.
  return Double(seconds - 978_307_200)
}

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// The number in a text of at most 18 digits; nil if the text is empty or has other characters.
private func number(_ text: ArraySlice<UInt8>) -> Int? {
  guard !text.isEmpty, text.allSatisfy(isDigit) else { return nil }
  return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
}

private func trimmed(_ content: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  var content = content.drop(while: isBlank)
  while let last = content.last, isBlank(last) { content.removeLast() }
  return content
}

private let base64Values: [UInt8?] = {
  var values = [UInt8?](repeating: nil, count: 256)
  let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
  return values
}()

/// The bytes that base64 text encodes; nil if the text is invalid. Characters that are not base64 are skipped, as in
/// Foundation and Python. The padding is required, and only skipped characters may follow it.
func base64(_ content: ArraySlice<UInt8>) -> [UInt8]? {
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
  // A last group of two digits instead of four leaves 4 bits, and a group of three digits leaves 2 bits.
  let isComplete = bitCount == 0 ? padding == 0 : bitCount == 4 ? padding >= 2 : bitCount == 2 && padding >= 1
  return isComplete ? bytes : nil
}
