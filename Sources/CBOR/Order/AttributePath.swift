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
      body((try? ValueKey(reading: &reader)) ?? .missing)
      unsafe forEachElement(of: range, in: bytes) { key in
        body(key)
        return true
      }
    }
  }

  /// Whether the value at a path is an array that has an element of this key.
  package func hasElement(_ key: ValueKey, at path: AttributePath) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let range = unsafe path.range(in: bytes) else { return false }
      var isFound = false
      unsafe forEachElement(of: range, in: bytes) { element in
        isFound = element == key
        return !isFound
      }
      return isFound
    }
  }

  /// `body` returns false to stop.
  private func forEachElement(
    of range: Range<Int>, in bytes: UnsafeRawBufferPointer, _ body: (ValueKey) -> Bool
  ) {
    guard unsafe bytes[range.lowerBound] >> 5 == CBORMajor.array.rawValue else { return }
    var reader = unsafe CBORReader(bytes, from: range.lowerBound)
    do throws(CBORError) {
      for _ in 0..<(try reader.readArrayHead()) {
        guard body(try ValueKey(reading: &reader).asElement) else { return }
      }
    } catch {
      // Unreachable: records are checked when they are made.
    }
  }
}
