package import Foundation

/// A decimal number of up to 39 digits: the value of any `Decimal` except NaN, and of any `Int128` or `UInt128`.
///
/// Records have it as an integer of 64 bits if it is one; otherwise as the double whose shortest digits it is, as 0.1;
/// and otherwise as a dictionary with one member, `{"$decimal": "3.33333333333333333333"}`. Each number has one of these
/// forms, so equal numbers have equal bytes.
struct ExactNumber: Equatable {
  let isNegative: Bool
  /// Not a multiple of ten, unless it is 0.
  let digits: UInt128
  /// The power of ten by which the digits are multiplied.
  let exponent: Int

  init(isNegative: Bool, digits: UInt128, exponent: Int) {
    var (digits, exponent) = (digits, exponent)
    // Most numbers fit into a word, whose division is many times faster.
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

  /// The number with the shortest digits of a double or, from 2⁵³, where doubles are whole numbers, its exact value. Nil
  /// if it is not finite.
  init?(_ double: Double) {
    if double.magnitude >= 0x1p53, double.magnitude < 0x1p128 {
      self.init(isNegative: double < 0, digits: UInt128(double.magnitude), exponent: 0)
    } else {
      self.init(digitsOf: double)
    }
  }

  /// The number with the shortest digits of a double, nil if it is not finite.
  private init?(digitsOf double: Double) {
    // Most numbers have few digits. No two numbers of up to 15 digits have the same nearest double.
    for places in 0...4 {
      let digits = (double.magnitude * Self.powersOfTen[places]).rounded()
      guard digits < 1e15 else { break }
      guard digits / Self.powersOfTen[places] == double.magnitude else { continue }
      self.init(isNegative: double < 0, digits: UInt128(UInt64(digits)), exponent: -places)
      return
    }
    self.init(double.description)
  }

  /// The number that a text is: an optional sign, digits with an optional point, and an optional exponent of up to three
  /// digits. Nil for any other text, and far beyond the numbers of `Decimal`. Digits after the 38th or so are dropped.
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
    /// Whether no digit was dropped so far.
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

  /// The digits in two halves, because texts of 128-bit integers are slow to make.
  private var digitText: String {
    let (high, low) = digits.quotientAndRemainder(dividingBy: 10_000_000_000_000_000_000)
    if high == 0 { return UInt64(low).description }
    let lowText = UInt64(low).description
    let highText = UInt64(exactly: high)?.description ?? high.description
    return highText + String(repeating: "0", count: 19 - lowText.utf8.count) + lowText
  }

  /// The digits as a text without an exponent.
  var text: String {
    let digits = digitText
    let sign = isNegative ? "-" : ""
    if exponent >= 0 { return sign + digits + String(repeating: "0", count: exponent) }
    let whole = digits.count + exponent
    if whole <= 0 { return sign + "0." + String(repeating: "0", count: -whole) + digits }
    return sign + digits.prefix(whole) + "." + digits.dropFirst(whole)
  }

  /// The value, if it is a whole number that fits.
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

// The form in a record.
extension ExactNumber {
  /// The only key of a dictionary that stands for a number.
  static let key = "$decimal"

  var value: FieldValue {
    if let integer = whole(Int64.self) { return .integer(integer) }
    if let integer = whole(UInt64.self) { return .unsigned(integer) }
    if let double { return .double(double) }
    return .dictionary([Self.key: .string(text)])
  }

  /// The number that a value is, nil if it is none.
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

  /// The number that an encoded dictionary stands for, nil if it stands for none.
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

  /// The double whose shortest digits these are.
  private var double: Double? {
    // Both are exact, and so the quotient is the nearest double. At 15 digits, no other number is nearer to it.
    if digits < 1_000_000_000_000_000, (-22 ... -1).contains(exponent) {
      let magnitude = Double(UInt64(digits)) / Self.powersOfTen[-exponent]
      return isNegative ? -magnitude : magnitude
    }
    // A double has at most 17 digits.
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
  /// Nil for NaN.
  init?(_ decimal: Decimal) {
    if decimal.isNaN { return nil }
    guard Self.readsMantissas else {
      self.init(decimal.description)
      return
    }
    self.init(
      isNegative: decimal.isSignMinus, digits: Self.mantissa(of: decimal), exponent: decimal.exponent)
  }

  /// Whether ``mantissa(of:)`` is right on this platform.
  private static let readsMantissas: Bool = {
    guard MemoryLayout<Decimal>.size == 20, let greatest = Decimal(string: "\(UInt128.max)") else {
      return false
    }
    return mantissa(of: greatest) == .max
      && mantissa(of: Decimal(sign: .minus, exponent: -5, significand: 258)) == 258
  }()

  /// The digits of a number. Foundation only tells them as a text, which takes a hundred times as long. They are in the
  /// last 16 bytes of the structure, as in the `NSDecimal` of C.
  private static func mantissa(of decimal: Decimal) -> UInt128 {
    unsafe withUnsafeBytes(of: decimal) {
      unsafe UInt128(littleEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt128.self))
    }
  }

  /// Nil if the exponent is beyond those of `Decimal`.
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
  /// Bytes whose order is that of the numbers.
  var orderedBytes: [UInt8] {
    if digits == 0 { return [1] }
    let digits = digitText.utf8
    // The place of the first digit comes first. No number has trailing zeros, so a longer one is greater.
    let place = 1024 + exponent + digits.count
    let bytes = [UInt8(place >> 8), UInt8(place & 0xFF)] + digits
    return isNegative ? [0] + bytes.map(~) + [0xFF] : [2] + bytes
  }

  static func < (left: ExactNumber, right: ExactNumber) -> Bool {
    left.orderedBytes.lexicographicallyPrecedes(right.orderedBytes)
  }

  /// The largest integer that is not above it, and whether it is equal. Nil if it does not fit.
  var wholeFloor: (value: Int128, isExact: Bool)? {
    if exponent >= 0 { return whole(Int128.self).map { ($0, true) } }
    let power = (0..<(-exponent)).reduce(UInt128(1) as UInt128?) { power, _ in power.flatMap(Self.tenfold) }
    let (quotient, remainder) = power.map { digits.quotientAndRemainder(dividingBy: $0) } ?? (0, digits)
    guard let magnitude = Int128(exactly: quotient) else { return nil }
    return (isNegative ? -magnitude - (remainder > 0 ? 1 : 0) : magnitude, remainder == 0)
  }

  /// The largest double that is not above it, as ``init(_:)-(Double)`` sees doubles.
  var floor: Double {
    let double = Double(text) ?? 0
    guard double.isFinite, let number = ExactNumber(double) else { return double }
    return number > self ? double.nextDown : double
  }
}

extension FieldValue {
  /// A decimal number: an integer or a double if that is exact, otherwise a dictionary with its digits. NaN is a text.
  package init(number decimal: Decimal) { self = ExactNumber(decimal)?.value ?? .string(decimal.description) }

  /// An integer of any width.
  package init(number integer: some FixedWidthInteger) {
    self =
      Int64(exactly: integer).map { .integer($0) } ?? UInt64(exactly: integer).map { .unsigned($0) }
      ?? ExactNumber(integer).value
  }

  /// A number that neither an integer of 64 bits nor a double keeps. Nil for any other text.
  package init?(longNumber text: String) {
    guard let value = ExactNumber(text)?.value, case .dictionary = value else { return nil }
    self = value
  }
}
