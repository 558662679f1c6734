public import PropertyLists

/// An object of a property list. A collection has the numbers of other objects.
public enum PropertyListObject: Sendable {
  /// The marker 0x00, with which some writers represent a missing value.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  /// An integer that fits into neither `Int64` nor `UInt64`.
  case bigInteger(Int128)
  /// A floating-point number of single or double precision.
  case real(Double)
  /// Seconds since 2001-01-01T00:00:00Z. May be infinite or NaN.
  case date(Double)
  /// The range of the data in `PropertyList.bytes`.
  case data(Range<Int>)
  /// A string.
  case string(String)
  /// A number with which a keyed archive refers to its own objects.
  case uid(UInt32)
  /// The members of an array, in order.
  case array(References)
  /// The members of a set, in the order of the file.
  case set(References)
  /// The keys and the values of a dictionary, in the order of the file. Keys may repeat, and need not be strings.
  case dictionary(keys: References, values: References)
}

extension PropertyList {
  /// An object, by its number.
  ///
  /// A string is decoded as ``PropertyListValue`` describes. Other objects take hardly any time.
  ///
  /// - Throws: `danglingReference` if there is no such object; `malformed` if it breaks the rules of the format; `io`
  ///   or `damaged` if a file can't be read.
  public func object(_ number: Int) throws(ArchiveError) -> PropertyListObject {
    try object(header(number))
  }

  package func object(_ header: ObjectHeader) throws(ArchiveError) -> PropertyListObject {
    switch header.kind {
    case .null: return .null
    case .bool: return .bool(header.count == 1)
    case .integer:
      let value = try integer(header)
      if let small = Int64(exactly: value) { return .integer(small) }
      if let large = UInt64(exactly: value) { return .unsigned(large) }
      return .bigInteger(value)
    case .real: return .real(try real(header))
    case .date: return .date(try real(header))
    case .data: return .data(header.start..<header.start + header.count)
    case .asciiString, .utf16String: return .string(try string(header))
    case .uid: return .uid(try uid(header))
    case .array: return .array(References(self, header))
    case .set: return .set(References(self, header))
    case .dictionary:
      return .dictionary(keys: References(self, header), values: References(self, header, from: header.count))
    }
  }
}

/// The numbers of the objects in a collection, read in place without an allocation.
public struct References: Sendable {
  private let list: PropertyList
  private let header: ObjectHeader
  private let first: Int

  init(_ list: PropertyList, _ header: ObjectHeader, from first: Int = 0) {
    self.list = list
    self.header = header
    self.first = first
  }

  /// How many numbers there are.
  public var count: Int { header.count }

  /// Whether the collection is empty.
  public var isEmpty: Bool { count == 0 }

  /// The number at an index from 0.
  ///
  /// - Throws: `missing` if there is no such index; `danglingReference` if the property list has no such object; `io`
  ///   or `damaged` if a file can't be read.
  /// - Complexity: O(1).
  public func number(at index: Int) throws(ArchiveError) -> Int {
    guard index >= 0, index < count else {
      throw ArchiveError(.missing, "there is no member \(index): there are \(count)", path: list.bytes.path)
    }
    return try list.reference(header, first + index)
  }
}

extension PropertyList {
  /// Whether an object is this string.
  package func isString(_ header: ObjectHeader, _ text: StaticString) throws(ArchiveError) -> Bool {
    try unsafe isString(header, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Reads a floating-point number or a date.
  @inline(__always)
  package func real(_ header: ObjectHeader) throws(ArchiveError) -> Double {
    let bits = try bytes.number(at: header.start, width: header.count)
    return header.count == 4
      ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
  }
}
