/// The path of a value in a record: an attribute, or a member of one that is a dictionary, at any depth.
package struct AttributePath: Hashable, Sendable {
  /// The names, outermost first.
  package let names: [String]
  /// The names as encoded in records.
  private let keys: [[UInt8]]

  package init(_ names: [String]) {
    self.names = names
    keys = names.map { name in
      var key = CBORWriter(reserving: name.utf8.count + 3)
      key.append(text: name)
      return key.finish()
    }
  }

  /// The path of a numbered field.
  package init(field number: Int) {
    names = []
    var key = CBORWriter(reserving: 3)
    key.append(unsigned: UInt64(number))
    keys = [key.finish()]
  }

  package static func == (left: AttributePath, right: AttributePath) -> Bool { left.keys == right.keys }

  package func hash(into hasher: inout Hasher) { hasher.combine(keys) }

  /// The range of the value, nil if it is missing.
  fileprivate func range(in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    var range = 0..<bytes.count
    for key in keys {
      let map = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
      // Only a map can contain the key.
      guard unsafe map.first.map({ $0 >> 5 == CBORMajor.map.rawValue }) == true,
        let found = unsafe key.withUnsafeBytes({ unsafe FieldMap.range(ofKey: $0, in: map) })
      else { return nil }
      range = range.lowerBound + found.lowerBound..<range.lowerBound + found.upperBound
    }
    return range
  }
}

extension EntityRecord {
  /// Nothing but the key is decoded.
  package func key(at path: AttributePath) -> ValueKey {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let range = unsafe path.range(in: bytes) else { return .missing }
      var reader = unsafe CBORReader(bytes, from: range.lowerBound)
      return (try? ValueKey(reading: &reader)) ?? .missing
    }
  }

  /// Calls `body` with the key of the value at a path and, if it is an array, with the key of each element.
  package func forEachKey(at path: AttributePath, _ body: (ValueKey) -> Void) {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let range = unsafe path.range(in: bytes) else { return body(.missing) }
      var reader = unsafe CBORReader(bytes, from: range.lowerBound)
      guard unsafe bytes[range.lowerBound] >> 5 == CBORMajor.array.rawValue,
        let count = try? reader.readArrayHead()
      else { return body((try? ValueKey(reading: &reader)) ?? .missing) }
      body(.composite)
      for _ in 0..<count { if let key = try? ValueKey(reading: &reader) { body(key.asElement) } }
    }
  }

  /// Whether the value at a path is an array that has an element of this key.
  package func hasElement(_ key: ValueKey, at path: AttributePath) -> Bool {
    var isFound = false
    forEachKey(at: path) { if $0 == key { isFound = true } }
    return isFound
  }
}
