public import Foundation
import PropertyLists

// Texts, numbers, bytes, dates, identifiers and URLs: how each is read, and then how it is written.

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
      // Third-party archivers, and those of interface files, write UTF-8 into `NS.bytes`.
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
  /// - Throws: `ArchiveError` with code `malformed` if parts of an `NSDecimalNumber` are missing or out of range.
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

  /// The integer that a boolean, an integer or an integral real holds. Nil for numbers that are not integral, or don't
  /// fit `Int`.
  ///
  /// A real is accepted because archivers store equal numbers only once, as the kind that came first.
  public var integer: Int? { exactly(Int.self) }

  /// The non-negative integer, up to `UInt64.max`, that a boolean, an integer or an integral real holds.
  public var unsignedInteger: UInt64? { exactly(UInt64.self) }

  func exactly<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .integer(let value): Integer(exactly: value)
    case .unsigned(let value): Integer(exactly: value)
    case .real(let value): Integer(exactly: value)
    default: nil
    }
  }

  /// The value of a boolean, or of the number 0 or 1 as a boolean.
  public var bool: Bool? {
    switch self {
    case .bool(let value): value
    default: integer.flatMap { $0 == 0 ? false : $0 == 1 ? true : nil }
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
          .malformed, "the date is not a number, or more than 100,000 years from 2001",
          object: kind(of: "NSDate")?.uid)
      }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
  }

  /// The identifier that an `NSUUID` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the identifier doesn't have 16 bytes.
  public var uuid: UUID? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSUUID") else { return nil }
      // GNUstep stores the bytes under the key `uuid`.
      let value = if let found = try object["NS.uuidbytes"] { found } else { try object["uuid"] }
      guard let bytes = try value?.data, bytes.count == 16 else {
        throw object.malformed("the UUID doesn't have 16 bytes")
      }
      return unsafe bytes.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
  }

  /// The URL that an `NSURL` holds, relative to its base if it has one. Nil also for a text that Foundation doesn't
  /// accept as a URL, such as the empty text that some apps archive; ``urlTexts`` has that text.
  ///
  /// - Throws: `ArchiveError` for the reasons that ``urlTexts`` names.
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

  /// The text of an `NSURL`, then the text of its base URL, then that of the base's base, and so on.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if there is no text; `cyclic` if a URL is its own base.
  public var urlTexts: [String]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSURL") else { return nil }
      var texts: [String] = []
      var next: ArchivedObject? = object
      while let current = next {
        // Apple's classes never archive more than two levels: a URL with a base is not the base of another URL.
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
}

/// Each call makes a new object.
extension ArchiveNode {
  /// An `NSString`. The text `$null`, which readers interpret as nil, becomes an `NSMutableString`.
  public static func string(_ text: String) -> ArchiveNode { ArchiveNode(content: .bare(.text(text))) }

  /// An `NSMutableString`.
  public static func mutableString(_ text: String) -> ArchiveNode {
    ArchiveNode(.mutableString, ["NS.string": .text(text)])
  }

  /// An `NSNumber` with a boolean.
  public static func number(_ flag: Bool) -> ArchiveNode { ArchiveNode(content: .bare(.bool(flag))) }

  /// An `NSNumber` with an integer.
  public static func number(_ integer: Int64) -> ArchiveNode {
    ArchiveNode(content: .bare(.integer(integer)))
  }

  /// An `NSNumber` with an integer that may be above `Int64.max`.
  public static func number(_ integer: UInt64) -> ArchiveNode {
    ArchiveNode(content: .bare(.unsigned(integer)))
  }

  /// An `NSNumber` with a real number.
  public static func number(_ real: Double) -> ArchiveNode { ArchiveNode(content: .bare(.real(real))) }

  /// An `NSData`.
  public static func data(_ data: Data) -> ArchiveNode { self.data([UInt8](data)) }

  /// An `NSData`.
  package static func data(_ bytes: [UInt8]) -> ArchiveNode { ArchiveNode(content: .bare(.bytes(bytes))) }

  /// An `NSMutableData`.
  public static func mutableData(_ data: Data) -> ArchiveNode {
    ArchiveNode(.mutableData, ["NS.data": .bytes([UInt8](data))])
  }

  /// An `NSDate`.
  public static func date(_ date: Date) -> ArchiveNode {
    ArchiveNode(.date, ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
  }

  /// An `NSUUID`.
  public static func uuid(_ uuid: UUID) -> ArchiveNode {
    ArchiveNode(.uuid, ["NS.uuidbytes": .bytes(unsafe withUnsafeBytes(of: uuid.uuid) { unsafe [UInt8]($0) })])
  }

  /// An `NSURL`, with its base URL.
  public static func url(_ url: URL) -> ArchiveNode {
    let base: Value = if let base = url.baseURL { .node(.url(base)) } else { .null }
    return ArchiveNode(.url, ["NS.base": base, "NS.relative": .string(url.relativeString)])
  }

  /// An `NSNull`, which represents nil in collections.
  public static func null() -> ArchiveNode { ArchiveNode(.null) }
}

extension ArchiveNode.Value {
  /// A new `NSString`.
  public static func string(_ text: String) -> Self { .node(.string(text)) }

  /// A new `NSData`.
  public static func data(_ data: Data) -> Self { .node(.data(data)) }

  /// A new `NSDate`.
  public static func date(_ date: Date) -> Self { .node(.date(date)) }

  /// A new `NSUUID`.
  public static func uuid(_ uuid: UUID) -> Self { .node(.uuid(uuid)) }

  /// A new `NSURL`.
  public static func url(_ url: URL) -> Self { .node(.url(url)) }
}
