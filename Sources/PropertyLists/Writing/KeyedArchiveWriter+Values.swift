public import Foundation

/// Values that the writer writes only once and uses again, because they have no identity.
struct KnownValues {
  var null = KeyedArchiveWriter.Value(number: 0)
  var bools: [UInt32?] = [nil, nil]
  var integers = [UInt32?](repeating: nil, count: 256)
  var shapes = [KeyedArchiveWriter.Shape?](repeating: nil, count: KnownShape.allCases.count)
}

/// Shapes of Foundation's own classes, each prepared when it is first needed.
enum KnownShape: Int, CaseIterable {
  case array
  case dictionary
  case date
  case mutableString

  var prepared: (archivedClass: ArchivedClass, keys: [String]) {
    switch self {
    case .array: (.array, ["NS.objects"])
    case .dictionary: (.dictionary, ["NS.keys", "NS.objects"])
    case .date: (.date, ["NS.time"])
    case .mutableString: (.mutableString, ["NS.string"])
    }
  }
}

/// Objects of Foundation's classes. Each call writes a new object and returns a reference to it.
extension KeyedArchiveWriter {
  /// An `NSString`. The text `$null`, which readers interpret as nil, becomes an `NSMutableString`.
  public mutating func string(_ text: String) throws(ArchiveError) -> Reference {
    if text.utf8.count == 5, text.utf8.elementsEqual(nilMarker.utf8) { return try boxedNilMarker() }
    return try entry(list.string(text))
  }

  /// An `NSString` from UTF-8 bytes.
  package mutating func string(utf8: UnsafeRawBufferPointer) throws(ArchiveError) -> Reference {
    if utf8.count == 5, unsafe utf8.elementsEqual(nilMarker.utf8) { return try boxedNilMarker() }
    return try unsafe entry(list.string(utf8: utf8))
  }

  private mutating func boxedNilMarker() throws(ArchiveError) -> Reference {
    try beginObject(shape(.mutableString))
    try append(Value(number: UInt32(list.string(nilMarker))))
    return try end()
  }

  /// Makes a value an object: an `NSNumber` or `NSData`.
  public mutating func object(_ value: Value) throws(ArchiveError) -> Reference {
    try entry(Int(value.number))
  }

  /// An `NSData`.
  package mutating func data(_ bytes: [UInt8]) throws(ArchiveError) -> Reference {
    try object(value(bytes: bytes))
  }

  /// An `NSData`.
  package mutating func data(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) -> Reference {
    try unsafe entry(list.data(bytes))
  }

  /// An `NSDate` from seconds since the start of 2001 in UTC.
  package mutating func date(_ seconds: Double) throws(ArchiveError) -> Reference {
    // The class is written before the value. This order is frozen.
    try beginObject(shape(.date))
    try append(value(seconds))
    return try end()
  }

  mutating func shape(_ known: KnownShape) throws(ArchiveError) -> Shape {
    if let shape = self.known.shapes[known.rawValue] { return shape }
    let (archivedClass, keys) = known.prepared
    let shape = try shape(archivedClass, keys: keys)
    self.known.shapes[known.rawValue] = shape
    return shape
  }
}

/// Values that are stored directly in a field, or at the top of the archive.
extension KeyedArchiveWriter {
  /// The value that readers interpret as nil.
  public var null: Value { known.null }

  /// A boolean.
  public mutating func value(_ flag: Bool) throws(ArchiveError) -> Value {
    let place = flag ? 1 : 0
    if let number = known.bools[place] { return Value(number: number) }
    let value = try Value(number: UInt32(list.bool(flag)))
    known.bools[place] = value.number
    return value
  }

  /// An integer.
  public mutating func value(_ integer: Int64) throws(ArchiveError) -> Value {
    guard 0..<256 ~= integer else { return try Value(number: UInt32(list.integer(integer))) }
    if let number = known.integers[Int(integer)] { return Value(number: number) }
    let value = try Value(number: UInt32(list.integer(integer)))
    known.integers[Int(integer)] = value.number
    return value
  }

  /// An integer that may be above `Int64.max`.
  public mutating func value(_ integer: UInt64) throws(ArchiveError) -> Value {
    if let small = Int64(exactly: integer) { return try value(small) }
    return try Value(number: UInt32(list.unsigned(integer)))
  }

  /// A real number of 8 bytes.
  public mutating func value(_ real: Double) throws(ArchiveError) -> Value {
    try Value(number: UInt32(list.real(real)))
  }

  /// Bytes, as `encodeBytes` writes them.
  public mutating func value(bytes: [UInt8]) throws(ArchiveError) -> Value {
    try Value(number: UInt32(list.data(bytes)))
  }
}

/// Each function appends the next value to the object or collection that was begun last. In an object, numbers and
/// bytes are stored in the field itself. In a collection, they become objects.
///
/// - Throws: ``ArchiveError/Code/unencodable`` if nothing was begun; what the sink throws.
extension KeyedArchiveWriter {
  /// Appends a value that this writer has made.
  public mutating func append(_ value: Value) throws(ArchiveError) {
    guard !frames.isEmpty else { throw nothingBegun() }
    pending.append(value.number)
  }

  /// Appends a reference to an object.
  public mutating func append(_ reference: Reference) throws(ArchiveError) {
    try append(reference.value)
  }

  /// Appends a new `NSString`.
  public mutating func append(string: String) throws(ArchiveError) { try append(self.string(string)) }

  /// Appends a boolean.
  public mutating func append(bool: Bool) throws(ArchiveError) { try append(number: value(bool)) }

  /// Appends an integer.
  public mutating func append(integer: Int64) throws(ArchiveError) { try append(number: value(integer)) }

  /// Appends an integer that may be above `Int64.max`.
  public mutating func append(unsigned: UInt64) throws(ArchiveError) { try append(number: value(unsigned)) }

  /// Appends a real number of 8 bytes.
  public mutating func append(real: Double) throws(ArchiveError) { try append(number: value(real)) }

  /// Appends a new `NSDate`.
  public mutating func append(date: Date) throws(ArchiveError) {
    try append(self.date(date.timeIntervalSinceReferenceDate))
  }

  package mutating func append(number value: Value) throws(ArchiveError) {
    let isInCollection = frames.last.map { $0.kind != .object } ?? false
    try append(isInCollection ? object(value).value : value)
  }
}
