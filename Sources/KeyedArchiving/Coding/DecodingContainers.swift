import PropertyLists

/// The fields of an object, or the pairs of a dictionary, for a `Decodable` type.
struct ArchivedKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: ArchivedValueDecoder
  private let graph: ArchiveGraph
  private let holder: Int?
  /// The object numbers of the values by name.
  private let numbers: [String: Int]

  var codingPath: [any CodingKey] { decoder.codingPath }

  init(_ decoder: ArchivedValueDecoder) throws {
    self.decoder = decoder
    try decoder.chargeSearch()
    let dictionary = try reading(decoder.codingPath) { () throws(ArchiveError) in
      try decoder.value.dictionary
    }
    if let dictionary {
      try decoder.state.charge(count: dictionary.count, decoder.codingPath)
      let values = dictionary.allValues
      (graph, holder) = (values.graph, values.holder)
      numbers = try reading(decoder.codingPath) { () throws(ArchiveError) in
        try dictionary.valueNumbersByKey()
      }
    } else if case .object(let object) = decoder.value {
      (graph, holder) = (object.fields.graph, object.uid)
      let fields = try reading(decoder.codingPath) { () throws(ArchiveError) in try object.fields.all() }
      // Only long names are charged, which sound archives lack. Names are decoded each time that the object occurs.
      try decoder.state.charge(
        bytes: fields.reduce(0) { $0 + max($1.name.utf8.count - 256, 0) }, decoder.codingPath)
      numbers = Dictionary(fields.map { ($0.name, $0.number) }) { first, _ in first }
    } else {
      throw decoder.mismatch([String: Any].self)
    }
  }

  var allKeys: [Key] {
    numbers.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.compactMap { Key(stringValue: $0.key) }
  }

  func contains(_ key: Key) -> Bool { names(key).contains { numbers[$0] != nil } }

  private func names(_ key: any CodingKey) -> [String] {
    decoder.keys?[key.stringValue] ?? [key.stringValue]
  }

  private func part(_ key: any CodingKey) throws -> ArchivedValueDecoder {
    let value = try reading(codingPath + [key]) { () throws(ArchiveError) -> ArchivedValue? in
      for name in names(key) {
        guard let number = numbers[name] else { continue }
        return try decoder.state.value(number, in: graph, holder: holder)
      }
      return nil
    }
    guard let value else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: codingPath, debugDescription: "The archived \(decoder.value.kind) has no such field"))
    }
    return decoder.part(value, key)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try part(key).decodeNil() }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try part(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try part(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  /// The decoder of this object, because `NSCoding` stores the fields of a class and its superclass in one object.
  func superDecoder() throws -> any Decoder { decoder }

  func superDecoder(forKey key: Key) throws -> any Decoder { try part(key) }
}

extension ArchivedDictionary {
  /// The object number of the first value of each key that is a string or an integer. Integer keys become decimal text.
  fileprivate func valueNumbersByKey() throws(ArchiveError) -> [String: Int] {
    var numbers: [String: Int] = [:]
    var contents = SharedContents(keys.graph)
    for (position, key) in try keys.elements(&contents).enumerated() {
      guard let text = try key.string ?? key.integer.map({ String($0) }) else { continue }
      if numbers[text] == nil { numbers[text] = try allValues.number(at: position) }
    }
    return numbers
  }
}

/// The elements of an array or a set, for a `Decodable` type. A Swift dictionary whose keys are neither strings nor
/// integers decodes itself from alternating keys and values, so an archived dictionary is read as such a list.
struct ArchivedUnkeyedContainer: UnkeyedDecodingContainer {
  private let decoder: ArchivedValueDecoder
  /// One list of elements, or two lists: the keys and the values.
  private let lists: [ArchivedArray]
  private let elementCount: Int
  private(set) var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elementCount }
  var isAtEnd: Bool { currentIndex >= elementCount }

  init(_ decoder: ArchivedValueDecoder) throws {
    self.decoder = decoder
    try decoder.chargeSearch()
    let lists = try reading(decoder.codingPath) { () throws(ArchiveError) -> [ArchivedArray] in
      if decoder.isDictionary, let pairs = try decoder.value.dictionary {
        return [pairs.keys, pairs.allValues]
      }
      if let array = try decoder.value.array { return [array] }
      if let set = try decoder.value.set { return [set] }
      return try decoder.value.hashTable.map { [$0] } ?? []
    }
    guard !lists.isEmpty else { throw decoder.mismatch([Any].self) }
    self.lists = lists
    elementCount = lists.count * lists[0].count
  }

  /// Decodes the next element, and advances only if that succeeds.
  private mutating func next<T>(
    _ type: Any.Type, _ body: (ArchivedValueDecoder) throws -> T
  ) throws -> T {
    let key = ElementKey(currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        DecodingError.Context(
          codingPath: codingPath + [key],
          debugDescription: "The archived \(decoder.value.kind) has no more than \(elementCount) elements"))
    }
    let list = lists[currentIndex % lists.count]
    let value = try reading(codingPath + [key]) { () throws(ArchiveError) in
      try decoder.state.value(
        list.number(at: currentIndex / lists.count), in: list.graph, holder: list.holder)
    }
    let result = try body(decoder.part(value, key))
    currentIndex += 1
    return result
  }

  mutating func decodeNil() throws -> Bool {
    let isNil = try next(Never.self) { $0.decodeNil() }
    // `decodeNil` advances only past a nil.
    if !isNil { currentIndex -= 1 }
    return isNil
  }

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
