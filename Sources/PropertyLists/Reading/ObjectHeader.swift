/// The kind of an object and the range of its content, which was checked to be within the bytes of the objects.
package struct ObjectHeader: Sendable {
  package let kind: ObjectKind
  /// The byte offset of the object.
  package let offset: Int
  /// The byte offset of the object's content.
  package let start: Int
  /// The size of the content: bytes of a number, date, data or ASCII string; UTF-16 code units; members of a
  /// collection. For a boolean, 0 is false and 1 is true.
  package let count: Int

  /// Whether the object is a string or data.
  package var hasContent: Bool { kind.isString || kind == .data }

  /// The size in bytes of a string or data, as it is stored.
  package var byteCount: Int { kind == .utf16String ? 2 * count : count }

  /// Whether the text or the data takes memory of its own. Less fits into the value itself.
  package var isLong: Bool { hasContent && byteCount > 15 }
}

/// The kinds of stored objects. Strings are of two kinds, by their encoding.
package enum ObjectKind: UInt8, Sendable {
  case null
  case bool
  case integer
  case real
  case date
  case data
  case asciiString
  case utf16String
  case uid
  case array
  case set
  case dictionary

  package var isCollection: Bool { rawValue >= Self.array.rawValue }
  package var isString: Bool { self == .asciiString || self == .utf16String }

  /// The kind in words with an article, for error messages.
  package var words: String {
    switch self {
    case .null: "a null"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .real: "a real"
    case .date: "a date"
    case .data: "data"
    case .asciiString, .utf16String: "a string"
    case .uid: "a UID"
    case .array: "an array"
    case .set: "a set"
    case .dictionary: "a dictionary"
    }
  }
}

extension PropertyList {
  @inline(__always)
  package func offset(of number: Int) throws(ArchiveError) -> Int {
    guard number >= 0, number < objectCount else { throw noObject(number) }
    let place = objectsEnd + number * offsetWidth
    let offset = try bytes.number(at: place, width: offsetWidth)
    guard offset >= Self.headerSize, offset < objectsEnd else {
      throw malformed("object number \(number) has the offset \(offset), where no object can be", place)
    }
    return Int(offset)
  }

  /// Reads the header of the object with a number. Allocates nothing.
  package func header(_ number: Int) throws(ArchiveError) -> ObjectHeader {
    try header(at: offset(of: number))
  }

  package func header(at offset: Int) throws(ArchiveError) -> ObjectHeader {
    let marker = try bytes.byte(at: offset)
    let low = Int(marker & 0xF)
    switch marker >> 4 {
    case 0x0:
      switch low {
      case 0x0: return ObjectHeader(kind: .null, offset: offset, start: offset + 1, count: 0)
      case 0x8: return ObjectHeader(kind: .bool, offset: offset, start: offset + 1, count: 0)
      case 0x9: return ObjectHeader(kind: .bool, offset: offset, start: offset + 1, count: 1)
      default: throw unknown(marker, offset)
      }
    case 0x1 where low <= 4: return try sized(.integer, offset, offset + 1, 1 << low, 1)
    case 0x2 where low == 2 || low == 3: return try sized(.real, offset, offset + 1, 1 << low, 1)
    case 0x3 where low == 3: return try sized(.date, offset, offset + 1, 8, 1)
    case 0x4: return try counted(.data, offset, low, 1)
    case 0x5: return try counted(.asciiString, offset, low, 1)
    case 0x6: return try counted(.utf16String, offset, low, 2)
    case 0x8: return try sized(.uid, offset, offset + 1, low + 1, 1)
    case 0xA: return try counted(.array, offset, low, referenceWidth)
    case 0xC: return try counted(.set, offset, low, referenceWidth)
    case 0xD: return try counted(.dictionary, offset, low, 2 * referenceWidth)
    default: throw unknown(marker, offset)
    }
  }

  /// The header of an object whose count is in its marker, or in an integer after the marker.
  @inline(__always)
  private func counted(
    _ kind: ObjectKind, _ offset: Int, _ low: Int, _ size: Int
  ) throws(ArchiveError) -> ObjectHeader {
    if low < 0xF { return try sized(kind, offset, offset + 1, low, size) }
    let marker = try bytes.byte(at: offset + 1)
    guard marker >> 4 == 1, marker & 0xF <= 4 else {
      throw malformed("the length of \(kind.words) is not an integer", offset + 1)
    }
    let width = 1 << Int(marker & 0xF)
    guard offset + 2 + width <= objectsEnd else { throw cut(kind, offset) }
    let count = try bytes.number(at: offset + 2, width: width)
    guard count <= UInt64(Int.max) else { throw cut(kind, offset) }
    return try sized(kind, offset, offset + 2 + width, Int(count), size)
  }

  /// The header of an object whose content has `count` times `unit` bytes. Throws if they end after the objects.
  @inline(__always)
  private func sized(
    _ kind: ObjectKind, _ offset: Int, _ start: Int, _ count: Int, _ unit: Int
  ) throws(ArchiveError) -> ObjectHeader {
    // A hostile count can make the product overflow. A division can't, but would take longer than all else here.
    let size = count.multipliedReportingOverflow(by: unit)
    guard !size.overflow, start <= objectsEnd, size.partialValue <= objectsEnd - start else {
      throw cut(kind, offset)
    }
    return ObjectHeader(kind: kind, offset: offset, start: start, count: count)
  }

  @inline(never)
  private func noObject(_ number: Int) -> ArchiveError {
    ArchiveError(
      .danglingReference, "there is no object number \(number): the property list has \(objectCount)",
      path: bytes.path)
  }

  @inline(never)
  private func cut(_ kind: ObjectKind, _ offset: Int) -> ArchiveError {
    malformed("the length of \(kind.words) goes beyond the objects, which end at byte \(objectsEnd)", offset)
  }

  @inline(never)
  private func unknown(_ marker: UInt8, _ offset: Int) -> ArchiveError {
    let hex = String(marker, radix: 16, uppercase: true)
    return malformed("0x\(marker < 16 ? "0" : "")\(hex) is not an object marker of this format", offset)
  }

  @inline(never)
  package func malformed(_ message: String, _ offset: Int) -> ArchiveError {
    ArchiveError(.malformed, message, offset: place(offset), path: bytes.path)
  }

  /// The offset for errors; nil for XML, because an offset in the binary form is not the one in the text.
  package func place(_ offset: Int) -> Int? { format == .binary ? offset : nil }
}

extension PropertyList {
  /// The object number of a collection's member at `index`. In a dictionary, n keys precede n values.
  @inline(__always)
  package func reference(_ header: ObjectHeader, _ index: Int) throws(ArchiveError) -> Int {
    guard header.kind.isCollection, index >= 0, index < memberCount(header) else {
      throw ArchiveError(.missing, "there is no member \(index)", offset: header.offset, path: bytes.path)
    }
    let offset = header.start + index * referenceWidth
    let number = try bytes.number(at: offset, width: referenceWidth)
    guard number < UInt64(objectCount) else {
      throw ArchiveError(
        .danglingReference, "a collection names object number \(number), but there are \(objectCount)",
        offset: offset, path: bytes.path)
    }
    return Int(number)
  }

  /// How many references a collection holds: keys and values both count.
  @inline(__always)
  package func memberCount(_ header: ObjectHeader) -> Int {
    header.kind == .dictionary ? 2 * header.count : header.count
  }
}
