import Foundation

/// The base-128 numbers of index paths, index sets and attributed strings. Each byte has seven bits of a number,
/// the lowest bits first. Its high bit is set unless it is the last byte of the number.
enum Varints {
  /// All numbers of `data`, or nil if it ends within a number or a number needs more than 64 bits.
  ///
  /// - Complexity: O(n) in the byte count.
  static func all(in data: Data) -> [UInt64]? {
    var numbers: [UInt64] = []
    var number: UInt64 = 0
    var shift: UInt64 = 0
    for byte in data {
      let bits = UInt64(byte & 0x7F)
      guard shift < 64, (bits << shift) >> shift == bits else { return nil }
      number |= bits << shift
      if byte & 0x80 == 0 {
        numbers.append(number)
        number = 0
        shift = 0
      } else {
        shift += 7
      }
    }
    return shift == 0 ? numbers : nil
  }

  /// The numbers in this form.
  static func packed(_ numbers: some Sequence<Int>) -> Data {
    var data = Data()
    for number in numbers {
      var rest = UInt(bitPattern: number)
      while rest >= 0x80 {
        data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      data.append(UInt8(rest))
    }
    return data
  }
}
