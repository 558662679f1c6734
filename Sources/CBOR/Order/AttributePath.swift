/// The path of a value in a record: a field's number, or an attribute's name and then the names of nested members.
package struct AttributePath: Hashable, Sendable {
  /// The names, outermost first; empty for a numbered field.
  package let names: [String]
  /// The names, or the number of the field, as encoded in records.
  private let keys: [[UInt8]]

  package init(_ names: [String]) {
    self.names = names
    keys = names.map { name in
      var key = CBORWriter(reserving: name.utf8.count + 3)
      key.append(text: name)
      return key.finish()
    }
  }

  /// Makes the path of a numbered field.
  package init(field number: Int) {
    names = []
    var key = CBORWriter(reserving: 3)
    key.append(unsigned: UInt64(number))
    keys = [key.finish()]
  }

  package static func == (left: AttributePath, right: AttributePath) -> Bool { left.keys == right.keys }

  package func hash(into hasher: inout Hasher) { hasher.combine(keys) }

  /// A reader before the value in a record; nil if there is no such value.
  @inline(__always)
  fileprivate func reader(in bytes: UnsafeRawBufferPointer) -> CBORReader? {
    var reader = unsafe CBORReader(bytes)
    for index in keys.indices {
      // Only a map can have the key.
      guard (try? reader.peek()).map({ $0 >> 5 == CBORMajor.map.rawValue }) == true,
        unsafe keys[index].withUnsafeBytes({ unsafe FieldMap.find($0, &reader) })
      else { return nil }
    }
    return reader
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
    let found = read(at: path) { reader -> (numbers: [Int], isAll: Bool) in
      let arrayCount = try? reader.readArrayHead()
      let isArray = arrayCount != nil
      var numbers: [Int] = []
      var isAll = true
      for _ in 0..<(arrayCount ?? 1) {
        var ahead = reader
        if let number = try? ahead.readInteger() {
          numbers.append(Int(number))
          reader = ahead
        } else {
          isAll = !isArray && (try? reader.kind()) == .null
          guard (try? reader.skip()) != nil else { break }
        }
      }
      return (numbers, isAll)
    }
    return found ?? ([], true)
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
