package import Foundation

/// A decimal number of up to 39 digits: the value of any `Decimal` except NaN, and of any `Int128` or `UInt128`.
///
/// A record stores a number in the first of three forms that represents it: a 64-bit integer; the double whose shortest
/// digits are those of the number, such as 0.1; a dictionary with one member, such as
/// `{"$decimal": "3.33333333333333333333"}`. So equal numbers have equal bytes.
struct ExactNumber: Equatable {
  let isNegative: Bool
  /// The significant digits as a number, which is 0 or not a multiple of ten.
  let digits: UInt128
  /// The exponent of the power of ten by which the digits are multiplied.
  let exponent: Int

  init(isNegative: Bool, digits: UInt128, exponent: Int) {
    var (digits, exponent) = (digits, exponent)
    // Most numbers fit into 64 bits, and 64-bit division is many times faster.
    while digits > UInt64.max, digits % 10 == 0 { (digits, exponent) = (digits / 10, exponent + 1) }
    if var word = UInt64(exactly: digits), word > 0 {
      while word % 10 == 0 { (word, exponent) = (word / 10, exponent + 1) }
      digits = UInt128(word)
    }
    self.isNegative = isNegative && digits > 0
    self.digits = digits
    self.exponent = digits == 0 ? 0 : exponent
  }

  init(_ integer: some FixedWidthInteger) {
    self.init(isNegative: integer < 0, digits: UInt128(integer.magnitude), exponent: 0)
  }

  /// Makes the number with the shortest digits of a double. From 2⁵³ to 2¹²⁸, where doubles are whole numbers, the
  /// exact value is taken. Nil if the double is not finite.
  init?(_ double: Double) {
    if double.magnitude >= 0x1p53, double.magnitude < 0x1p128 {
      self.init(isNegative: double < 0, digits: UInt128(double.magnitude), exponent: 0)
    } else {
      self.init(digitsOf: double)
    }
  }

  /// Makes the number with the shortest digits of a double; nil if the double is not finite.
  private init?(digitsOf double: Double) {
    // This loop is faster for few digits, and exact: up to 15 digits, no two numbers have the same nearest double.
    for places in 0...4 {
      let digits = (double.magnitude * Self.powersOfTen[places]).rounded()
      guard digits < 1e15 else { break }
      guard digits / Self.powersOfTen[places] == double.magnitude else { continue }
      self.init(isNegative: double < 0, digits: UInt128(UInt64(digits)), exponent: -places)
      return
    }
    self.init(double.description)
  }

  /// Parses a number: an optional sign, digits with an optional point, and an optional exponent of up to three digits.
  /// Nil for any other text, and far beyond the numbers of `Decimal`. Digits after the 38th or so are dropped.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    var place = 0
    func skip(_ characters: StaticString) -> UInt8? {
      guard place < bytes.count, "\(characters)".utf8.contains(bytes[place]) else { return nil }
      place += 1
      return bytes[place - 1]
    }
    func digit() -> UInt8? {
      guard place < bytes.count, case let digit = bytes[place] &- UInt8(ascii: "0"), digit < 10 else {
        return nil
      }
      place += 1
      return digit
    }
    var (digits, exponent) = (UInt128(0), 0)
    /// Whether no digit was dropped.
    var isWhole = true
    func append(_ digit: UInt8) {
      let (product, isTooLarge) = digits.multipliedReportingOverflow(by: 10)
      let (sum, isTooLargeThen) = product.addingReportingOverflow(UInt128(digit))
      isWhole = isWhole && !isTooLarge && !isTooLargeThen
      if isWhole { digits = sum } else { exponent += 1 }
    }
    let isNegative = skip("+-") == UInt8(ascii: "-")
    let start = place
    while let digit = digit() { append(digit) }
    var count = place - start
    if skip(".") != nil {
      let point = place
      while let digit = digit() { append(digit) }
      count += place - point
      exponent -= place - point
    }
    guard count > 0 else { return nil }
    if skip("eE") != nil {
      let sign = skip("+-") == UInt8(ascii: "-") ? -1 : 1
      let start = place
      var power = 0
      while place < start + 4, let digit = digit() { power = power * 10 + Int(digit) }
      guard (1...3).contains(place - start) else { return nil }
      exponent += sign * power
    }
    guard place == bytes.count, (-250...250).contains(exponent) else { return nil }
    self.init(isNegative: isNegative, digits: digits, exponent: exponent)
  }

  /// The digits as a text. It is made in two halves, because making texts of 128-bit integers is slow.
  private var digitText: String {
    let (high, low) = digits.quotientAndRemainder(dividingBy: 10_000_000_000_000_000_000)
    if high == 0 { return UInt64(low).description }
    let lowText = UInt64(low).description
    let highText = UInt64(exactly: high)?.description ?? high.description
    return highText + String(repeating: "0", count: 19 - lowText.utf8.count) + lowText
  }

  /// The number as a text without an exponent.
  var text: String {
    let digits = digitText
    let sign = isNegative ? "-" : ""
    if exponent >= 0 { return sign + digits + String(repeating: "0", count: exponent) }
    let whole = digits.count + exponent
    if whole <= 0 { return sign + "0." + String(repeating: "0", count: -whole) + digits }
    return sign + digits.prefix(whole) + "." + digits.dropFirst(whole)
  }

  /// The value as an integer; nil if it has a fraction or does not fit the type.
  func whole<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
    guard exponent >= 0, exponent < 40 else { return nil }
    var magnitude = digits
    for _ in 0..<exponent {
      let (product, overflows) = magnitude.multipliedReportingOverflow(by: 10)
      if overflows { return nil }
      magnitude = product
    }
    if !isNegative { return T(exactly: magnitude) }
    guard magnitude <= UInt128(1) << 127 else { return nil }
    return T(exactly: Int128(truncatingIfNeeded: 0 &- magnitude))
  }
}

