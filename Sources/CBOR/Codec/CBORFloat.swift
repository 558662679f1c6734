/// A number in the shortest of CBOR's three floating-point widths that represents it exactly.
///
/// Bit patterns are used because `Float16` does not exist on every platform.
enum CBORFloat {
  case half(UInt16)
  case single(UInt32)
  case double(UInt64)

  init(_ value: Double) {
    if value.isNaN {
      // All NaNs get the same bits, so that equal values have equal bytes.
      self = .half(0x7E00)
      return
    }
    let single = Float(value)
    guard Double(single) == value else {
      self = .double(value.bitPattern)
      return
    }
    if let half = Self.half(of: single.bitPattern) {
      self = .half(half)
    } else {
      self = .single(single.bitPattern)
    }
  }

  /// Converts single-precision bits of a number other than NaN to half precision; nil if that can't represent it.
  private static func half(of bits: UInt32) -> UInt16? {
    let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
    let exponent = Int((bits >> 23) & 0xFF) - 127
    let mantissa = bits & 0x7F_FFFF
    if exponent == 128 { return mantissa == 0 ? sign | 0x7C00 : nil }
    if exponent == -127 { return mantissa == 0 ? sign : nil }
    if exponent > 15 || exponent < -24 { return nil }
    if exponent >= -14 {
      guard mantissa & 0x1FFF == 0 else { return nil }
      return sign | UInt16(exponent + 15) << 10 | UInt16(mantissa >> 13)
    }
    // A subnormal half: the implicit leading 1 becomes a bit of the mantissa.
    let shift = UInt32(-exponent - 14 + 13)
    let full = mantissa | 0x80_0000
    guard full & ((1 << shift) - 1) == 0 else { return nil }
    return sign | UInt16(full >> shift)
  }

  static func double(half bits: UInt16) -> Double {
    let sign: Double = bits & 0x8000 == 0 ? 1 : -1
    let exponent = Int((bits >> 10) & 0x1F)
    let mantissa = Double(bits & 0x3FF)
    switch exponent {
    case 0: return sign * mantissa * 0x1p-24
    case 31: return mantissa == 0 ? sign * .infinity : .nan
    default:
      return sign * (1 + mantissa / 1024) * Double(sign: .plus, exponent: exponent - 15, significand: 1)
    }
  }
}
