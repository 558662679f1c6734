public import Foundation
import PropertyLists

extension ArchivedValue {
  /// The text of a plain string, or of an object derived from `NSString`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if such an object holds no text.
  public var string: String? {
    get throws(ArchiveError) {
      if case .string(let text) = self { return text }
      guard let object = kind(of: "NSString") else { return nil }
      switch try object["NS.string"] {
      case .string(let text)?: return text
      case nil: break
      default: throw object.malformed("NS.string is not a string")
      }
      // Third-party archivers, and those of interface files, write UTF-8.
      guard let bytes = try object["NS.bytes"]?.data, let text = String(validating: bytes, as: UTF8.self)
      else {
        throw object.malformed("the string has neither NS.string nor NS.bytes in UTF-8")
      }
      return text
    }
  }

  /// The number that a boolean, an integer, a real or an `NSDecimalNumber` holds, rounded to double precision. May be
  /// infinite or NaN.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it is a decimal number with missing parts.
  public var double: Double? {
    get throws(ArchiveError) {
      switch self {
      case .bool(let value): return value ? 1 : 0
      case .integer(let value): return Double(value)
      case .unsigned(let value): return Double(value)
      case .real(let value): return value
      // `NSDecimalNumber.doubleValue` rounds at each power of ten on Linux: 43.3281 becomes 43.32809999999999.
      default: return try decimal.map { Double($0.description) ?? .nan }
      }
    }
  }

  /// The integer that a boolean, an integer or an integral real holds. Nil for numbers that are not integral or don't
  /// fit.
  ///
  /// A real is accepted because archivers store equal numbers only once, as the kind that came first.
  public var integer: Int? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .integer(let value): Int(exactly: value)
    case .unsigned(let value): Int(exactly: value)
    case .real(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The non-negative integer, up to `UInt64.max`, that a boolean, an integer or an integral real holds.
  public var unsignedInteger: UInt64? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .integer(let value): UInt64(exactly: value)
    case .unsigned(let value): value
    case .real(let value): UInt64(exactly: value)
    default: nil
    }
  }

  /// The boolean that a boolean, or the number 0 or 1, holds.
  public var bool: Bool? {
    switch self {
    case .bool(let value): value
    default: integer.flatMap { $0 == 0 ? false : $0 == 1 ? true : nil }
    }
  }

  /// The exact value of an `NSDecimalNumber`. Nil for other numbers.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if its parts are missing or out of range.
  public var decimal: Decimal? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSDecimalNumber") else { return nil }
      guard let exponent = try object["NS.exponent"]?.integer, let length = try object["NS.length"]?.integer,
        let isNegative = try object["NS.negative"]?.bool, let mantissa = try object["NS.mantissa"]?.data,
        // 1 means that the lower byte comes first, as on all of Apple's current platforms.
        let decimal = ArchivedDecimal(
          exponent: exponent, length: length, isNegative: isNegative, mantissa: [UInt8](mantissa),
          isLowFirst: try object["NS.mantissa.bo"]?.integer ?? 1 == 1)
      else {
        throw object.malformed("the decimal number has no exponent, length, sign or mantissa, or a wrong one")
      }
      return decimal.decimal
    }
  }

  /// The bytes of plain data, or of an object derived from `NSData`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if such an object holds no bytes.
  public var data: Data? {
    get throws(ArchiveError) {
      if case .data(let data) = self { return data }
      guard let object = kind(of: "NSData") else { return nil }
      for key in ["NS.data", "NS.bytes"] {
        switch try object[key] {
        case .data(let data)?: return data
        case nil: continue
        default: throw object.malformed("\(key) is not data")
        }
      }
      throw object.malformed("the data object has neither NS.data nor NS.bytes")
    }
  }

  /// The seconds from 2001-01-01 00:00 UTC to the date that an `NSDate` or a date of the property list holds. May be
  /// infinite or NaN.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSDate` has no time.
  public var secondsSince2001: Double? {
    get throws(ArchiveError) {
      if case .date(let seconds) = self { return seconds }
      guard let object = kind(of: "NSDate") else { return nil }
      guard let seconds = try object["NS.time"]?.double else {
        throw object.malformed("the date has no NS.time")
      }
      return seconds
    }
  }

  /// The date that an `NSDate` or a date of the property list holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the date is NaN, or more than 100,000 years from 2001, which
  ///   Foundation can't format. ``secondsSince2001`` gives such values too.
  public var date: Date? {
    get throws(ArchiveError) {
      guard let seconds = try secondsSince2001 else { return nil }
      guard abs(seconds) <= 100_000 * 365.2425 * 86400 else {
        throw ArchiveError(
          .malformed, "the date is not a number, or more than 100,000 years from 2001", object: uid)
      }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
  }

  /// The identifier that an `NSUUID` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it doesn't have 16 bytes.
  public var uuid: UUID? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSUUID") else { return nil }
      // GNUstep has another key.
      let value = if let found = try object["NS.uuidbytes"] { found } else { try object["uuid"] }
      guard let bytes = try value?.data, bytes.count == 16 else {
        throw object.malformed("the UUID doesn't have 16 bytes")
      }
      let b = [UInt8](bytes)
      return UUID(
        uuid: (
          b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
        ))
    }
  }

  /// The URL that an `NSURL` holds, relative to its base if it has one. Nil also for a text that Foundation doesn't
  /// accept as a URL, such as the empty ones that apps archive; ``urlTexts`` gives that text.
  ///
  /// - Throws: As ``urlTexts``.
  public var url: URL? {
    get throws(ArchiveError) {
      guard let texts = try urlTexts else { return nil }
      var url: URL?
      for text in texts.reversed() {
        guard let resolved = URL(string: text, relativeTo: url) else { return nil }
        url = resolved
      }
      return url
    }
  }

  /// The text of an `NSURL`, then that of its base if it has one, and so on.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if there is no text; `cyclic` if a URL is its own base.
  public var urlTexts: [String]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSURL") else { return nil }
      var texts: [String] = []
      var next: ArchivedObject? = object
      while let current = next {
        // In archives of Apple's classes, a URL with a base is never the base of another URL.
        guard texts.count < 16 else {
          throw ArchiveError(.cyclic, "the URL is its own base", object: object.uid)
        }
        guard let text = try current.string("NS.relative") else {
          throw current.malformed("the URL has no NS.relative")
        }
        texts.append(text)
        next = try current.object("NS.base", of: "NSURL")
      }
      return texts
    }
  }

  /// The object, if the value is one whose class is one of the given classes or descends from one.
  func kind(of classes: String...) -> ArchivedObject? {
    guard case .object(let object) = self, classes.contains(where: { object.isKind(of: $0) }) else {
      return nil
    }
    return object
  }

  /// The UID of the object, if the value is one.
  var uid: Int? {
    guard case .object(let object) = self else { return nil }
    return object.uid
  }
}
