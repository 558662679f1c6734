/// A binary property list that is put together from the bytes of its objects. It need not be valid.
struct RawPropertyList {
  /// The bytes of each object, written one after the other.
  var objects: [[UInt8]]
  var top = 0
  var referenceWidth = 1
  var offsetWidth = 1
  var header = "bplist00"
  /// Offsets that replace those of the objects.
  var offsets: [Int]?

  init(_ objects: [UInt8]...) { self.objects = objects }
  init(objects: [[UInt8]]) { self.objects = objects }

  var bytes: [UInt8] {
    var bytes = Array(header.utf8)
    var starts: [Int] = []
    for object in objects {
      starts.append(bytes.count)
      bytes += object
    }
    let table = bytes.count
    for offset in offsets ?? starts { bytes += bigEndian(offset, offsetWidth) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)]
    bytes += bigEndian(objects.count, 8) + bigEndian(top, 8) + bigEndian(table, 8)
    return bytes
  }
}

/// The last `width` bytes of a number, with zeros before them if `width` is more than 8.
func bigEndian(_ number: Int, _ width: Int) -> [UInt8] {
  (0..<width).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
}
