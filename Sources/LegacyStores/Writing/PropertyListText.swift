import CatalogModel
import Foundation
import KeyedArchiving
import SHA256

/// Writes property lists: as XML, as the apps do, or in binary form if XML can't express the values.
enum PropertyListText {
  private static let head = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">

    """

  /// XML can't express a value: it has control characters, fractions of a second, or keys that are not texts.
  private struct Unwritable: Error {}

  static func bytes(of value: FieldValue, asXML: Bool) throws(ArchiveError) -> [UInt8] {
    // Every reader accepts both forms.
    if asXML, let text = try? element(value, indent: "") { return Array((head + text + "</plist>\n").utf8) }
    var written: [ContentDigest: Int] = [:]
    return try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      try writer.write(value, &written)
    }
  }

  private static func element(_ value: FieldValue, indent: String) throws -> String {
    let inner = indent + "\t"
    let text =
      switch value {
      case .null: throw Unwritable()
      case .bool(let flag): "<\(flag)/>"
      case .integer(let integer): "<integer>\(integer)</integer>"
      case .unsigned(let integer): "<integer>\(integer)</integer>"
      case .double(let real): "<real>\(Self.text(of: real))</real>"
      case .string(let string): "<string>\(try escaped(string))</string>"
      case .data(let data): "<data>\(data.base64EncodedString())</data>"
      case .date(let date): "<date>\(try Self.text(of: date))</date>"
      case .array(let elements): list("array", try elements.map { try element($0, indent: inner) }, indent)
      case .dictionary(let members):
        list(
          "dict",
          try pairs(members).map { key, value in
            "\(inner)<key>\(try escaped(key))</key>\n" + (try element(value, indent: inner))
          }, indent)
      }
    return "\(indent)\(text)\n"
  }

  private static func list(_ tag: String, _ parts: [String], _ indent: String) -> String {
    parts.isEmpty ? "<\(tag)/>" : "<\(tag)>\n\(parts.joined())\(indent)</\(tag)>"
  }

  /// The pairs of a dictionary, which may have the explicit form.
  private static func pairs(_ members: [String: FieldValue]) throws -> [(key: String, value: FieldValue)] {
    guard members[Reference.objectClass] != nil else { return members.sorted { $0.key < $1.key } }
    guard let keys = members["NS.keys"]?.array, let values = members["NS.objects"]?.array,
      keys.count == values.count
    else { throw Unwritable() }
    return try zip(keys, values).map { key, value in
      guard let key = key.string else { throw Unwritable() }
      return (key, value)
    }
  }

  private static func text(of real: Double) -> String {
    if real.isNaN { return "nan" }
    if real.isInfinite { return real < 0 ? "-infinity" : "+infinity" }
    return "\(real)"
  }

  private static func text(of date: Date) throws -> String {
    let seconds = date.timeIntervalSince1970
    guard seconds == seconds.rounded(), let stamp = Timestamp(date), stamp.hasFourDigitYear
    else {
      throw Unwritable()
    }
    // Up to the seconds of 2026-08-01T10:00:00.000000Z.
    return stamp.description.prefix(19) + "Z"
  }

  private static func escaped(_ string: String) throws -> String {
    var text = ""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\t", "\n": text.unicodeScalars.append(scalar)
      // Most readers of XML turn a carriage return into a line feed, and reject other control characters.
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: throw Unwritable()
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension BinaryPropertyListWriter {
  /// Writes a value and its contents.
  /// - Parameter written: the numbers of the values that are no collections, by the digest of their bytes, because equal
  ///   texts can have different ones. Each is written once, as the apps do it.
  fileprivate mutating func write(
    _ value: FieldValue, _ written: inout [ContentDigest: Int]
  ) throws(ArchiveError) -> Int {
    switch value {
    case .array(let elements): return try array(write(elements, &written))
    case .dictionary(let members): return try write(members, value.objectClass, &written)
    default:
      let digest = SHA256Hash.digest(EntityRecord(["": value]).bytes)
      if let number = written[digest] { return number }
      let number = try write(scalar: value)
      written[digest] = number
      return number
    }
  }

  private mutating func write(scalar value: FieldValue) throws(ArchiveError) -> Int {
    switch value {
    // Property lists have no null; an empty text is the closest value.
    case .null, .array, .dictionary: try string("")
    case .bool(let flag): try bool(flag)
    case .integer(let integer): try self.integer(integer)
    case .unsigned(let integer): try unsigned(integer)
    case .double(let real): try self.real(real)
    case .string(let text): try string(text)
    case .data(let data): try self.data(data)
    case .date(let date): try self.date(date.timeIntervalSinceReferenceDate)
    }
  }

  private mutating func write(
    _ members: [String: FieldValue], _ className: String?, _ written: inout [ContentDigest: Int]
  ) throws(ArchiveError) -> Int {
    if className == "NSDate", let seconds = members["NS.time"]?.double { return try date(seconds) }
    if className == "UID", let number = members["value"]?.integer {
      return try uid(UInt32(truncatingIfNeeded: number))
    }
    // Without a class these are keys of the app.
    if className != nil, let keys = members["NS.keys"]?.array, let values = members["NS.objects"]?.array {
      return try dictionary(keys: write(keys, &written), values: write(values, &written))
    }
    let sorted = members.sorted { $0.key < $1.key }
    return try dictionary(
      keys: write(sorted.map { .string($0.key) }, &written), values: write(sorted.map(\.value), &written))
  }

  private mutating func write(
    _ values: [FieldValue], _ written: inout [ContentDigest: Int]
  ) throws(ArchiveError) -> [Int] {
    var numbers: [Int] = []
    for value in values { numbers.append(try write(value, &written)) }
    return numbers
  }
}
