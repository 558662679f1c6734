/// The members of an encoded dictionary, or the attributes of a record.
///
/// A class, so that a container is one reference: the standard library copies containers for each decoded value.
final class StoredMembers {
  let place: PartPlace
  private let bytes: [UInt8]
  /// The ranges of the keys' UTF-8, always inside of the bytes. Each value follows its key. Shorter keys come first,
  /// and keys of one length are in the order of their bytes.
  private let keys: [Range<Int>]
  /// Nil unless these are the attributes of one of many records.
  private let decoder: RecordDecoder?

  /// Makes the members of a part; nil if the part is not a dictionary.
  init?(_ decoder: PartDecoder) {
    let keys = decoder.part.read { reader throws(CBORError) in
      var keys: [Range<Int>] = []
      let count = try reader.readMapHead()
      keys.reserveCapacity(count)
      for _ in 0..<count {
        if try reader.peek() >> 5 == CBORMajor.text.rawValue {
          let length = try reader.count(.text, width: 1)
          keys.append(reader.offset..<reader.offset + length)
          reader.offset += length
        } else {
          try reader.pass()
        }
        try reader.pass()
      }
      return keys
    }
    guard let keys else { return nil }
    (place, bytes, self.keys) = (decoder.place, decoder.part.bytes, keys)
    self.decoder = if case .record(let decoder) = place { decoder } else { nil }
  }

  var names: [String] { keys.map { String(decoding: bytes[$0], as: UTF8.self) } }

  /// The value of a key; nil if the key does not exist.
  /// - Complexity: O(log n).
  subscript(name: String) -> StoredPart? {
    var name = name
    return name.withUTF8 { name in
      guard let position = unsafe position(of: name) else { return nil }
      return StoredPart(bytes: bytes, start: keys[position].upperBound)
    }
  }

  @inline(__always)
  private func position(of name: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let decoder else { return unsafe search(for: name) }
    return decoder.position(among: keys.count) {
      unsafe order(of: $0, to: name) == 0
    } search: {
      unsafe search(for: name)
    }
  }

  private func search(for name: UnsafeBufferPointer<UInt8>) -> Int? {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      let order = unsafe order(of: middle, to: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// Negative if a key comes before a name, 0 if they are equal.
  @inline(__always)
  private func order(of position: Int, to name: UnsafeBufferPointer<UInt8>) -> Int {
    let key = keys[position]
    if key.count != name.count { return key.count - name.count }
    return unsafe bytes.withUnsafeBytes { bytes in
      // This loop is faster than a call of `memcmp`.
      for index in 0..<key.count {
        let (left, right) = unsafe (bytes[key.lowerBound + index], name[index])
        if left != right { return Int(left) - Int(right) }
      }
      return 0
    }
  }
}

struct KeyedPartContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: StoredMembers

  private var place: PartPlace { members.place }
  var codingPath: [any CodingKey] { place.path }
  var allKeys: [Key] { members.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func part(_ key: Key) throws -> StoredPart {
    guard let part = members[key.stringValue] else {
      throw DecodingError.keyNotFound(key, place.context("no value for the key \"\(key.stringValue)\""))
    }
    return part
  }

  private func decoder(_ part: StoredPart, _ key: any CodingKey) -> PartDecoder {
    PartDecoder(part: part, place: .inside(place, key))
  }

  func decodeNil(forKey key: Key) throws -> Bool { try part(key).isNull }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try part(key).decode(type) { .inside(place, key) }
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try part(key).decode(type) { .inside(place, key) }
  }

  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try part(key).decode(type) { .inside(place, key) }
  }

  @inline(__always)
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try part(key).decode(type) { .inside(place, key) }
  }

  // The default implementation, which the standard library has also for each primitive type, looks for the key three
  // times.
  @inline(__always)
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let part = members[key.stringValue], !part.isNull else { return nil }
    return try part.decode(type) { .inside(place, key) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder(part(key), key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(part(key), key).unkeyedContainer()
  }

  /// As in Foundation's decoders, a superclass that encoded nothing is decoded from null.
  func superDecoder() -> any Decoder {
    let key = PlaceKey.superclass
    return decoder(members[key.stringValue] ?? .null, key)
  }

  func superDecoder(forKey key: Key) -> any Decoder { decoder(members[key.stringValue] ?? .null, key) }
}

struct UnkeyedPartContainer: UnkeyedDecodingContainer {
  private let place: PartPlace
  /// The next element; at the end, meaningless.
  private var part: StoredPart
  private let elementCount: Int
  private(set) var currentIndex = 0

  /// Makes a container for the elements of a part; nil if the part is not an array.
  init?(_ decoder: PartDecoder) {
    let head = decoder.part.read { reader throws(CBORError) in (try reader.readArrayHead(), reader.offset) }
    guard let (count, start) = head else { return nil }
    place = decoder.place
    part = StoredPart(bytes: decoder.part.bytes, start: start)
    elementCount = count
  }

  var codingPath: [any CodingKey] { place.path }
  var count: Int? { elementCount }
  var isAtEnd: Bool { currentIndex == elementCount }

  private var elementPlace: PartPlace { .inside(place, PlaceKey.index(currentIndex)) }

  /// Reads the next element with `read`. If `read` throws, the element stays the next one.
  private mutating func next<T>(_ read: (StoredPart, () -> PartPlace) throws -> T) throws -> T {
    guard !isAtEnd else { throw end(T.self) }
    let result = try read(part) { elementPlace }
    advance()
    return result
  }

  private mutating func advance() {
    part = part.next
    currentIndex += 1
  }

  private func end(_ type: Any.Type) -> DecodingError {
    let sentence = "the array has only \(elementCount) elements, and one more was requested"
    return .valueNotFound(type, elementPlace.context(sentence))
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { throw end(FieldValue?.self) }
    guard part.isNull else { return false }
    advance()
    return true
  }

  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next { try $0.decode(type, at: $1) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next { try $0.decode(type, at: $1) } }

  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next { try $0.decode(type, at: $1) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type, at: $1) } }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next { try PartDecoder(part: $0, place: $1()).container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try PartDecoder(part: $0, place: $1()).unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next { PartDecoder(part: $0, place: $1()) } }
}
