import CBOR
import Locks
import PropertyLists

/// The keys of a dictionary in a layer or snapshot, as the log encodes them.
final class ObjectKeys: Sendable {
  /// The object number of the array of keys.
  let number: Int
  /// All keys, concatenated.
  let bytes: [UInt8]
  /// Where each of them ends.
  private let ends: [Int]

  /// - Parameter areMarked: whether a key that begins with `$` has one more.
  init(at number: Int, in reader: LayerReader, areMarked: Bool) throws(ArchiveError) {
    self.number = number
    let keys = try reader.list.header(number)
    var writer = CBORWriter()
    var ends: [Int] = []
    for index in 0..<keys.count {
      guard writer.count <= EntityRecord.byteLimit else {
        throw LayerReader.foreign(at: keys.offset)
      }
      var key = try reader.string(try reader.resolve(try reader.list.reference(keys, index)))
      if areMarked, key.utf8.first == UInt8(ascii: "$") {
        key = String(key.unicodeScalars.dropFirst())
        guard key.utf8.first == UInt8(ascii: "$") else { throw LayerReader.foreign(at: keys.offset) }
      }
      writer.append(text: key)
      ends.append(writer.count)
    }
    bytes = writer.finish()
    self.ends = ends
    // The records that are made of them are not checked again.
    for index in ends.indices.dropFirst() {
      guard bytes[range(index - 1)].lexicographicallyPrecedes(bytes[range(index)]) else {
        throw LayerReader.foreign(at: keys.offset)
      }
    }
  }

  var count: Int { ends.count }

  /// Appends the key at a position.
  func append(_ index: Int, to writer: inout CBORWriter) {
    let range = range(index)
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe writer.append(encoded: UnsafeRawBufferPointer(rebasing: bytes[range]))
    }
  }

  private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }
}

/// Caches some lists of keys. Dictionaries share them, and decoding the keys of each again would be half of the work.
///
/// Safe to use from any thread.
final class ObjectKeyLists: Sendable {
  private static let slotCount = 64
  /// A longer list is decoded each time.
  private static let byteLimit = 4_096

  private let areMarked: Bool
  private let slots = Lock([ObjectKeys?](repeating: nil, count: slotCount))

  /// - Parameter areMarked: whether a key that begins with `$` has one more.
  init(areMarked: Bool) { self.areMarked = areMarked }

  /// The keys in the array of that object number.
  func list(at number: Int, in reader: LayerReader) throws(ArchiveError) -> ObjectKeys {
    let slot = number % Self.slotCount
    if let known = slots.withLock({ $0[slot] }), known.number == number { return known }
    let list = try ObjectKeys(at: number, in: reader, areMarked: areMarked)
    if list.bytes.count <= Self.byteLimit { slots.withLock { $0[slot] = list } }
    return list
  }
}
