import PropertyLists

/// The fields of an object, or the pairs of a dictionary, for a `Decodable` type.
struct ArchivedKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private enum Source {
    case fields(ArchivedFields)
    /// The object numbers of the fields by name, for an object with many fields.
    case manyFields([String: Int], holder: Int?)
    /// The positions of the pairs by key.
    case dictionary(ArchivedDictionary, [String: Int])
  }

  private let decoder: ArchivedValueDecoder
  private let source: Source

  var codingPath: [any CodingKey] { decoder.codingPath }

  init(_ decoder: ArchivedValueDecoder) throws {
    self.decoder = decoder
    if let fields = decoder.topFields {
      try decoder.state.charge(searching: fields, decoder.codingPath)
      source = try Self.source(fields, decoder)
      return
    }
    try decoder.chargeSearch()
    let dictionary = try reading(decoder.codingPath) { () throws(ArchiveError) in
      try decoder.value.dictionary
    }
    if let dictionary {
      try decoder.state.charge(count: dictionary.count, decoder.codingPath)
      let positions = try reading(decoder.codingPath) { () throws(ArchiveError) in
        try dictionary.positionsByKey()
      }
      source = .dictionary(dictionary, positions)
    } else if case .object(let object) = decoder.value {
      source = try Self.source(object.fields, decoder)
    } else {
      throw decoder.mismatch([String: Any].self)
    }
  }

  private static func source(_ fields: ArchivedFields, _ decoder: ArchivedValueDecoder) throws -> Source {
    // An object with many fields gets a table of them.
    guard fields.areMany else { return .fields(fields) }
    let named = try reading(decoder.codingPath) { () throws(ArchiveError) in try fields.named() }
    return .manyFields(
      Dictionary(named.map { ($0.name, $0.number) }) { first, _ in first }, holder: fields.holder)
  }

  var allKeys: [Key] {
    switch source {
    case .fields(let fields): ((try? fields.names()) ?? []).compactMap { Key(stringValue: $0) }
    case .manyFields(let numbers, _):
      numbers.sorted { $0.value < $1.value }.compactMap { Key(stringValue: $0.key) }
    case .dictionary(_, let positions):
      positions.sorted { $0.value < $1.value }.compactMap { Key(stringValue: $0.key) }
    }
  }

  func contains(_ key: Key) -> Bool {
    switch source {
    // If the object is unreadable, it counts as having the key, so that decoding reports the error.
    case .fields(let fields):
      names(key).contains { name in
        do throws(ArchiveError) { return try fields.index(ofName: name) != nil } catch { return true }
      }
    case .manyFields(let numbers, _): names(key).contains { numbers[$0] != nil }
    case .dictionary(_, let positions): names(key).contains { positions[$0] != nil }
    }
  }

  private func names(_ key: any CodingKey) -> [String] {
    decoder.keys?[key.stringValue] ?? [key.stringValue]
  }

  private func part(_ key: any CodingKey) throws -> ArchivedValueDecoder {
    let path = codingPath + [key]
    let value = try reading(path) { () throws(ArchiveError) -> ArchivedValue? in
      for name in names(key) {
        if let value = try self.value(name) { return value }
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

  private func value(_ name: String) throws(ArchiveError) -> ArchivedValue? {
    let state = decoder.state
    switch source {
    case .fields(let fields):
      guard let index = try fields.index(ofName: name) else { return nil }
      return try state.value(fields.references.value(at: index), in: fields.graph, holder: fields.holder)
    case .manyFields(let numbers, let holder):
      guard let number = numbers[name], let graph = state.graph else { return nil }
      return try state.value(number, in: graph, holder: holder)
    case .dictionary(let dictionary, let positions):
      guard let position = positions[name] else { return nil }
      return try state.value(at: position, of: dictionary)
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool { try part(key).decodeNil() }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try part(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try part(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try part(key).decode(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try part(key).decode(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try part(key).decode(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try part(key).decode(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try part(key).decode(type) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try part(key).decode(type) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try part(key).decode(type) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try part(key).decode(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try part(key).decode(type) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try part(key).decode(type) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try part(key).decode(type) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try part(key).decode(type) }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try part(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try part(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  /// The same object: `NSCoding` stores the fields of a class and of its superclass in one object.
  func superDecoder() throws -> any Decoder { decoder }

  func superDecoder(forKey key: Key) throws -> any Decoder { try part(key) }
}

extension ArchivedDictionary {
  /// The position of the first pair of each key that is a string or an integer. An integer key is given in decimal.
  fileprivate func positionsByKey() throws(ArchiveError) -> [String: Int] {
    try graph.checkCount(count, holder: holder)
    var contents = SharedContents(graph)
    var positions: [String: Int] = [:]
    for position in 0..<count {
      let key = try key(at: position, &contents)
      guard let text = try key.string ?? key.integer.map({ String($0) }) else { continue }
      if positions[text] == nil { positions[text] = position }
    }
    return positions
  }
}
