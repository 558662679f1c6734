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

  /// The range of the value's bytes in a record or a map; nil if there is no such value.
  fileprivate func range(in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    var range = 0..<bytes.count
    for key in keys {
      let map = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
      // Only a map can have the key.
      guard unsafe map.first.map({ $0 >> 5 == CBORMajor.map.rawValue }) == true,
        let found = unsafe key.withUnsafeBytes({ unsafe FieldMap.range(ofKey: $0, in: map) })
      else { return nil }
      range = range.lowerBound + found.lowerBound..<range.lowerBound + found.upperBound
    }
    return range
  }
}

extension EntityRecord {
  /// Returns the sort key of the value at a path; `.missing` if there is no such value. The value is not decoded.
  package func key(at path: AttributePath) -> ValueKey {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let range = unsafe path.range(in: bytes) else { return .missing }
      var reader = unsafe CBORReader(bytes, from: range.lowerBound)
      return (try? ValueKey(reading: &reader)) ?? .missing
    }
  }

  /// Calls `body` with the sort key of the value at a path and, if that value is an array, of each of its elements.
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

  /// The integers at a path: the value or, of an array there, the elements; and whether nothing else is there but null.
  package func integers(at path: AttributePath) -> (numbers: [Int], isAll: Bool) {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let range = unsafe path.range(in: bytes) else { return ([], true) }
      var reader = unsafe CBORReader(bytes, from: range.lowerBound)
      let isArray = unsafe bytes[range.lowerBound] >> 5 == CBORMajor.array.rawValue
      guard let count = isArray ? try? reader.readArrayHead() : 1 else { return ([], false) }
      var numbers: [Int] = []
      var isAll = true
      for _ in 0..<count {
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
  }

  /// Whether the value at a path is an array with an element in a range of elements.
  package func hasElement(in range: ValueRange, at path: AttributePath) -> Bool {
    var isFound = false
    forEachKey(at: path) { if range.contains($0) { isFound = true } }
    return isFound
  }
}
