/// The path of a value in a record: a field's number, or an attribute's name and then the names of nested members.
package struct AttributePath: Hashable, Sendable {
  /// The names, outermost first; empty for a numbered field.
  package let names: [String]
  /// The names, or the number of the field, as encoded in records, one after the other.
  fileprivate let keys: [UInt8]

  package init(_ names: [String]) {
    self.names = names
    var keys = CBORWriter(reserving: names.reduce(0) { $0 + $1.utf8.count + 3 })
    for name in names { keys.append(text: name) }
    self.keys = keys.finish()
  }

  /// Makes the path of a numbered field.
  package init(field number: Int) {
    names = []
    var key = CBORWriter(reserving: 3)
    key.append(unsigned: UInt64(number))
    keys = key.finish()
  }

  package static func == (left: AttributePath, right: AttributePath) -> Bool { left.keys == right.keys }

  package func hash(into hasher: inout Hasher) { hasher.combine(keys) }

  /// A reader before the value in a record; nil if there is no such value.
  @inline(__always)
  fileprivate func reader(in bytes: UnsafeRawBufferPointer) -> CBORReader? {
    unsafe keys.withUnsafeBytes { unsafe Self.reader($0, in: bytes) }
  }

  @inline(__always)
  fileprivate static func reader(
    _ keys: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer
  ) -> CBORReader? {
    var reader = unsafe CBORReader(bytes)
    var rest = unsafe CBORReader(keys)
    while rest.offset < keys.count {
      let start = rest.offset
      // Only a map can have the key.
      guard (try? reader.peek()).map({ $0 >> 5 == CBORMajor.map.rawValue }) == true,
        (try? rest.pass()) != nil, unsafe FieldMap.find(rest.passed(start..<rest.offset), &reader)
      else { return nil }
    }
    return reader
  }
}

/// Paths of values that are read of many records. Reading counts no references to the paths: threads that count those of
/// one object wait for each other.
package struct AttributePaths: Sendable {
  /// The keys of all paths, and where those of each path end.
  fileprivate let keys: [UInt8]
  fileprivate let ends: [Int]

  /// - Parameter paths: nil for a value that is always missing.
  package init(_ paths: [AttributePath?]) {
    var keys: [UInt8] = []
    ends = paths.map { path in
      keys += path?.keys ?? []
      return keys.count
    }
    self.keys = keys
  }
}

extension EntityRecord {
  /// Calls `body` with a reader before the value at a path. Nil if there is no such value.
  @inline(__always)
  func read<Result>(at path: AttributePath, _ body: (inout CBORReader) -> Result) -> Result? {
    unsafe bytes.withUnsafeBytes { bytes in
      guard var reader = unsafe path.reader(in: bytes) else { return nil }
      return body(&reader)
    }
  }

  /// Calls `body` with the sort key of the value at each path, in the order of the paths; see ``key(at:)``.
  package func forEachKey(at paths: AttributePaths, _ body: (_ index: Int, ValueKey) -> Void) {
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe paths.keys.withUnsafeBytes { keys in
        var start = 0
        for index in paths.ends.indices {
          let path = unsafe UnsafeRawBufferPointer(rebasing: keys[start..<paths.ends[index]])
          start = paths.ends[index]
          guard unsafe !path.isEmpty, var reader = unsafe AttributePath.reader(path, in: bytes) else {
            body(index, .missing)
            continue
          }
          body(index, (try? ValueKey(reading: &reader)) ?? .missing)
        }
      }
    }
  }

  /// Returns the sort key of the value at a path; `.missing` if there is no such value. The value is not decoded.
  package func key(at path: AttributePath) -> ValueKey {
    read(at: path) { (try? ValueKey(reading: &$0)) ?? .missing } ?? .missing
  }

  /// Calls `body` with the sort key of the value at a path and, if that value is an array, of each of its elements.
  package func forEachKey(at path: AttributePath, _ body: (ValueKey) -> Void) {
    let isThere: Void? = read(at: path) { reader in
      guard let count = try? reader.readArrayHead() else {
        return body((try? ValueKey(reading: &reader)) ?? .missing)
      }
      body(.composite)
      for _ in 0..<count { if let key = try? ValueKey(reading: &reader) { body(key.asElement) } }
    }
    if isThere == nil { body(.missing) }
  }

  /// Calls `body` with the UTF-8 bytes of the text at a path or, in an array or a dictionary there, of each text inside.
  /// Keys are no texts.
  package func forEachText(at path: AttributePath, _ body: (UnsafeRawBufferPointer) -> Void) {
    // Records were checked when they were made.
    _ = read(at: path) { reader in try? unsafe reader.readTexts(body) }
  }

  /// The integers at a path: the value or, of an array there, the elements; and whether nothing else is there but null.
  package func integers(at path: AttributePath) -> (numbers: [Int], isAll: Bool) {
    var numbers: [Int] = []
    let isAll = forEachInteger(at: path) { numbers.append($0) }
    return (numbers, isAll)
  }

  /// Calls `body` with each integer at a path: the value or, of an array there, the elements. Returns whether nothing else
  /// is there but null.
  @discardableResult
  package func forEachInteger(at path: AttributePath, _ body: (Int) -> Void) -> Bool {
    let isAll = read(at: path) { reader in
      let arrayCount = try? reader.readArrayHead()
      var isAll = true
      for _ in 0..<(arrayCount ?? 1) {
        var ahead = reader
        if let number = try? ahead.readInteger() {
          body(Int(number))
          reader = ahead
        } else {
          isAll = arrayCount == nil && (try? reader.kind()) == .null
          guard (try? reader.skip()) != nil else { break }
        }
      }
      return isAll
    }
    return isAll ?? true
  }

  /// Whether the value at a path is an array with an element in a range of elements.
  package func hasElement(in range: ValueRange, at path: AttributePath) -> Bool {
    var isFound = false
    forEachKey(at: path) { if range.contains($0) { isFound = true } }
    return isFound
  }
}

extension CBORReader {
  fileprivate mutating func readTexts(_ body: (UnsafeRawBufferPointer) -> Void) throws(CBORError) {
    switch try kind() {
    case .text: unsafe body(try readTextBytes())
    case .array: for _ in 0..<(try readArrayHead()) { try unsafe readTexts(body) }
    case .map:
      for _ in 0..<(try readMapHead()) {
        try skip()
        try unsafe readTexts(body)
      }
    default: try skip()
    }
  }
}
