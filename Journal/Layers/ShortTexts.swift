import CBOR
import Foundation
import PropertyLists

/// Caches written short texts, so that a repeated text, such as the name of a country, is one object of the archive.
///
/// Each text has one slot, which a later text can take. So memory is bounded, and equal states make equal bytes.
struct ShortTexts {
  private static let byteLimit = 24
  private static let slotBits = 10
  private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

  private struct Slot {
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    var byteCount = 0
    /// The object of the text; nil if the slot is free.
    var reference: KeyedArchiveWriter.Reference?
  }

  private var slots = [Slot](repeating: Slot(), count: 1 << slotBits)

  /// The object of a text, written unless it is cached.
  mutating func reference(
    to utf8: UnsafeRawBufferPointer, in archive: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> KeyedArchiveWriter.Reference {
    guard utf8.count <= Self.byteLimit else { return try unsafe archive.string(utf8: utf8) }
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &words) { unsafe $0.copyMemory(from: utf8) }
    var hash = words.0 ^ UInt64(utf8.count)
    hash = (hash ^ hash >> 29) &* Self.multiplier ^ words.1
    hash = (hash ^ hash >> 29) &* Self.multiplier ^ words.2
    hash = (hash ^ hash >> 29) &* Self.multiplier
    let place = Int(hash >> UInt64(64 - Self.slotBits))
    if let reference = slots[place].reference, slots[place].words == words,
      slots[place].byteCount == utf8.count
    {
      return reference
    }
    let reference = try unsafe archive.string(utf8: utf8)
    slots[place] = Slot(words: words, byteCount: utf8.count, reference: reference)
    return reference
  }
}

/// Caches the lists of keys of dictionaries, so that dictionaries with the same keys share one list.
struct KeyLists {
  /// Longer lists, and lists after this many, are not cached, so that memory is bounded.
  private static let countLimit = 4_096
  private static let byteLimit = 1_024

  private var lists: [[UInt8]: KeyedArchiveWriter.Keys] = [:]
  /// The list that was used last. The next dictionary usually has the same keys.
  private var newest: (encoded: [UInt8], keys: KeyedArchiveWriter.Keys)?

  /// The object of a list of keys, written unless it is cached.
  /// - Parameter encoded: the concatenated keys as the log encodes them.
  mutating func list(
    of encoded: ArraySlice<UInt8>, _ texts: inout ShortTexts, in archive: inout KeyedArchiveWriter
  ) throws -> KeyedArchiveWriter.Keys {
    if let newest, isEqual(newest.encoded, encoded) { return newest.keys }
    let bytes = Array(encoded)
    let known = lists[bytes]
    let keys = try known ?? write(bytes, &texts, in: &archive)
    newest = (bytes, keys)
    if known == nil, lists.count < Self.countLimit, bytes.count <= Self.byteLimit { lists[bytes] = keys }
    return keys
  }

  /// Compares by one `memcmp`, because this runs for each dictionary.
  private func isEqual(_ known: [UInt8], _ encoded: ArraySlice<UInt8>) -> Bool {
    guard known.count == encoded.count else { return false }
    return unsafe known.withUnsafeBytes { known in
      unsafe encoded.withUnsafeBytes { encoded in
        guard let left = known.baseAddress, let right = encoded.baseAddress else { return true }
        return unsafe memcmp(left, right, known.count) == 0
      }
    }
  }

  private func write(
    _ encoded: [UInt8], _ texts: inout ShortTexts, in archive: inout KeyedArchiveWriter
  ) throws -> KeyedArchiveWriter.Keys {
    var references: [KeyedArchiveWriter.Reference] = []
    try unsafe encoded.withUnsafeBytes { bytes in
      var reader = unsafe CBORReader(bytes)
      while reader.offset < bytes.count {
        let key = unsafe try reader.readTextBytes()
        guard unsafe key.first == UInt8(ascii: "$") else {
          references.append(try unsafe texts.reference(to: key, in: &archive))
          continue
        }
        let marked = unsafe [UInt8(ascii: "$")] + key
        references.append(
          try unsafe marked.withUnsafeBytes { unsafe try texts.reference(to: $0, in: &archive) })
      }
    }
    return try archive.keys(references)
  }
}