// The forms in a record.
extension ExactNumber {
  /// The only key of a dictionary that represents a number.
  static let key = "$decimal"

  var value: FieldValue {
    if let integer = whole(Int64.self) { return .integer(integer) }
    if let integer = whole(UInt64.self) { return .unsigned(integer) }
    if let double { return .double(double) }
    return .dictionary([Self.key: .string(text)])
  }

  /// Makes the number that a value represents; nil if the value does not represent a number.
  init?(_ value: FieldValue) {
    switch value {
    case .integer(let integer): self.init(integer)
    case .unsigned(let integer): self.init(integer)
    // The shortest digits of a double are those that its writer meant: 0.1, not 0.1000000000000000055.
    case .double(let double): self.init(digitsOf: double)
    case .dictionary(let members):
      guard members.count == 1, case .string(let text)? = members[Self.key] else { return nil }
      self.init(text)
    default: return nil
    }
  }

  /// Makes the number that an encoded dictionary represents; nil if it does not represent a number.
  init?(encoded bytes: UnsafeRawBufferPointer) {
    guard unsafe bytes.starts(with: Self.encodedStart) else { return nil }
    var reader = unsafe CBORReader(bytes, from: Self.encodedStart.count)
    guard let text = try? reader.readText() else { return nil }
    self.init(text)
  }

  private static let encodedStart: [UInt8] = {
    var writer = CBORWriter()
    writer.appendMapHead(count: 1)
    writer.append(text: key)
    return writer.finish()
  }()

  /// The double whose shortest digits are those of this number; nil if there is none.
  private var double: Double? {
    // Both operands are exact, so the quotient is the nearest double. No other number of 15 digits shares it.
    if digits < 1_000_000_000_000_000, (-22 ... -1).contains(exponent) {
      let magnitude = Double(UInt64(digits)) / Self.powersOfTen[-exponent]
      return isNegative ? -magnitude : magnitude
    }
    // The shortest digits of a double are at most 17.
    guard digits < 100_000_000_000_000_000, let double = Double(text),
      ExactNumber(double.description) == self,
      ExactNumber(double) == self
    else { return nil }
    return double
  }

  private static let powersOfTen: [Double] = (0...22).map { exponent in
    (0..<exponent).reduce(1.0) { power, _ in power * 10 }
  }
}

extension ExactNumber {
  /// Makes the number of a `Decimal`; nil for NaN.
  init?(_ decimal: Decimal) {
    if decimal.isNaN { return nil }
    guard Self.readsMantissas else {
      self.init(decimal.description)
      return
    }
    self.init(
      isNegative: decimal.isSignMinus, digits: Self.mantissa(of: decimal), exponent: decimal.exponent)
  }

