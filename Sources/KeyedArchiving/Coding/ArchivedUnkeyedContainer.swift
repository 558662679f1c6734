import PropertyLists

/// The elements of an array or a set, for a `Decodable` type. A Swift dictionary whose keys are neither strings nor
/// integers is decoded from alternating keys and values, so an archived dictionary gives them in that order.
struct ArchivedUnkeyedContainer: UnkeyedDecodingContainer {
  private enum Source {
    case elements(ArchivedArray)
    case pairs(ArchivedDictionary)
  }

  private let decoder: ArchivedValueDecoder
  private let source: Source
  private let elementCount: Int
  private(set) var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elementCount }
  var isAtEnd: Bool { currentIndex >= elementCount }

  init(_ decoder: ArchivedValueDecoder) throws {
    self.decoder = decoder
    try decoder.chargeSearch()
    if decoder.isDictionary,
      let dictionary = try reading(
        decoder.codingPath, { () throws(ArchiveError) in try decoder.value.dictionary })
    {
      source = .pairs(dictionary)
      elementCount = 2 * dictionary.count
      return
    }
    let elements = try reading(decoder.codingPath) { () throws(ArchiveError) -> ArchivedArray? in
      if let array = try decoder.value.array { return array }
      if let set = try decoder.value.set { return set }
      return try decoder.value.hashTable
    }
    guard let elements else { throw decoder.mismatch([Any].self) }
    source = .elements(elements)
    elementCount = elements.count
  }

  private func value(at index: Int) throws(ArchiveError) -> ArchivedValue {
    switch source {
    case .elements(let array):
      try decoder.state.value(array.number(at: index), in: array.graph, holder: array.holder)
    case .pairs(let dictionary) where index.isMultiple(of: 2):
      try decoder.state.key(at: index / 2, of: dictionary)
    case .pairs(let dictionary): try decoder.state.value(at: index / 2, of: dictionary)
    }
  }

  /// Decodes the next element, and advances only if that succeeds.
  private mutating func next<T>(
    _ type: Any.Type, _ body: (ArchivedValueDecoder) throws -> T
  ) throws -> T {
    let key = ArchivedKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        DecodingError.Context(
          codingPath: codingPath + [key],
          debugDescription: "The archived \(decoder.value.kind) has no more than \(elementCount) elements"))
    }
    let value = try reading(codingPath + [key]) { () throws(ArchiveError) in
      try self.value(at: currentIndex)
    }
    let result = try body(decoder.part(value, key))
    currentIndex += 1
    return result
  }

  mutating func decodeNil() throws -> Bool {
    let isNil = try next(Never.self) { $0.decodeNil() }
    // Only a nil is consumed.
    if !isNil { currentIndex -= 1 }
    return isNil
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next(type) { try $0.decode(type) } }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next(type) { try $0.decode(type) } }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try next(type) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next([Any].self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next(ArchivedValueDecoder.self) { $0 } }
}
