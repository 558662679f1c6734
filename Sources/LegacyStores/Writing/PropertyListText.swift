import CatalogModel
import Foundation
import KeyedArchiving

/// Writes property lists: as XML, as the apps do, or in binary form if XML can't express the values.
struct PropertyListText {
  private(set) var text = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">

    """

  /// XML can't express a value: it has control characters, fractions of a second, or keys that are not texts.
  struct Unwritable: Error {}

  /// The bytes of a property list.
  static func bytes(of value: FieldValue, asXML: Bool) throws(ArchiveError) -> [UInt8] {
    if asXML {
      var writer = PropertyListText()
      do {
        try writer.write(value, indent: "")
        return Array((writer.text + "</plist>\n").utf8)
      } catch {
        // Every reader accepts both forms.
      }
    }
    return try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in try writer.write(value) }
  }

  private mutating func write(_ value: FieldValue, indent: String) throws {
    switch value {
    case .null: throw Unwritable()
    case .bool(let flag): text += "\(indent)<\(flag)/>\n"
    case .integer(let integer): text += "\(indent)<integer>\(integer)</integer>\n"
    case .unsigned(let integer): text += "\(indent)<integer>\(integer)</integer>\n"
    case .double(let real): text += "\(indent)<real>\(Self.text(of: real))</real>\n"
    case .string(let string): text += "\(indent)<string>\(try Self.escaped(string))</string>\n"
    case .data(let data): text += "\(indent)<data>\(data.base64EncodedString())</data>\n"
    case .date(let date): text += "\(indent)<date>\(try Self.text(of: date))</date>\n"
    case .array(let elements) where elements.isEmpty: text += "\(indent)<array/>\n"
    case .array(let elements):
      text += "\(indent)<array>\n"
      for element in elements { try write(element, indent: indent + "\t") }
      text += "\(indent)</array>\n"
    case .dictionary(let members):
      let pairs = try Self.pairs(members)
      if pairs.isEmpty {
        text += "\(indent)<dict/>\n"
        return
      }
      text += "\(indent)<dict>\n"
      for (key, member) in pairs {
        text += "\(indent)\t<key>\(try Self.escaped(key))</key>\n"
        try write(member, indent: indent + "\t")
      }
      text += "\(indent)</dict>\n"
    }
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
  fileprivate mutating func write(_ value: FieldValue) throws(ArchiveError) -> Int {
    switch value {
    // Property lists have no null; an empty text is the closest value.
    case .null: return try string("")
    case .bool(let flag): return try bool(flag)
    case .integer(let integer): return try self.integer(integer)
    case .unsigned(let integer): return try unsigned(integer)
    case .double(let real): return try self.real(real)
    case .string(let text): return try string(text)
    case .data(let data): return try self.data(data)
    case .date(let date): return try self.date(date.timeIntervalSinceReferenceDate)
    case .array(let elements): return try array(write(elements))
    case .dictionary(let members):
      if value.objectClass == "NSDate", let seconds = members["NS.time"]?.double { return try date(seconds) }
      if value.objectClass == "UID", let number = members["value"]?.integer {
        return try uid(UInt32(truncatingIfNeeded: number))
      }
      // Without a class these are keys of the app.
      if value.objectClass != nil, let keys = members["NS.keys"]?.array,
        let values = members["NS.objects"]?.array
      {
        return try dictionary(keys: write(keys), values: write(values))
      }
      let sorted = members.sorted { $0.key < $1.key }
      return try dictionary(keys: write(sorted.map { .string($0.key) }), values: write(sorted.map(\.value)))
    }
  }

  private mutating func write(_ values: [FieldValue]) throws(ArchiveError) -> [Int] {
    var numbers: [Int] = []
    for value in values { numbers.append(try write(value)) }
    return numbers
  }
}
