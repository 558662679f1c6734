package import CBOR

// The records of a catalog: Documentation/Format.md, "The catalog's fields".

/// The numbers of an item's fields.
package enum ItemField {
  package static let kind: UInt8 = 0
  package static let category: UInt8 = 1
}

/// The numbers of a category's fields.
package enum CategoryField {
  package static let name: UInt8 = 0
  package static let color: UInt8 = 1
}

package enum ImageField {
  static let item: UInt8 = 0
  static let name: UInt8 = 1
  static let mediaType: UInt8 = 2
  package static let digest: UInt8 = 3
  package static let byteCount: UInt8 = 4
}

enum TagField {
  static let name: UInt8 = 0
  static let revision: UInt8 = 1
}

enum RuleField {
  static let form: UInt8 = 0
  static let kind: UInt8 = 1
}

/// The parts of an item's record that the indexes need.
///
/// Making this value checks the types of all fields. It makes no string, because it is made for each event of a replay.
package struct ItemFields {
  /// The range of the kind in the record: an encoded text, head and content.
  package let kind: Range<Int>
  package let category: Int?

  package init(_ record: EntityRecord) throws(CBORError) {
    (kind, category) = try record.readFields { cursor throws(CBORError) in
      try cursor.require(ItemField.kind)
      let kind = try cursor.skipText()
      let category = cursor.find(ItemField.category) ? try cursor.readNumber() : nil
      return (kind, category)
    }
  }
}

struct CategoryFields {
  let name: Range<Int>
  let color: Catalog.Color?

  init(_ record: EntityRecord) throws(CBORError) {
    (name, color) = try record.readFields { cursor throws(CBORError) in
      try cursor.require(CategoryField.name)
      let name = try cursor.skipText()
      let color = cursor.find(CategoryField.color) ? try cursor.readColor() : nil
      return (name, color)
    }
  }
}

struct TagFields {
  let name: Range<Int>
  let revision: Revision

  init(_ record: EntityRecord) throws(CBORError) {
    (name, revision) = try record.readFields { cursor throws(CBORError) in
      try cursor.require(TagField.name)
      let name = try cursor.skipText()
      try cursor.require(TagField.revision)
      return (name, try cursor.readCount())
    }
  }
}

struct RuleFields {
  let form: Range<Int>
  let kind: Range<Int>

  init(_ record: EntityRecord) throws(CBORError) {
    (form, kind) = try record.readFields { cursor throws(CBORError) in
      try cursor.require(RuleField.form)
      let form = try cursor.skipText()
      try cursor.require(RuleField.kind)
      return (form, try cursor.skipText())
    }
  }
}

struct ImageFields {
  let item: Int
  let name: Range<Int>
  let mediaType: Range<Int>
  let blob: Blob

  init(_ record: EntityRecord) throws(CBORError) {
    (item, name, mediaType, blob) = try record.readFields { cursor throws(CBORError) in
      try cursor.require(ImageField.item)
      let item = try cursor.readNumber()
      try cursor.require(ImageField.name)
      let name = try cursor.skipText()
      try cursor.require(ImageField.mediaType)
      let mediaType = try cursor.skipText()
      try cursor.require(ImageField.digest)
      let digest = try cursor.readDigest()
      try cursor.require(ImageField.byteCount)
      return (item, name, mediaType, Blob(digest: digest, byteCount: try cursor.readCount()))
    }
  }
}

extension Catalog {
  /// The media type of an image with that record. Empty for any other record.
  package static func mediaType(of record: EntityRecord) -> String {
    (try? ImageFields(record)).map { record.text(at: $0.mediaType) } ?? ""
  }
}

extension EntityRecord {
  /// Calls `body` with a cursor before the first numbered field.
  @inline(__always)
  fileprivate func readFields<Result>(
    _ body: (inout FieldCursor) throws(CBORError) -> Result
  ) throws(CBORError) -> Result {
    try unsafe bytes.withUnsafeBufferPointer { buffer throws(CBORError) in
      var cursor = unsafe try FieldCursor(UnsafeRawBufferPointer(buffer))
      return try body(&cursor)
    }
  }

  /// The text that is encoded at a range of the record.
  package func text(at range: Range<Int>) -> String {
    unsafe bytes.withUnsafeBytes { buffer in
      var reader = unsafe CBORReader(buffer, from: range.lowerBound)
      return (try? reader.readText()) ?? ""
    }
  }

  /// All numbered fields, decoded. The attributes are not read.
  var numberedFields: [UInt8: FieldValue] {
    let fields = try? readFields { cursor throws(CBORError) in
      var fields: [UInt8: FieldValue] = [:]
      while let number = try cursor.nextField() { fields[number] = try cursor.readValue() }
      return fields
    }
    return fields ?? [:]
  }
}

extension RecordChanges {
  /// Whether a numbered field changes. Numbered fields come first in the map.
  package var changeFields: Bool {
    // The map's head is longer than a byte only when more than 23 parts change.
    let first = bytes[0] & 0x1F < 24 ? 1 : bytes[0] & 0x1F == 24 ? 2 : bytes[0] & 0x1F == 25 ? 3 : 5
    return first < bytes.count && bytes[first] < 24
  }
}