  /// Whether ``mantissa(of:)`` returns the right digits on this platform.
  private static let readsMantissas: Bool = {
    guard MemoryLayout<Decimal>.size == 20, let greatest = Decimal(string: "\(UInt128.max)") else {
      return false
    }
    return mantissa(of: greatest) == .max
      && mantissa(of: Decimal(sign: .minus, exponent: -5, significand: 258)) == 258
  }()

  /// The digits of a `Decimal`, which are in the last 16 bytes of the structure, as in the `NSDecimal` of C. Foundation
  /// returns them only as a text, which takes a hundred times as long.
  private static func mantissa(of decimal: Decimal) -> UInt128 {
    unsafe withUnsafeBytes(of: decimal) {
      unsafe UInt128(littleEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt128.self))
    }
  }

  /// The number as a `Decimal`; nil if the exponent is beyond those of `Decimal`.
  var decimal: Decimal? {
    var (digits, exponent) = (digits, exponent)
    while exponent > 127, let product = Self.tenfold(digits) { (digits, exponent) = (product, exponent - 1) }
    guard (-128...127).contains(exponent) else { return nil }
    let low = Decimal(UInt64(truncatingIfNeeded: digits))
    let high = digits >> 64
    let significand = high == 0 ? low : Decimal(UInt64(high)) * Self.word + low
    return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand)
  }

  /// 2⁶⁴.
  private static let word = Decimal(UInt64.max) + 1

  private static func tenfold(_ digits: UInt128) -> UInt128? {
    let (product, overflows) = digits.multipliedReportingOverflow(by: 10)
    return overflows ? nil : product
  }
}

// The order of numbers.
extension ExactNumber: Comparable {
  /// Bytes that sort lexicographically as the numbers do.
  var orderedBytes: [UInt8] {
    if digits == 0 { return [1] }
    let digits = digitText.utf8
    // The place of the first digit comes first, and then the digits. They have no trailing zeros, so if they begin with
    // the digits of another number, this number has the greater magnitude.
    let place = 1024 + exponent + digits.count
    let bytes = [UInt8(place >> 8), UInt8(place & 0xFF)] + digits
    return isNegative ? [0] + bytes.map(~) + [0xFF] : [2] + bytes
  }

  static func < (left: ExactNumber, right: ExactNumber) -> Bool {
    left.orderedBytes.lexicographicallyPrecedes(right.orderedBytes)
  }

  /// The largest integer that is not above this number, and whether the two are equal; nil if the integer does not fit.
  var wholeFloor: (value: Int128, isExact: Bool)? {
    if exponent >= 0 { return whole(Int128.self).map { ($0, true) } }
    let power = (0..<(-exponent)).reduce(UInt128(1) as UInt128?) { power, _ in power.flatMap(Self.tenfold) }
    let (quotient, remainder) = power.map { digits.quotientAndRemainder(dividingBy: $0) } ?? (0, digits)
    guard let magnitude = Int128(exactly: quotient) else { return nil }
    return (isNegative ? -magnitude - (remainder > 0 ? 1 : 0) : magnitude, remainder == 0)
  }

  /// The largest double whose number, as made by ``init(_:)-(Double)``, is not above this number.
  var floor: Double {
    let double = Double(text) ?? 0
    guard double.isFinite, let number = ExactNumber(double) else { return double }
    return number > self ? double.nextDown : double
  }
}

extension FieldValue {
  /// Makes the value of a decimal: an integer or a double if that is exact, otherwise a dictionary. NaN becomes a text.
  package init(number decimal: Decimal) { self = ExactNumber(decimal)?.value ?? .string(decimal.description) }

  /// Makes the value of an integer of any width.
  package init(number integer: some FixedWidthInteger) {
    self =
      Int64(exactly: integer).map { .integer($0) } ?? UInt64(exactly: integer).map { .unsigned($0) }
      ?? ExactNumber(integer).value
  }

  /// Parses a number that neither a 64-bit integer nor a double preserves; nil for any other text.
  package init?(longNumber text: String) {
    guard let value = ExactNumber(text)?.value, case .dictionary = value else { return nil }
    self = value
  }
}
