package import PropertyLists

/// The fields of one dictionary of a property list, read in place, as the numbers of their key and value objects.
/// Nothing is decoded or allocated before it is accessed.
package struct FieldReferences: Sendable {
  package let list: PropertyList
  package let header: ObjectHeader

  /// The fields of the dictionary with an object number, or nil if that object is not a dictionary.
  @inline(__always)
  package init?(_ list: PropertyList, dictionary number: Int) throws(ArchiveError) {
    let header = try list.header(number)
    guard header.kind == .dictionary else { return nil }
    self.init(list, header)
  }

  /// - Precondition: The header is of a dictionary.
  @inline(__always)
  init(_ list: PropertyList, _ header: ObjectHeader) {
    self.list = list
    self.header = header
  }

  /// How many fields there are.
  package var count: Int { header.count }

  /// The object number of a field's key.
  @inline(__always)
  package func key(at index: Int) throws(ArchiveError) -> Int { try list.reference(header, index) }

  /// The object number of a field's value.
  @inline(__always)
  package func value(at index: Int) throws(ArchiveError) -> Int {
    try list.reference(header, header.count + index)
  }

  /// The object number of the value of the first field whose key is the object `keyNumber`, or nil.
  ///
  /// Writers share equal keys, so a reader of many similar dictionaries looks up the number of a key only once.
  @inline(__always)
  package func value(keyNumber: Int) throws(ArchiveError) -> Int? {
    for index in 0..<header.count where try key(at: index) == keyNumber { return try value(at: index) }
    return nil
  }

  /// The position of the first field with a key, or nil.
  ///
  /// - Complexity: O(*n*) in the number of fields; compares bytes and allocates nothing.
  package func index(of key: StaticString) throws(ArchiveError) -> Int? {
    for index in 0..<header.count where try list.isString(list.header(self.key(at: index)), key) {
      return index
    }
    return nil
  }

  /// The position of the first field with a key, or nil.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  package func index(of key: String) throws(ArchiveError) -> Int? {
    var key = key
    // The standard library's function rethrows only untyped errors.
    let found: Result<Int?, ArchiveError> = key.withUTF8 { utf8 in
      Result { () throws(ArchiveError) in
        let utf8 = UnsafeRawBufferPointer(utf8)
        for index in 0..<header.count {
          if try unsafe list.isString(list.header(self.key(at: index)), utf8) { return index }
        }
        return nil
      }
    }
    return try found.get()
  }

  /// The value of the first field with a key, or nil.
  package func object(of key: StaticString) throws(ArchiveError) -> PropertyListObject? {
    guard let index = try index(of: key) else { return nil }
    return try list.object(value(at: index))
  }

  /// The text of a key, or nil if the key is not a string. Other writers may use such keys.
  func name(at index: Int) throws(ArchiveError) -> String? {
    let header = try list.header(key(at: index))
    return header.kind.isString ? try list.string(header) : nil
  }
}
